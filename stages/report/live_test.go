package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/report/formula"
	"speceval/stages/report/measured"
)

// liveStudy is a made-up experiment that measures: one profile of 24 tasks, a
// second generation of it, runs on servers of which those of HBN have 0.7 of
// Uniform's variance, and predictions of their times. Tests change it.
type liveStudy struct {
	first, second profile.Profile
	ratios        []variance.Ratio
	designs       []variance.Design
	runs          []measurement.Run
	predictions   []measurement.Prediction
}

func newLiveStudy() *liveStudy {
	random := rand.New(rand.NewPCG(8, 15))
	s := &liveStudy{first: profile.Profile{Benchmark: "primer", Model: "small", Scorer: "maths/1", TestedK: 1024}}
	s.second = s.first
	s.second.TestedK = 256
	for i := range 24 {
		p := float64(i) / 23
		draw := func(of int) (passes int) {
			for range of {
				if random.Float64() < p {
					passes++
				}
			}
			return passes
		}
		s.first.TaskIDs = append(s.first.TaskIDs, fmt.Sprintf("t%02d", i))
		s.first.PassCounts = append(s.first.PassCounts, draw(1024))
		s.second.PassCounts = append(s.second.PassCounts, draw(256))
	}
	s.second.TaskIDs = s.first.TaskIDs
	m, w := int32(4), 0.45
	s.ratios = []variance.Ratio{
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.Oracle, VarianceRatio: 0.6},
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.HBN, M: &m, W: &w, VarianceRatio: 0.72, RatioSE: 0.001, Draws: 1024},
	}
	s.designs = []variance.Design{{Policy: variance.HBN, NTasks: 24, Budget: 8, M: m, W: w, Risk: 0.9, RiskSE: 0.001, Selected: true}}
	mean, sd := 0.0, s.first.VarianceSum()/(24*24*8)
	for i := range s.first.N() {
		mean += s.first.P(i) / 24
	}
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
		of := 1.0
		if strategy != measurement.Uniform {
			of = 0.7
		}
		sample := normalScores(random, 30)
		for i := range 30 {
			r := measurement.Run{Benchmark: "primer", Model: "small", NTasks: 24, ReferenceBudget: 8, Budget: 8, Strategy: strategy, Provenance: measurement.Measured,
				Rewards: measurement.Scored, Repeat: int32(i), Time: 2, CPU: 0.25, Cores: 2, Handling: 0.01, GapMedian: 0.0002, GapP99: 0.003}
			r.Estimate = mean + 0.003 + sample[i]*math.Sqrt(of*sd)
			s.runs = append(s.runs, r)
			if i < 3 {
				r.Rewards, r.CPU = measurement.Coupled, 0.05+0.001*float64(i)
				s.runs = append(s.runs, r)
			}
		}
	}
	for strategy, seconds := range map[string][2]float64{measurement.Uniform: {2, 2.01}, measurement.HBNSync: {2.5, 2.44}, measurement.HBNAsync: {2.1, 2.35}} {
		s.predictions = append(s.predictions, measurement.Prediction{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Strategy: strategy, Runs: 3, Draws: 200,
			Measured: seconds[0], MeasuredSE: 0.05, Predicted: seconds[1], PredictedSD: 0.02, DifferenceSE: 0.055, Scale: 1.1})
	}
	slices.SortFunc(s.predictions, func(a, b measurement.Prediction) int { return strings.Compare(b.Strategy, a.Strategy) })
	return s
}

func (s *liveStudy) settings() Settings {
	return Settings{
		Targets: data.PaperTargets(), Architectures: []byte("model,theta_core,theta_head,full_attention_layers,attention_width\nsmall,1000,100,2,64\n"), Measurements: data.Measurements(),
		Budgets: []int{8}, Pairs: []pair.Pair{pair.Known(s.first)},
		Live: Live{
			Timed: true, Predicted: true, Scored: true,
			Rollouts: map[string]Rollouts{s.first.Name(): {By: dag.Ref{Stage: "generate", Unit: "primer/small"}, Files: []string{"generate/part.parquet"}}},
			Second:   &Second{Path: "out-live/second/score/profiles.parquet", Profiles: []profile.Profile{s.second}, Source: source("second generation", []byte("made up"))},
		},
	}
}

