package report_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"speceval/data"
	"speceval/internal/policy"
	"speceval/internal/results/measurement"
	"speceval/internal/results/variance"
	"speceval/internal/servers/flops"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// study is made-up stored results: the experiment, and the rows of every file that
// the report reads. Tests change rows before they make a source or stages of it.
type study struct {
	stored.Experiment // as verdicts read it; the stage makes its own of the pairs

	pairs     []pair.Pair
	leftOut   []profile.Profile
	caseStudy stored.CaseStudy

	designs            []variance.Design
	ratios, candidates []variance.Ratio
	search             []variance.Search
	errors             []variance.ProfileError // nil: those that madeErrors makes
	differences        []variance.Difference   // nil: those that madeDifferences makes
	estimates          []variance.Estimates    // nil: none are asked for

	architectures []flops.Architecture
	costs

	// What an experiment of its own measures.
	live        stored.Live
	runs        []measurement.Run // nil: none are made
	predictions []measurement.Prediction
}

// costs is timed runs of all provenances, with the executions behind them.
type costs struct {
	timed   []measurement.Measurement
	repeats []measurement.Repeat
	drawn   bool // answers of measured runs had drawn lengths
	benefit []measurement.Benefit
}

// clone shares no rows with s.
func (s study) clone() study {
	s.Budgets, s.Profiles = slices.Clone(s.Budgets), slices.Clone(s.Profiles)
	s.designs, s.ratios, s.candidates = slices.Clone(s.designs), slices.Clone(s.ratios), slices.Clone(s.candidates)
	s.search, s.architectures = slices.Clone(s.search), slices.Clone(s.architectures)
	s.timed, s.repeats, s.benefit = slices.Clone(s.timed), slices.Clone(s.repeats), slices.Clone(s.benefit)
	return s
}

// settings is those of an experiment whose results the study is.
func (s study) settings(t testing.TB) stored.Settings {
	t.Helper()
	out := stored.Settings{
		Published: s.Published, Pairs: s.pairs, LeftOut: s.leftOut, CaseStudy: s.caseStudy, Live: s.live,
		Systems: slices.ContainsFunc(s.timed, executedHere), Staged: s.benefit != nil,
		Targets: data.PaperTargets(), Measurements: encoded(t, s.published(), nil),
	}
	for _, b := range s.Budgets {
		out.Budgets = append(out.Budgets, int(b))
	}
	archs := "model,theta_core,theta_head,full_attention_layers,attention_width\n"
	for _, a := range s.architectures {
		archs += fmt.Sprintf("%s,%d,%d,%d,%d\n", a.Model, a.ThetaCore, a.ThetaHead, a.FullAttentionLayers, a.AttentionWidth)
	}
	out.Architectures = []byte(archs)
	return out
}

func executedHere(m measurement.Measurement) bool { return m.Provenance != measurement.Published }

// published is the runs that are stored with the paper's data.
func (c costs) published() []measurement.Measurement {
	return slices.DeleteFunc(slices.Clone(c.timed), executedHere)
}

// file is a file of the output folder, its rows (-1: it has none), and what writes it
// with a footer.
type file struct {
	name  string
	rows  int
	write func(io.Writer, map[string]string) error
}

// rowsFile is a file of rows.
func rowsFile[T any](name string, rows []T) file {
	return file{name, len(rows), func(w io.Writer, footer map[string]string) error { return rowfile.Write(w, rows, footer) }}
}

// encoded is rows as the content of a file.
func encoded[T any](t testing.TB, rows []T, footer map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	ok(t, rowfile.Write(&b, rows, footer))
	return b.Bytes()
}

// unit is the files that a unit of another stage makes.
type unit struct {
	id    string
	files []file
}

// replayed is the units of the replay stage.
func (s study) replayed() []unit {
	if s.errors == nil {
		s.errors = madeErrors(s.ratios)
	}
	if s.differences == nil {
		s.differences = madeDifferences(s.ratios)
	}
	units := []unit{
		{"designs", []file{rowsFile(variance.DesignsFile, s.designs)}},
		{"two_stage", []file{rowsFile(variance.TwoStageFile, s.ratios), rowsFile(variance.CandidatesFile, s.candidates)}},
		{"ts_neyman", []file{rowsFile(variance.SearchFile, s.search)}},
		{"profile_errors", []file{rowsFile(variance.ErrorsFile, s.errors)}},
		{"differences", []file{rowsFile(variance.DifferencesFile, s.differences)}},
		{"ratios", []file{rowsFile(variance.RatiosFile, s.ratios)}},
		{"suite", []file{rowsFile(variance.SuiteFile, s.suites())}},
	}
	if s.estimates != nil {
		units = append(units, unit{"case_study", []file{rowsFile(variance.EstimatesFile, s.estimates)}})
	}
	return units
}

