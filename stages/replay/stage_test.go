package replay_test

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/replay"
)

// small is an experiment that runs in a moment.
func small() replay.Settings {
	s := replay.Settings{
		Seed: 7, Budgets: []int{3, 6}, Draws: 200, Replicates: 3, QuadratureOrder: 8,
		Alphas: []float64{0.1, 1}, Resamples: 9, ResampleDraws: 20,
		CaseStudy: replay.CaseStudy{Profile: "made__model=c", Budget: 6, Repetitions: 500},
	}
	s.Slice = func(keys ...string) map[string]string { return sliceOf(s, keys) }
	return s
}

// profiles are two of four tasks and one of five; K is not the paper's 1024.
func profiles() []profile.Profile {
	made := func(model string, counts ...int) profile.Profile {
		p := profile.Profile{Benchmark: "made", Model: model, TestedK: 10, PassCounts: counts}
		for i := range counts {
			p.TaskIDs = append(p.TaskIDs, fmt.Sprint("t", i))
		}
		return p
	}
	return []profile.Profile{made("a", 0, 5, 10, 9), made("b", 1, 1, 5, 8), made("c", 0, 0, 3, 7, 10)}
}

func stage(t *testing.T, s replay.Settings, profiles []profile.Profile) dag.Stage {
	t.Helper()
	st, err := replay.Stage(s, pair.AllKnown(profiles))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// ran is the output folder of a run of the stage.
func ran(t *testing.T, s replay.Settings, profiles []profile.Profile) (dir string) {
	t.Helper()
	dir = t.TempDir()
	dagtest.Run(t, []dag.Stage{stage(t, s, profiles)}, dir)
	return dir
}

func TestTooManyTasksAreRefused(t *testing.T) {
	p := profile.Profile{Benchmark: "made", Model: "huge", TestedK: 2, PassCounts: make([]int, 1<<16), TaskIDs: make([]string, 1<<16)}
	if _, err := replay.Stage(small(), []pair.Pair{pair.Known(p)}); err == nil || !strings.Contains(err.Error(), "huge has 65536 tasks") {
		t.Errorf("error %v", err)
	}
}

// TestCostsFollowTheSettings has settings that multiply what units take, by a kind of them.
func TestCostsFollowTheSettings(t *testing.T) {
	cost := func(kind string, change func(*replay.Settings)) (sum float64) {
		s := small()
		s.Budgets, s.Draws, s.EvenPanels, s.Alphas = []int{16, 64}, 8192, true, []float64{0.1, 0.2, 0.5, 1}
		s.TSNeyman = replay.TSNeyman{Alphas: s.Alphas, WarmStarts: []int{2}, RaceDraws: 5, FinalDraws: 40, Finalists: 1}
		change(&s)
		for _, u := range stage(t, s, profiles()).Units {
			if strings.HasPrefix(u.ID, kind) {
				sum += u.Cost
			}
		}
		return sum
	}
	large := func(s *replay.Settings) { s.Budgets = []int{256, 1024} }
	for _, test := range []struct {
		kind   string
		times  float64
		change func(*replay.Settings)
	}{
		{"design/ibn/", 100, large}, {"design/hbn/", 20, large}, {"design/en/", 20, large}, {"profile/", 10, large}, {"ts_neyman/", 15, large},
		{"design/ibn/", 1.1, func(s *replay.Settings) { s.Alphas = append(s.Alphas, 2, 3, 4, 5) }},
		{"design/hbn/", 3.9, func(s *replay.Settings) { s.QuadratureOrder *= 2 }},
		{"design/hbn/", 3.9, func(s *replay.Settings) { s.Draws *= 4 }},
		{"resample/", 5, func(s *replay.Settings) { s.Resamples = 10_000 }},
		{"design/", 1.9, func(s *replay.Settings) { s.Replicates *= 3 }},
	} {
		if before, now := cost(test.kind, func(*replay.Settings) {}), cost(test.kind, test.change); now < test.times*before {
			t.Errorf("%s: %.3g s became %.3g s, want %g times as much", test.kind, before, now, test.times)
		}
	}
}

func read[T any](t *testing.T, dir, file string) []T {
	t.Helper()
	rows, footer, err := rowfile.ReadFile[T](filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if footer["speceval.schema"] == "" || footer["speceval.key"] == "" {
		t.Errorf("%s: footer %v", file, footer)
	}
	return rows
}

func TestStageLeavesDesignsAndRatios(t *testing.T) {
	s := small()
	dir := ran(t, s, profiles())

	designs := read[variance.Design](t, dir, variance.DesignsFile)
	candidates := 2 + 5                             // m = 1, …, b−1
	fewer := len(pilot.StagedCandidates(s.Budgets)) // of policies in stages
	if want := 2*(candidates*(1+1+len(s.Alphas))+fewer+len(s.Budgets)) + 3*8*fewer; len(designs) != want {
		t.Errorf("%d designs, want %d", len(designs), want)
	}
	type group struct {
		policy string
		tasks  int32
		budget int32
		alpha  float64
	}
	selected := map[group]variance.Design{}
	for _, d := range designs {
		if !(d.Risk > 0 && d.RiskSE >= 0 && d.W > 0 && d.W < 1) || d.Gap < 0 {
			t.Errorf("design %+v", d)
		}
		// With one continuation rollout a task, C = Σ v/L / Σ v is 1 on every profile.
		if c := d.W / (1 - d.W) / float64(d.M); d.Policy == policy.EN.Name && d.M == d.Budget-1 && math.Abs(c-1) > 1e-12 {
			t.Errorf("EN, b = %d, m = %d: pooled coefficient %v, want 1", d.Budget, d.M, c)
		}
		if of := policy.All.Find(d.Key()).InStages; (d.Fractions != nil) != (of != nil && of.After > 1) || d.Fractions != nil && len(strings.Fields(*d.Fractions)) != 4 {
			t.Errorf("design %+v", d)
		}
		if (d.Benchmark == nil) != (d.Donors == policy.None.Name) || d.For("made", "a") && d.Benchmark != nil && (*d.Model != "a" || d.NTasks != 4) {
			t.Errorf("design %+v", d)
		}
		if d.Selected && d.Benchmark == nil {
			g := group{d.Policy, d.NTasks, d.Budget, value(d.Alpha)}
			if _, twice := selected[g]; twice {
				t.Errorf("two designs selected for %+v", g)
			}
			selected[g] = d
		}
	}
	if want := 2 * 2 * (4 + len(s.Alphas)); len(selected) != want {
		t.Errorf("%d designs selected, want %d", len(selected), want)
	}

	ratios := read[variance.Ratio](t, dir, variance.RatiosFile)
	if want := 3 * 2 * (4 + 2 + 2*4); len(ratios) != want {
		t.Errorf("%d ratios, want %d: every profile, budget and policy", len(ratios), want)
	}
	for _, r := range ratios {
		if r.Policy == policy.Oracle.Name {
			if r.M != nil || r.W != nil || r.RatioSE != 0 || r.Draws != 0 || r.VarianceRatio > 1 {
				t.Errorf("oracle %+v", r)
			}
			continue
		}
		if of := policy.All.Find(r.Key()); of.InStages != nil {
			checkStages(t, of, r)
			continue
		}
		d := selected[group{r.Policy, r.NTasks, r.Budget, value(r.Alpha)}]
		if *r.M != d.M || *r.W != d.W || int(r.Draws) != s.Draws || !(r.RatioSE >= 0) {
			t.Errorf("ratio %+v is not of design %+v", r, d)
		}
	}
	checkDifferences(t, ratios, read[variance.Difference](t, dir, variance.DifferencesFile))
	strengths := read[variance.Ratio](t, dir, variance.CandidatesFile)
	if want := 3 * 2 * len(s.Alphas); len(strengths) != want {
		t.Errorf("%d candidates of IBN, want %d", len(strengths), want)
	}
}

// checkStages looks at a ratio of a policy in stages.
func checkStages(t *testing.T, of *policy.Policy, r variance.Ratio) {
	t.Helper()
	draws := 2 * 27
	if of.Donors.Rollouts > 0 {
		draws = 2 * 17
	}
	switch {
	case int(r.Draws) != draws || r.M == nil || *r.M < 1 || *r.M >= r.Budget || !(r.VarianceRatio > 0 && r.VarianceRatio < 3) || !(r.RatioSE >= 0):
		t.Errorf("ratio %+v", r)
	case (r.W == nil) != of.InStages.LeaveOneOut || r.W != nil && !(*r.W > 0 && *r.W < 1):
		t.Errorf("%s has the stage weight %v", r.Key(), r.W)
	}
}

// TestDegenerateProfilesChangeNothing adds one among profiles of its size, and
// one of a size of its own, as the score stage may turn out to have made them.
func TestDegenerateProfilesChangeNothing(t *testing.T) {
	without, with := ran(t, small(), profiles()), ran(t, small(), append(profiles(), degenerate(4), degenerate(7)))
	for _, file := range []string{variance.RatiosFile, variance.CandidatesFile} {
		if a, b := read[variance.Ratio](t, without, file), read[variance.Ratio](t, with, file); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %d rows with degenerate profiles, %d without, or others", file, len(b), len(a))
		}
	}
	compareErrors(t, without, with)
	ofSize := func(d variance.Design) bool { return d.NTasks == 7 }
	designs := read[variance.Design](t, with, variance.DesignsFile)
	for _, d := range designs {
		if ofSize(d) && d.Policy == policy.EN.Name {
			t.Errorf("EN has a design for degenerate profiles: %+v", d)
		}
	}
	if a, b := read[variance.Design](t, without, variance.DesignsFile), slices.DeleteFunc(designs, ofSize); !reflect.DeepEqual(a, b) {
		t.Error("a degenerate profile changes designs")
	}
}

// degenerate is a profile of tasks that always or never pass.
func degenerate(tasks int) profile.Profile {
	p := profile.Profile{Benchmark: "made", Model: fmt.Sprint("sure", tasks), TestedK: 10}
	for i := range tasks {
		p.TaskIDs, p.PassCounts = append(p.TaskIDs, fmt.Sprint(i)), append(p.PassCounts, 10*(i%2))
	}
	return p
}

func TestOnlyDegenerateProfilesAreAnError(t *testing.T) {
	stages := []dag.Stage{stage(t, small(), []profile.Profile{degenerate(4), degenerate(5)})}
	if err := dagtest.Try(t, stages, t.TempDir(), dag.Selection{}); err == nil || !strings.Contains(err.Error(), "none of the 2 profiles can be evaluated") {
		t.Errorf("error %v", err)
	}
}

func value(x *float64) float64 {
	if x == nil {
		return math.Inf(-1)
	}
	return *x
}

// TestUnitsFollowTheirPartOfTheExperiment changes one thing at a time and looks
// which units must run again.
func TestUnitsFollowTheirPartOfTheExperiment(t *testing.T) {
	dir := ran(t, small(), profiles())
	always := []string{"designs", "profile", "stages", "two_stage", "differences", "ratios", "resample", "profile_errors", "case_study"} // by way of their inputs
	tests := []struct {
		name   string
		change func(*replay.Settings, []profile.Profile)
		want   []string // kinds of units, besides always where designs are among them
	}{
		{"nothing", func(*replay.Settings, []profile.Profile) {}, nil},
		{"seed", func(s *replay.Settings, _ []profile.Profile) { s.Seed++ }, []string{"design/en", "design/hbn", "design/ibn", "design/staged", "design/donors"}},
		{"draws", func(s *replay.Settings, _ []profile.Profile) { s.Draws++ }, []string{"design/en", "design/hbn", "design/ibn", "design/staged", "design/donors"}},
		{"order", func(s *replay.Settings, _ []profile.Profile) { s.QuadratureOrder++ }, []string{"design/hbn"}},
		{"alphas", func(s *replay.Settings, _ []profile.Profile) { s.Alphas = []float64{0.2} }, []string{"design/ibn"}},
		{"a profile", func(_ *replay.Settings, p []profile.Profile) { p[0].PassCounts[1]++ }, []string{"design/en", "design/donors"}},
		{"resamples", func(s *replay.Settings, _ []profile.Profile) { s.Resamples++ }, []string{"profile_errors", "resample"}},
		{"resample draws", func(s *replay.Settings, _ []profile.Profile) { s.ResampleDraws++ }, []string{"profile_errors", "resample"}},
		{"repetitions", func(s *replay.Settings, _ []profile.Profile) { s.CaseStudy.Repetitions++ }, []string{"case_study"}},
		{"budget of the case", func(s *replay.Settings, _ []profile.Profile) { s.CaseStudy.Budget = 3 }, []string{"case_study"}},
		{"profile of the case", func(s *replay.Settings, _ []profile.Profile) { s.CaseStudy.Profile = "made__model=a" }, []string{"case_study"}},
	}
	for _, tt := range tests {
		s, ps := small(), profiles()
		tt.change(&s, ps)
		base := s
		s.Slice = func(keys ...string) map[string]string { return sliceOf(base, keys) }
		got := map[string]bool{}
		for _, id := range planned(t, dir, stage(t, s, ps)) {
			got[kind(id)] = true
		}
		want := map[string]bool{}
		for _, k := range tt.want {
			want[k] = true
		}
		for _, k := range always {
			if slices.ContainsFunc(tt.want, func(k string) bool { return strings.HasPrefix(k, "design/") }) {
				want[k] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s changed: %v run again, want %v", tt.name, got, want)
		}
	}
}

func sliceOf(s replay.Settings, keys []string) map[string]string {
	all := map[string]string{
		"experiment.seed": fmt.Sprint(s.Seed), "experiment.budgets": fmt.Sprint(s.Budgets),
		"replay.draws": fmt.Sprint(s.Draws), "replay.replicates": fmt.Sprint(s.Replicates),
		"replay.quadrature_order": fmt.Sprint(s.QuadratureOrder), "replay.ibn_alphas": fmt.Sprint(s.Alphas),
		"replay.resamples": fmt.Sprint(s.Resamples), "replay.resample_draws": fmt.Sprint(s.ResampleDraws),
		"replay.case_study.profile": s.CaseStudy.Profile, "replay.case_study.budget": fmt.Sprint(s.CaseStudy.Budget),
		"replay.case_study.repetitions": fmt.Sprint(s.CaseStudy.Repetitions),
	}
	slice := map[string]string{}
	for _, key := range keys {
		slice[key] = all[key]
	}
	return slice
}

// planned lists the units that would run.
func planned(t *testing.T, dir string, stage dag.Stage) []string {
	t.Helper()
	var ids []string
	for _, s := range dagtest.Plan(t, []dag.Stage{stage}, dir, dag.Selection{}).Stages {
		for _, u := range s.Run {
			ids = append(ids, u.Unit.Unit)
		}
	}
	return ids
}

// kind is a unit's ID without what tells it from its like.
func kind(id string) string {
	for _, k := range []string{"design/en", "design/hbn", "design/ibn", "design/staged", "profile", "stages", "resample"} {
		if len(id) > len(k) && id[:len(k)+1] == k+"/" {
			return k
		}
	}
	for _, known := range policy.AllDonors {
		if strings.HasPrefix(id, "design/"+known.Name+"/") {
			return "design/donors"
		}
	}
	return id
}

// TestResultsDoNotMove pins the numbers of a small run: a change here means that
// published results can no longer be had from their seed, and asks for a new
// version of the stage.
func TestResultsDoNotMove(t *testing.T) {
	dir := ran(t, small(), profiles())
	ratios := read[variance.Ratio](t, dir, variance.RatiosFile)
	var got []string
	for _, r := range ratios {
		if r.Benchmark == "made" && r.Model == "c" {
			got = append(got, fmt.Sprintf("%s b=%d %.12f ± %.12f", r.Key(), r.Budget, r.VarianceRatio, r.RatioSE))
		}
	}
	text := fmt.Sprintln(len(got)) + strings.Join(got, "\n") + "\n"
	golden.Check(t, "small.golden", []byte(text))
}