func (s *liveStudy) stages() []dag.Stage {
	unit := func(id, file string, write func(io.Writer, map[string]string) error) dag.Unit {
		return dag.Unit{ID: id, Outputs: []string{file}, Provenance: measurement.Measured, Run: func(_ context.Context, job *dag.Job) error {
			return job.Write(file, -1, func(w io.Writer) error { return write(w, job.Footer("test")) })
		}}
	}
	generate := dag.Stage{Name: "generate", About: "made up", Version: 1, Units: []dag.Unit{unit("primer/small", "generate/part.parquet", func(w io.Writer, footer map[string]string) error {
		type rollout struct {
			Text   string `parquet:"text"`
			Tokens int32  `parquet:"completion_tokens"`
		}
		var rows []rollout
		for i := range int32(2000) {
			rows = append(rows, rollout{"…", 40 + i%100 + (i/100)*(i/100)})
		}
		return rowfile.Write(w, rows, footer)
	})}}
	systems := dag.Stage{Name: "systems", About: "made up", Version: 1, Units: []dag.Unit{
		unit("runs", measurement.RunsFile, func(w io.Writer, footer map[string]string) error { return rowfile.Write(w, s.runs, footer) }),
		unit("predictions", measurement.PredictionsFile, func(w io.Writer, footer map[string]string) error { return rowfile.Write(w, s.predictions, footer) }),
	}}
	return []dag.Stage{generate, replayed(stored{Results: Results{Designs: s.designs, Ratios: s.ratios}}), systems, Stage(s.settings())}
}

// normalScores are n normal draws, shifted and scaled to mean 0 and variance 1.
func normalScores(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	sum, square := 0.0, 0.0
	for i := range out {
		out[i] = random.NormFloat64()
		sum += out[i]
	}
	for i := range out {
		out[i] -= sum / float64(n)
		square += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(square / float64(n-1))
	}
	return out
}

