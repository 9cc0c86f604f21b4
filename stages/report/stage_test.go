package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

// replayed is a stage that stores made-up results under the names of the
// replay stage.
func replayed(s stored) dag.Stage {
	unit := func(id string, outputs []string, run func(*dag.Job) error) dag.Unit {
		return dag.Unit{ID: id, Outputs: outputs, Provenance: "computed",
			Run: func(_ context.Context, job *dag.Job) error { return run(job) }}
	}
	return dag.Stage{Name: "replay", About: "made up", Version: 1, Units: []dag.Unit{
		unit("designs", []string{variance.DesignsFile}, func(job *dag.Job) error { return store(job, variance.DesignsFile, s.Designs) }),
		unit("two_stage", []string{variance.TwoStageFile, variance.CandidatesFile}, func(job *dag.Job) error {
			if err := store(job, variance.TwoStageFile, s.Ratios); err != nil {
				return err
			}
			return store(job, variance.CandidatesFile, s.Candidates)
		}),
		unit("ts_neyman", []string{variance.SearchFile}, func(job *dag.Job) error { return store(job, variance.SearchFile, s.Search) }),
		unit("profile_errors", []string{variance.ErrorsFile}, func(job *dag.Job) error { return store(job, variance.ErrorsFile, madeErrors(s.Ratios)) }),
		unit("differences", []string{variance.DifferencesFile}, func(job *dag.Job) error {
			return store(job, variance.DifferencesFile, madeDifferences(s.Ratios))
		}),
		unit("ratios", []string{variance.RatiosFile}, func(job *dag.Job) error { return store(job, variance.RatiosFile, s.Ratios) }),
	}}
}

// systems is a stage that stores made-up runs under the names of the systems
// stage.
func systems(costs Costs) dag.Stage {
	runs := slices.DeleteFunc(slices.Clone(costs.Runs), isPublished)
	return dag.Stage{Name: "systems", About: "made up", Version: 1, Units: []dag.Unit{{
		ID: "measurements", Outputs: []string{measurement.File, measurement.RepeatsFile}, Provenance: measurement.Simulated,
		Run: func(_ context.Context, job *dag.Job) error {
			if err := store(job, measurement.File, runs); err != nil {
				return err
			}
			return store(job, measurement.RepeatsFile, costs.Repeats)
		},
	}}}
}

func store[T any](job *dag.Job, file string, rows []T) error {
	return job.Write(file, len(rows), func(w io.Writer) error {
		return rowfile.Write(w, rows, job.Footer("test"))
	})
}

// settings is those of the made-up study: profiles of the names and sizes
// that its ratios have.
func settings(t testing.TB, s stored) Settings {
	t.Helper()
	var archs bytes.Buffer
	if err := table.CSV(&archs, flopTable(s.architectures, nil).Data); err != nil {
		t.Fatal(err)
	}
	out := Settings{Published: s.Published, Targets: data.PaperTargets(), Architectures: archs.Bytes(), Measurements: data.Measurements()}
	for _, b := range s.Budgets {
		out.Budgets = append(out.Budgets, int(b))
	}
	for _, f := range s.Profiles {
		benchmark, model, _ := strings.Cut(f.Name, "__model=")
		p := profile.Profile{Benchmark: benchmark, Model: model, Scorer: "test", TestedK: 1024}
		for i := range f.NTasks {
			count := 512
			if int64(i) < f.Outside {
				count = 1000
			}
			p.TaskIDs = append(p.TaskIDs, string('a'+i))
			p.PassCounts = append(p.PassCounts, count)
		}
		out.Pairs = append(out.Pairs, pair.Known(p))
	}
	if s.Published {
		out.LeftOut = []profile.Profile{{Benchmark: "gpqa_diamond__domain_biology", Model: "qwen2_5_3b",
			TestedK: 1024, TaskIDs: make([]string, 19), PassCounts: make([]int, 19)}}
	}
	return out
}