// systems is the units of the systems stage, none without runs of its own.
func (s study) systems() (units []unit) {
	if s.runs != nil {
		units = append(units, unit{"runs", []file{rowsFile(measurement.RunsFile, s.runs)}},
			unit{"predictions", []file{rowsFile(measurement.PredictionsFile, s.predictions)}})
	}
	return append(units, s.measurements()...)
}

// measurements is the unit of timed runs, none where all are published.
func (c costs) measurements() []unit {
	runs := slices.DeleteFunc(slices.Clone(c.timed), func(m measurement.Measurement) bool { return !executedHere(m) })
	if len(runs) == 0 {
		return nil
	}
	all := rowsFile(measurement.File, runs)
	if c.drawn {
		all.write = func(w io.Writer, footer map[string]string) error {
			more := map[string]string{measurement.LengthsKey: measurement.LengthsDrawn}
			for key, value := range footer {
				more[key] = value
			}
			return rowfile.Write(w, runs, more)
		}
	}
	units := []unit{{"measurements", []file{all, rowsFile(measurement.RepeatsFile, c.repeats)}}}
	if c.benefit != nil {
		units = append(units, unit{"benefit", []file{rowsFile(measurement.BenefitFile, c.benefit)}})
	}
	return units
}

// files is all files of the study by their names. The facts of the experiment are
// those of the study, so that verdicts can be made without the stage.
func (s study) files(t testing.TB) map[string]file {
	t.Helper()
	set, facts := s.settings(t), s.Experiment
	facts.Compared = tables.Compared(&set)
	all := map[string]file{stored.ExperimentFile: {stored.ExperimentFile, -1, func(w io.Writer, _ map[string]string) error { return atomicfile.EncodeJSON(w, facts) }}}
	for _, u := range slices.Concat(s.replayed(), s.systems()) {
		for _, f := range u.files {
			all[f.name] = f
		}
	}
	return all
}

// source reads the study, of which a file is written when it is asked for.
func (s study) source(t testing.TB) *stored.Source {
	t.Helper()
	set, all, dir := s.settings(t), s.files(t), t.TempDir()
	return stored.NewSource(&set, func(name string) (string, error) {
		f, ok := all[name]
		if !ok {
			return stored.Folder(dir)(name)
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		var b bytes.Buffer
		if err := f.write(&b, nil); err != nil {
			return "", err
		}
		put(t, path, b.Bytes())
		return path, nil
	})
}

// write stores the study in a folder as the other stages do, without their manifests.
func (s study) write(t testing.TB, dir string) {
	t.Helper()
	for name, f := range s.files(t) {
		var b bytes.Buffer
		ok(t, f.write(&b, nil))
		put(t, filepath.Join(dir, filepath.FromSlash(name)), b.Bytes())
	}
}

// put writes a file.
func put(t testing.TB, path string, content []byte) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o777))
	ok(t, os.WriteFile(path, content, 0o666))
}

// before is the stages before the report. They store the study, under the names of the stages that
// make such files.
func (s study) before() []dag.Stage {
	all := []dag.Stage{storing("replay", s.replayed(), "computed"),
		storing("systems", s.systems(), measurement.Simulated)}
	return slices.DeleteFunc(all, func(s dag.Stage) bool { return len(s.Units) == 0 })
}

// storing is a stage of units that store their files.
func storing(name string, units []unit, provenance string) dag.Stage {
	stage := dag.Stage{Name: name, About: "made up", Version: 1}
	for _, of := range units {
		u := dag.Unit{ID: of.id, Provenance: provenance}
		for _, f := range of.files {
			u.Outputs = append(u.Outputs, f.name)
		}
		u.Run = func(_ context.Context, job *dag.Job) error {
			for _, f := range of.files {
				if err := job.Write(f.name, f.rows, func(w io.Writer) error { return f.write(w, job.Footer("test")) }); err != nil {
					return err
				}
			}
			return nil
		}
		stage.Units = append(stage.Units, u)
	}
	return stage
}

// sheet is a table of the study.
func (s study) sheet(t testing.TB, of *model.Table) *model.Sheet {
	t.Helper()
	sheet := must(of.Sheet(s.source(t)))
	return sheet
}

// number is the number in a cell.
func number(t testing.TB, s *model.Sheet, row int, column string) float64 {
	t.Helper()
	c := s.Column(column)
	if c == nil || row >= s.Rows || c.Cell(row).Value() == nil {
		t.Fatalf("%s has no number %s in row %d of %d", s.Base, column, row, s.Rows)
	}
	return *c.Cell(row).Value()
}

// row is the place of a row by its label.
func row(t testing.TB, s *model.Sheet, label string) int {
	t.Helper()
	i := slices.Index(s.Labels(), label)
	if i < 0 {
		t.Fatalf("%s has no row %s among %q", s.Base, label, s.Labels())
	}
	return i
}

// verdicts is the comparison of the study with the paper.
func (s study) verdicts(t testing.TB) report.Verdicts {
	t.Helper()
	return must(report.Verify(s.source(t)))
}

