package report_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// TestTheStageStoresWhatVerifyReads has runs of every provenance.
func TestTheStageStoresWhatVerifyReads(t *testing.T) {
	s := fleetStudy(t)
	dir := t.TempDir()
	stages := s.stages(t)
	dagtest.Run(t, stages, dir)
	for _, u := range stages[len(stages)-1].Units {
		for _, output := range u.Outputs {
			checkOutput(t, filepath.Join(dir, filepath.FromSlash(output)))
		}
	}
	for _, sheet := range sheets(t, s) {
		var want bytes.Buffer
		if err := table.CSV(&want, sheet.Data()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "tables", sheet.Base+".csv")); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is stored as\n%s\nnot\n%s%v", sheet.Base, got, &want, err)
		}
	}
	v, err := report.VerifyFolder(s.settings(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Cells.Passed() || len(v.Cells) != paperCells+130 {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}

// TestTheDocumentIsTheSameFromSharedMemory has runs of some profiles alone: the document reads
// what the units of tables do not, to say so.
func TestTheDocumentIsTheSameFromSharedMemory(t *testing.T) {
	s := fleetStudy(t)
	left := func(m measurement.Measurement) bool {
		return m.Provenance == measurement.Simulated && m.Benchmark == s.pairs[0].Benchmark
	}
	s.timed = slices.DeleteFunc(s.timed, left)
	s.repeats = slices.DeleteFunc(s.repeats, func(r measurement.Repeat) bool { return left(r.Measurement) })
	s.benefit = slices.DeleteFunc(s.benefit, func(r measurement.Benefit) bool { return left(r.Measurement) })
	own := s.folder(t)
	dagtest.Run(t, own.stages, own.dir)
	shared := s.folder(t).with(func(set *stored.Settings) { set.Memory = new(stored.Memory) })
	dagtest.Run(t, shared.stages, shared.dir)
	if want, got := own.content(t, "report.tex"), shared.content(t, "report.tex"); got != want {
		for i, line := range strings.Split(got, "\n") {
			if theirs := strings.Split(want, "\n"); i >= len(theirs) || line != theirs[i] {
				t.Fatalf("the document says\n%s\nnot\n%s", line, theirs[min(i, len(theirs)-1)])
			}
		}
	}
}

// checkOutput holds a file to the form of its kind.
func checkOutput(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	first, _, _ := strings.Cut(string(data), "\n")
	switch filepath.Ext(path) {
	case ".csv":
		if records, err := csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil || len(records) < 2 {
			t.Errorf("%s: %d records, %v", path, len(records), err)
		}
	case ".tex":
		for _, part := range []string{"% command: ", "; commit: ", "; key: "} {
			if !strings.Contains(first, part) {
				t.Errorf("%s begins with %q, which lacks %q", path, first, part)
			}
		}
	}
}

func TestOtherProfilesGetNoVerdict(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	dir := t.TempDir()
	dagtest.Run(t, s.stages(t), dir)
	paperSettings := s.settings(t)
	paperSettings.Published = true // what is stored is judged as what it was stored as
	v, err := report.VerifyFolder(paperSettings, dir)
	if err != nil || v.Published || len(v.Cells) != 0 || !v.Cells.Passed() {
		t.Errorf("%s, %v", v.Summary(), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tables", "table1_variance.csv"))
	if err != nil || bytes.Contains(data, []byte("paper_")) {
		t.Errorf("paper columns beside other profiles: %v", err)
	}
}

// TestMissingOrDamagedResultsAreNamed cuts and removes every file that verdicts are
// made of, one after the other.
func TestMissingOrDamagedResultsAreNamed(t *testing.T) {
	s := fleetStudy(t)
	dir := t.TempDir()
	s.write(t, dir)
	set := s.settings(t)
	for _, file := range []string{variance.DesignsFile, variance.RatiosFile, variance.SearchFile, measurement.File, measurement.RepeatsFile, stored.ExperimentFile} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, path, good[:10])
		if _, err := report.VerifyFolder(set, dir); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("the beginning of %s: error %v", file, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		v, err := report.VerifyFolder(set, dir)
		switch file {
		case stored.ExperimentFile, measurement.RepeatsFile: // which the runs need
			if err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
				t.Errorf("no %s: error %v", file, err)
			}
		case measurement.File: // of a stage that has not run, so that there are no rows to compare
			if err != nil || len(v.Cells) != paperCells || !v.Cells.Passed() {
				t.Errorf("no %s: error %v, %s", file, err, v.Summary())
			}
		default:
			if err != nil || v.Cells.Missing() == 0 {
				t.Errorf("no %s: error %v, %s", file, err, v.Summary())
			}
		}
		put(t, path, good)
	}
}

// TestAReportOfWhatThereIs makes the report before the replay and the timed runs.
func TestAReportOfWhatThereIs(t *testing.T) {
	s := fleetStudy(t)
	dir := t.TempDir()
	stages := s.stages(t)
	dagtest.Select(t, stages, dir, dag.Selection{Stages: []string{"report"}})
	for base, want := range map[string]string{
		"table1_variance": "the replay stage has not run", "robustness": "the replay stage has not run",
		"table3_time": "the systems stage has not run", "table4_benefit": "the systems stage has not run",
	} {
		tex, err := os.ReadFile(filepath.Join(dir, "tables", base+".tex"))
		if err != nil || !strings.Contains(string(tex), want) {
			t.Errorf("%s.tex does not say that %s: %v\n%s", base, want, err, tex)
		}
	}
	v, err := report.VerifyFolder(s.settings(t), dir)
	if err != nil || !v.Cells.Passed() || v.Cells.Missing() == 0 || v.Cells.Judged() == 0 {
		t.Errorf("a report of what there is: %s, error %v", v.Summary(), err)
	}
	for _, c := range v.Cells {
		if c.Table == paper.Variance && (c.Verdict != agreement.NotRun || c.Note != "the replay stage has not run") {
			t.Errorf("%s %s: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
		if c.Table == paper.Time && c.Verdict != agreement.Agrees {
			t.Errorf("%s %s, of published runs: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
	}
	dagtest.Run(t, stages, dir)
	if v, err = report.VerifyFolder(s.settings(t), dir); err != nil || v.Cells.Missing() != 0 {
		t.Errorf("after the other stages: %s, error %v", v.Summary(), err)
	}
}

// TestKeysFollowWhatUnitsRead edits the paper's numbers: what quotes them is stale
// then, and nothing else.
func TestKeysFollowWhatUnitsRead(t *testing.T) {
	s := paperStudy(t)
	base, other := s.settings(t), s.settings(t)
	other.Targets = append([]byte("# edited\n"), base.Targets...)
	a, b := report.Stage(base), report.Stage(other)
	for i, u := range a.Units {
		same := slices.Equal(u.Sources, b.Units[i].Sources)
		quotes := u.ID == "document" || u.ID == "pdf"
		if of := named(u.ID); of != nil {
			quotes = of.Reads.Paper
		}
		if same == quotes {
			t.Errorf("%s: reads the paper's numbers: %v, same sources after an edit: %v", u.ID, quotes, same)
		}
		has := slices.ContainsFunc(u.Sources, func(s dag.Source) bool { return s.Name == stored.ArchitecturesFile })
		if reads := u.ID == paper.FLOPs || u.ID == "document"; reads != has {
			t.Errorf("%s: architectures are a source: %v", u.ID, has)
		}
	}
}

func TestPublishedAdverseProfileIsNearTheEndpoints(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	e := paperStudy(t).Experiment // of those with variance
	e.Published, e.Budgets = false, nil
	if with, err := stored.NewExperiment(&stored.Settings{Pairs: pair.AllKnown(all)}, nil, nil); err != nil || len(all) == len(e.Profiles) || !reflect.DeepEqual(with, e) {
		t.Errorf("a degenerate profile is not left out: %d profiles, %v", len(with.Profiles), err)
	}
	numbers := paperNumbers(t)
	for what, of := range map[string][2]float64{
		"tasks":     {float64(e.Corpus.Tasks), numbers.Number(paper.Corpus, "tasks")},
		"responses": {float64(e.Corpus.Responses), numbers.Number(paper.Corpus, "responses")},
		"profiles":  {float64(len(e.Profiles)), numbers.Number(paper.Corpus, "profiles")},
		"outside":   {float64(e.Find(adverseProfile).Outside), numbers.Number(paper.Robustness, "adverse_outside_02_08")},
	} {
		if of[0] != of[1] {
			t.Errorf("%s: %v, want %v", what, of[0], of[1])
		}
	}
	if name := numbers.Name(paper.Robustness, "adverse_profile"); name != adverseProfile {
		t.Errorf("the adverse profile is %s", name)
	}
}