func TestTheStageStoresWhatVerifyReads(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	stage := Stage(settings(t, s))
	dagtest.Run(t, []dag.Stage{replayed(s), stage}, dir)
	for _, u := range stage.Units {
		for _, output := range u.Outputs {
			checkOutput(t, filepath.Join(dir, filepath.FromSlash(output)))
		}
	}
	v, err := Verify(dir, data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	if !v.Passed() || len(v.Cells) != paperCells {
		t.Errorf("%s", v.Summary())
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
	dagtest.Run(t, []dag.Stage{replayed(s), Stage(settings(t, s))}, dir)
	v, err := Verify(dir, data.PaperTargets())
	if err != nil || v.Published || len(v.Cells) != 0 || !v.Passed() {
		t.Errorf("%s, %v", v.Summary(), err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tables", "table1_variance.csv"))
	if err != nil || bytes.Contains(data, []byte("paper_")) {
		t.Errorf("paper columns beside other profiles: %v", err)
	}
}

func TestMissingOrDamagedResultsAreNamed(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{replayed(s), Stage(settings(t, s))}, dir)
	for _, file := range []string{variance.DesignsFile, variance.RatiosFile, variance.CandidatesFile, experimentFile, flopsFile,
		"tables/table2_compute.csv", "tables/table3_time.csv", "tables/table4_benefit.csv"} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, good[:10], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(dir, data.PaperTargets()); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("the beginning of %s: error %v", file, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		v, err := Verify(dir, data.PaperTargets())
		switch file {
		case experimentFile:
			if err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
				t.Errorf("no %s: error %v", file, err)
			}
		case variance.CandidatesFile: // read only where another strength than the paper's is best
			if err != nil {
				t.Errorf("no %s: error %v", file, err)
			}
		default:
			if err != nil || v.Missing() == 0 && v.Passed() {
				t.Errorf("no %s: error %v, %s", file, err, v.Summary())
			}
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAReportOfWhatThereIs makes the report before the replay and the timed runs.
func TestAReportOfWhatThereIs(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	with := settings(t, s)
	with.Systems = true
	stages := []dag.Stage{replayed(s), systems(withFleet(paperCosts(t, s))), Stage(with)}
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
	v, err := Verify(dir, data.PaperTargets())
	if err != nil || !v.Passed() || v.Missing() == 0 || v.Judged() == 0 {
		t.Errorf("a report of what there is: %s, error %v", v.Summary(), err)
	}
	for _, c := range v.Cells {
		if c.Table == "table1_variance" && (c.Verdict != NotRun || c.Note != "the replay stage has not run") {
			t.Errorf("%s %s: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
		if c.Table == "table3_time" && c.Verdict != Agrees {
			t.Errorf("%s %s, of published runs: verdict %q (%s)", c.Row, c.Column, c.Verdict, c.Note)
		}
	}
	dagtest.Run(t, stages, dir)
	if v, err = Verify(dir, data.PaperTargets()); err != nil || v.Missing() != 0 {
		t.Errorf("after the other stages: %s, error %v", v.Summary(), err)
	}
}

func TestRowsThatAreNoDesignOrRatioAreNamed(t *testing.T) {
	for name, spoil := range map[string]func(*stored){
		"replay/designs.parquet: row 3": func(s *stored) { s.Designs[2].W = 1 },
		"replay/ratios.parquet: row 2":  func(s *stored) { s.Ratios[1].RatioSE = -1 },
	} {
		s := paperStudy(t)
		dir := t.TempDir()
		dagtest.Run(t, []dag.Stage{replayed(s), Stage(settings(t, s))}, dir)
		spoil(&s)
		again := replayed(s)
		again.Version++ // stale, though nothing else that a key knows of has changed
		dagtest.Run(t, []dag.Stage{again}, dir)
		if _, err := Verify(dir, data.PaperTargets()); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}

func TestKeysFollowWhatUnitsRead(t *testing.T) {
	s := paperStudy(t)
	base := settings(t, s)
	other := base
	other.Targets = append([]byte("# edited\n"), base.Targets...)
	a, b := Stage(base), Stage(other)
	for i, u := range a.Units {
		same := len(u.Sources) == len(b.Units[i].Sources)
		for j := range u.Sources {
			same = same && u.Sources[j] == b.Units[i].Sources[j]
		}
		figure := strings.HasPrefix(u.ID, "figure")
		quotes := u.ID != "experiment" && !slices.Contains(ourOwn, u.ID) && u.ID != "numbers" && !figure
		if same == quotes {
			t.Errorf("%s: reads the paper's numbers: %v, same sources after an edit: %v", u.ID, quotes, same)
		}
		if reads := strings.Contains(u.ID, "table7"); reads != hasSource(u, architecturesFile) {
			t.Errorf("%s: architectures are a source: %v", u.ID, !reads)
		}
	}
}

func hasSource(u dag.Unit, name string) bool {
	for _, s := range u.Sources {
		if s.Name == name {
			return true
		}
	}
	return false
}

func TestPublishedAdverseProfileIsNearTheEndpoints(t *testing.T) {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		t.Fatal(err)
	}
	kept, leftOut, err := profile.Evaluated(all)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newExperiment(Settings{Pairs: pair.AllKnown(kept), LeftOut: leftOut}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if with, err := newExperiment(Settings{Pairs: pair.AllKnown(all)}, nil); err != nil || len(all) == len(kept) || !reflect.DeepEqual(with, e) {
		t.Errorf("a degenerate profile is not left out: %d profiles, %v", len(with.Profiles), err)
	}
	paper := paperTargets(t)
	if want := (CorpusFact{paper.Corpus.Tasks, paper.Corpus.Responses}); e.Corpus != want {
		t.Errorf("the corpus is %+v, want %+v", e.Corpus, want)
	}
	if got := int64(len(e.Profiles)); got != paper.Corpus.Profiles {
		t.Errorf("%d profiles, want %d", got, paper.Corpus.Profiles)
	}
	adverse := e.find(paper.Robustness.AdverseProfile)
	if adverse == nil || adverse.Outside != paper.Robustness.AdverseOutside {
		t.Errorf("adverse profile %+v, want %d tasks outside", adverse, paper.Robustness.AdverseOutside)
	}
}