// madeErrors makes up the errors that come from the profiles: of every ratio but
// the Oracle's the same, of that a smaller one.
func madeErrors(ratios []variance.Ratio) []variance.ProfileError {
	all := []variance.ProfileError{}
	for _, r := range ratios {
		e := variance.ProfileError{
			Subject:   r.Subject,
			ProfileSE: 0.006, Shift: 0.001, ShiftSE: 0.0003, Resamples: 100, Draws: 512,
		}
		if r.Policy == policy.Oracle.Name {
			e.ProfileSE, e.Draws = 0.002, 0
		}
		all = append(all, e)
	}
	return all
}

// madeDifferences makes up the differences to HBN, with a tenth of the noise that
// draws of their own would leave.
func madeDifferences(ratios []variance.Ratio) []variance.Difference {
	type place struct {
		profile string
		budget  int32
	}
	hbn := map[place]variance.Ratio{}
	for _, r := range ratios {
		if r.Policy == policy.HBN.Name {
			hbn[place{r.Profile(), r.Budget}] = r
		}
	}
	all := []variance.Difference{}
	for _, r := range ratios {
		if h, ok := hbn[place{r.Profile(), r.Budget}]; ok && r.Policy != policy.HBN.Name {
			all = append(all, variance.Difference{
				Subject:    r.Subject,
				Difference: r.VarianceRatio - h.VarianceRatio, DifferenceSE: math.Hypot(r.RatioSE, h.RatioSE) / 10, Draws: r.Draws,
			})
		}
	}
	return all
}

// smallStudy has three profiles, two budgets, one of them not the paper's, a
// pilot unlike the paper's, a foreign checkpoint and no IBN, and runs of all
// provenances. It is of the paper's profiles where a test says so.
func smallStudy() study {
	s := study{Experiment: stored.Experiment{Budgets: []int32{8, 12}}}
	m4, m6, w4, w6 := int32(4), int32(6), 0.4813579, 0.36
	for i, p := range []struct {
		benchmark, model string
		nTasks           int32
	}{{"aime24", "qwen3_5_4b", 30}, {"math_100", "qwen3_5_4b", 100}, {"math_100", "my_model", 100}} {
		made := profile.Profile{Benchmark: p.benchmark, Model: p.model, Scorer: "test", TestedK: 1024}
		for k := range p.nTasks {
			made.TaskIDs, made.PassCounts = append(made.TaskIDs, fmt.Sprint(k)), append(made.PassCounts, 512)
		}
		s.pairs = append(s.pairs, pair.Known(made))
		s.Profiles = append(s.Profiles, stored.ProfileFact{Name: made.Name(), NTasks: p.nTasks, TestedK: made.TestedK})
		for _, b := range s.Budgets {
			r := variance.Ratio{Subject: variance.Subject{Benchmark: p.benchmark, Model: p.model, NTasks: p.nTasks, Budget: b, Donors: "none"}}
			r.Policy, r.VarianceRatio = policy.Oracle.Name, 0.4+0.05*float64(i)
			s.ratios = append(s.ratios, r)
			r.M, r.W, r.RatioSE, r.Draws = &m4, &w4, 0.0005, 64
			r.Policy, r.VarianceRatio = policy.HBN.Name, 0.9+0.08*float64(i)
			s.ratios = append(s.ratios, r)
			r.M, r.W = &m6, &w6
			r.Policy, r.VarianceRatio = policy.EN.Name, 0.95
			s.ratios = append(s.ratios, r)
		}
	}
	slices.SortStableFunc(s.ratios, func(a, b variance.Ratio) int { return int(a.Budget - b.Budget) })
	for _, b := range s.Budgets {
		for _, n := range []int32{100, 30} {
			s.designs = append(s.designs,
				variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: n, Budget: b, M: 4, W: w4, Risk: 2 * w4, RiskSE: 0.001, Selected: true},
				variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: n, Budget: b, M: 5, W: 0.61, Risk: 0.976, RiskSE: 0.001},
				variance.Design{Policy: policy.EN.Name, Donors: "none", NTasks: n, Budget: b, M: 6, W: w6, Risk: 0.96, RiskSE: 0.002, Selected: true})
		}
	}
	s.architectures = []flops.Architecture{
		{Model: "qwen2_5_3b", ThetaCore: 2774773760, ThetaHead: 311164928, FullAttentionLayers: 36, AttentionWidth: 2048},
		{Model: "my_model", ThetaCore: 1e9, ThetaHead: 2e8, FullAttentionLayers: 3, AttentionWidth: 128},
	}
	s.costs = smallCosts(s.ratios)
	return s
}

// named is the table with that base name, nil if there is none.
func named(base string) *model.Table {
	if i := slices.IndexFunc(tables.All, func(t *model.Table) bool { return t.Base == base }); i >= 0 {
		return tables.All[i]
	}
	return nil
}