// TestALiveReport makes the whole report of a made-up live experiment once.
func TestALiveReport(t *testing.T) {
	s := newLiveStudy()
	dir := t.TempDir()
	stages := s.stages()
	dagtest.Run(t, stages, dir)
	for _, kind := range s.settings().liveTables() {
		for _, ext := range []string{".csv", ".tex"} {
			text, err := os.ReadFile(filepath.Join(dir, "tables", kind.base+ext))
			if err != nil {
				t.Fatal(err)
			}
			if ext == ".tex" { // without its origin
				_, text, _ = bytes.Cut(text, []byte("\n"))
			}
			golden.Check(t, filepath.Join("live", kind.base+ext), text)
		}
		sheet, err := readSheet(dir, kind.base)
		if err != nil || len(sheet.Data.Rows) == 0 || sheet.distinct() != nil {
			t.Fatalf("%s: %d rows, %v, %v", kind.base, len(sheet.Data.Rows), err, sheet.distinct())
		}
		for _, column := range sheet.ColumnNames() {
			if f, ok := formula.Of(kind.base, column); !ok || f.Plain == "" {
				t.Errorf("%s: column %s has no formula", kind.base, column)
			}
		}
	}
	v, err := Verify(dir, data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := v.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "live/verify.txt", text.Bytes())
	if v.Passed() || v.Published || v.Agreeing() != v.Judged()-1 {
		t.Errorf("%s", v.Summary())
	}
	t.Run("explains", func(t *testing.T) { checkLiveExplanation(t, explained(t, dir, stages, s.settings())) })
	t.Run("has a page", func(t *testing.T) { checkLivePage(t, s, stages, dir) })
	t.Run("has a document", func(t *testing.T) {
		tex, err := os.ReadFile(filepath.Join(dir, "report.tex"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`\section{Prediction against measurement}`, "what was predicted", "hbn-async, measured", "measured numbers that are held against a prediction", `\section{Every measurement beside its prediction}`} {
			if !bytes.Contains(tex, []byte(want)) {
				t.Errorf("report.tex does not have %q", want)
			}
		}
		if bytes.Contains(tex, []byte("without verdicts")) {
			t.Error("report.tex says that it has no verdicts")
		}
	})
}

func checkLiveExplanation(t *testing.T, x *Explainer) {
	for _, c := range []struct{ table, row, column string }{
		{measured.VarianceTable, "measured primer__model=small b=8 hbn", "ratio"},
		{measured.VarianceTable, "measured primer__model=small b=8 hbn", "variance"},
		{measured.TimesTable, "primer__model=small b=8 hbn-async", "measured_seconds"},
	} {
		sheet, err := x.Table(c.table)
		if err != nil {
			t.Fatal(err)
		}
		row, err := sheet.Row(c.row)
		if err != nil {
			t.Fatal(err)
		}
		column, err := sheet.Column(c.column)
		if err != nil {
			t.Fatal(err)
		}
		e := x.Explain(sheet, row, column)
		var b bytes.Buffer
		if err := e.Text(&b, false); err != nil || len(e.Warnings) > 0 {
			t.Errorf("%v: %v, %q", c, err, e.Warnings)
		}
		text, _, _ := strings.Cut(b.String(), "\nStored files")
		golden.Check(t, fmt.Sprintf("live/explain-%s-%s.txt", c.table, c.column), []byte(text))
	}
}

func checkLivePage(t *testing.T, s *liveStudy, stages []dag.Stage, dir string) {
	p, err := newPage(dir, s.settings(), history(t, stages, dir))
	if err != nil {
		t.Fatal(err)
	}
	if p.Summary == nil || p.Summary.Passed || len(p.Summary.Differ) != 1 || p.Summary.Beside() != "the prediction" || !strings.Contains(p.Lead, "beside what was predicted") {
		t.Errorf("summary %+v, lead %q", p.Summary, p.Lead)
	}
	times := tableOf(t, p, measured.TimesTable)
	if c := cellOf(t, times, "primer__model=small b=8 hbn-async", "measured_seconds"); c.Word != "differs" || c.Paper != "2.35" {
		t.Errorf("the time of HBN-async is shown as %+v", c)
	}
	var b bytes.Buffer
	if err := WritePage(&b, dir, s.settings(), history(t, stages, dir)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `<span class="vh">predicted </span>2.35`) || strings.Contains(b.String(), "the paper’s and the verdict") {
		t.Error("the page takes predictions for the paper's numbers")
	}
	if kept := os.Getenv("SPECEVAL_KEEP"); kept != "" { // to be looked at
		if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(kept, "report.html"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLiveVerdictsFollowTheMeasurements changes one measurement after the other.
func TestLiveVerdictsFollowTheMeasurements(t *testing.T) {
	const setting = "primer__model=small b=8 "
	for _, c := range []struct {
		name, table, row, column string
		change                   func(*liveStudy)
		want                     Verdict
	}{
		{"a time within 5%", measured.TimesTable, setting + "hbn-sync", "measured_seconds", func(*liveStudy) {}, Agrees},
		{"a time beyond both", measured.TimesTable, setting + "hbn-sync", "measured_seconds", func(s *liveStudy) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, Differs},
		{"Uniform is fitted", measured.TimesTable, setting + "uniform", "measured_seconds", func(s *liveStudy) { each(s.predictions, func(p *measurement.Prediction) { p.Predicted = 3 }) }, Shown},
		{"another ratio", measured.VarianceTable, "measured " + setting + "hbn", "ratio", func(s *liveStudy) { s.ratios[1].VarianceRatio = 0.2 }, Differs},
		{"the same ratio", measured.VarianceTable, "measured " + setting + "hbn-sync", "ratio", func(*liveStudy) {}, WithinNoise},
		{"nine runs", measured.VarianceTable, "measured " + setting + "hbn-sync", "ratio", func(s *liveStudy) {
			s.runs = slices.DeleteFunc(s.runs, func(r measurement.Run) bool { return r.Strategy == measurement.HBNSync && r.Repeat > 8 })
		}, Shown},
		{"biased runs", measured.VarianceTable, "measured " + setting + "uniform", "mean", func(s *liveStudy) { each(s.runs, func(r *measurement.Run) { r.Estimate += 0.05 }) }, Differs},
		{"another task", measured.ProfileTable, "primer__model=small", "tasks_differing", func(s *liveStudy) { s.second.PassCounts[12] -= 60 }, Differs},
		{"another mean", measured.ProfileTable, "primer__model=small", "second_mean", func(s *liveStudy) {
			for i := 4; i < 20; i++ {
				s.second.PassCounts[i] -= 12
			}
		}, Differs},
		{"a busy orchestrator", measured.OrchestratorTable, "measured " + setting + "coupled uniform", "cpu_share", func(s *liveStudy) { each(s.runs, func(r *measurement.Run) { r.CPU = 0.21 }) }, Differs},
		{"one that scores", measured.OrchestratorTable, "measured " + setting + "scored uniform", "cpu_share", func(*liveStudy) {}, Shown},
		{"nothing measured", measured.OrchestratorTable, "all", "cpu_share", func(s *liveStudy) { s.runs = nil }, NotRun},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newLiveStudy()
			c.change(s)
			cells, err := judgeLive(s.sheets(t))
			if err != nil {
				t.Fatal(err)
			}
			if got := (Verdicts{Cells: cells}).cell(t, c.table, c.row, c.column); got.Verdict != c.want {
				t.Errorf("%s %s %s: %q, want %q: %s", c.table, c.row, c.column, got.Verdict, c.want, got.reason())
			}
		})
	}
}

// sheets are the study's tables as they are read again.
func (s *liveStudy) sheets(t *testing.T) []Sheet {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "systems", "runs.parquet"), s.runs)
	write(t, filepath.Join(dir, "systems", "predictions.parquet"), s.predictions)
	write(t, filepath.Join(dir, "replay", "two_stage.parquet"), s.ratios)
	var all []Sheet
	for _, kind := range s.settings().liveTables() {
		sheet, err := kind.make(folder(dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		var csv bytes.Buffer
		if err := table.CSV(&csv, sheet.Data); err != nil {
			t.Fatal(err)
		}
		again, err := parseSheet(kind.base, csv.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, again)
	}
	return all
}

func each[T any](rows []T, change func(*T)) {
	for i := range rows {
		change(&rows[i])
	}
}

func TestSecondGenerations(t *testing.T) {
	s := newLiveStudy()
	names := map[string]bool{s.first.Name(): true}
	dir := t.TempDir()
	path := filepath.Join(dir, "profiles.parquet")
	second, err := ReadSecond(path, names)
	if err != nil || len(second.Profiles) != 0 {
		t.Fatalf("a file that is not there: %+v, %v", second, err)
	}
	with := s.settings()
	with.Live.Second = second
	sheet, err := with.makeSecond(measured.Profiles)(folder(dir), nil)
	if err != nil || len(sheet.Data.Rows) != 0 || len(sheet.Print.Notes) != 1 || !strings.Contains(sheet.Print.Notes[0], path+" does not exist") {
		t.Errorf("the table of none: %d rows, %q, %v", len(sheet.Data.Rows), sheet.Print.Notes, err)
	}
	store := func(p profile.Profile) {
		var b bytes.Buffer
		if err := profile.Write(&b, []profile.Profile{p}, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	store(s.second)
	there, err := ReadSecond(path, names)
	if err != nil || len(there.Profiles) != 1 || there.Source == second.Source {
		t.Errorf("a file that is there: %+v, %v", there, err)
	}
	other := s.second
	other.Model = "large"
	store(other)
	if _, err := ReadSecond(path, names); err == nil || !strings.Contains(err.Error(), "primer__model=large") || !strings.Contains(err.Error(), path) {
		t.Errorf("another model: error %v", err)
	}
	if err := os.WriteFile(path, []byte("no profiles"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecond(path, names); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no profiles: error %v", err)
	}
}

// TestStoredVerdictsThatAreNoneAreNamed has a table that a person has edited.
func TestStoredVerdictsThatAreNoneAreNamed(t *testing.T) {
	sheet, err := parseSheet(measured.OrchestratorTable, []byte("budget,cpu_share,verdict\n8,0.01,splendid\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := judgeLive([]Sheet{sheet}); err == nil || !strings.Contains(err.Error(), `tables/orchestrator.csv: row 1: the verdict "splendid" is unknown`) {
		t.Errorf("error %v", err)
	}
}
