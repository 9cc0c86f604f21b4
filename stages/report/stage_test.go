package report_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/report"
	"speceval/stages/report/stored"
)

// TestTheStageStoresWhatVerifyReads has runs of every provenance.
func TestTheStageStoresWhatVerifyReads(t *testing.T) {
	s := fleetStudy(t)
	f := s.reported(t)
	for _, sheet := range sheets(t, s) {
		if got, want := f.content(t, "tables/"+sheet.Base+".csv"), csvOf(t, sheet.Data()); got != want {
			t.Errorf("%s is stored as\n%s\nnot\n%s", sheet.Base, got, want)
		}
	}
	v := f.verdicts(t)
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
	own := s.reported(t)
	shared := s.folder(t).with(func(set *stored.Settings) { set.Memory = new(stored.Memory) })
	dagtest.Run(t, shared.stages, shared.dir)
	if own.content(t, "report.tex") != shared.content(t, "report.tex") {
		t.Error("the document has other bytes")
	}
}

func TestOtherProfilesGetNoVerdict(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	f := s.reported(t)
	if e := ask(t, f.explainer(t), "table1", "8", "hbn"); e.Paper != nil || len(e.Warnings) > 0 || e.Value == nil {
		t.Errorf("paper %+v, warnings %q", e.Paper, e.Warnings)
	}
	f.settings.Published = true // what is stored is judged as what it was stored as
	if v := f.verdicts(t); v.Published || len(v.Cells) != 0 || !v.Cells.Passed() || !strings.Contains(v.Summary(), "no verdict") {
		t.Error(v.Summary())
	}
	if strings.Contains(f.content(t, "tables/table1_variance.csv"), "paper_") {
		t.Error("paper columns beside other profiles")
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
		good := must(os.ReadFile(path))
		put(t, path, good[:10])
		if _, err := report.VerifyFolder(set, dir); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("the beginning of %s: error %v", file, err)
		}
		ok(t, os.Remove(path))
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
	s := withCase(t, fleetStudy(t))
	f := s.folder(t)
	dagtest.Select(t, f.stages, f.dir, dag.Selection{Stages: []string{"report"}})
	for file, want := range map[string]string{
		"tables/table1_variance.tex": "the replay stage has not run", "tables/robustness.tex": "the replay stage has not run",
		"tables/table3_time.tex": "the systems stage has not run", "tables/table4_benefit.tex": "the systems stage has not run",
		"figures/figure1_pair_distribution.svg": "has not run", "figures/figure2_case_study.svg": "has not run",
		"report.tex": "has no rows yet. Not all is here: the replay stage has not run.",
	} {
		if text := f.content(t, file); !strings.Contains(text, want) {
			t.Errorf("%s does not say that %s:\n%s", file, want, text)
		}
	}
	f.compiled(t)
	p := f.page(t)
	for _, of := range []string{"Table 1", "Profile ratios", "Figure 1"} {
		if !strings.Contains(string(p), "<li>"+of+": the replay stage has not run.</li>") || strings.Contains(string(p), `id="table1_variance"`) {
			t.Errorf("the page does not say that %s waits", of)
		}
	}
	if warnings := p.all(`<p class="warning">(.*)</p>`); len(warnings) != 2 || !strings.HasPrefix(p.headline(t), "The replay stage has not run") {
		t.Errorf("warnings %q under %q", warnings, p.headline(t))
	}
	v := f.verdicts(t)
	if !v.Cells.Passed() || v.Cells.Missing() == 0 || v.Cells.Judged() == 0 {
		t.Errorf("a report of what there is: %s", v.Summary())
	}
	for _, c := range v.Cells {
		if c.Table == paper.Variance && (c.Verdict != agreement.NotRun || c.Note != "the replay stage has not run") {
			t.Errorf("%s %s: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
		if c.Table == paper.Time && c.Verdict != agreement.Agrees {
			t.Errorf("%s %s, of published runs: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
	}
	dagtest.Run(t, f.stages, f.dir)
	if v = f.verdicts(t); v.Cells.Missing() != 0 {
		t.Errorf("after the other stages: %s", v.Summary())
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
