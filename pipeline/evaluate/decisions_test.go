package evaluate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/pipeline/evaluate"
)

// informedBy is an evaluation that knows donors.
func informedBy(budget int, seed uint64, sources ...string) evaluation.Spec {
	r := evaluation.Spec{Seed: &seed}
	r.Budget, r.Prior = budget, sources
	return r
}

// TestWhatIsKnownGoesIn evaluates with an earlier evaluation as donor, and with profiles.
func TestWhatIsKnownGoesIn(t *testing.T) {
	l := newLab(t)
	l.evaluate(request(6, 1))
	l.write("others.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nown,big,0,one,9,16\nown,big,1,two,7,16\nown,small,0,two,3,16\nown,small,1,red,0,16\nelse,big,0,one,9,16\nelse,big,1,two,9,16\n")
	for _, c := range []struct {
		sources []string
		want    []string
	}{
		{[]string{"own/plain/hbn-async-b6-seed1"}, []string{"own plain"}},
		{[]string{"others.csv"}, []string{"own__model=big", "own__model=small"}},
		{[]string{"others.csv#small", "own/plain/hbn-async-b6-seed1"}, []string{"own__model=small", "own plain"}},
	} {
		r := l.evaluate(informedBy(8, uint64(10+len(c.want)+len(c.sources)), c.sources...))
		if r.Policy != "hbn_informed_staged" || r.Known == nil || r.Rollouts != 40 {
			t.Fatalf("%s with %+v", r.Policy, r.Known)
		}
		total := r.Known.Mean + r.Known.None
		var names []string
		for _, d := range r.Known.Donors {
			names = append(names, d.Name)
			total += d.Weight
			if d.Tasks < 2 || d.Rollouts < 30 {
				t.Errorf("%+v", d)
			}
		}
		if !slices.Equal(names, c.want) || math.Abs(total-1) > 1e-9 || r.Known.None < 0.05-1e-9 {
			t.Errorf("donors %v, want %v, with weights that come to %v", names, c.want, total)
		}
	}
	if p, err := l.benchmark().Plan(t.Context(), evaluation.Spec{Budget: 8, Prior: []string{"others.csv"}}); err != nil || p.StandardError <= 0 || !strings.Contains(p.From, "others.csv#big") {
		t.Errorf("%+v, %v", p, err)
	}
}

// What logs of allocations and of graded rewards say is a donor like any other. Nothing
// of it has a number of rollouts that was decided before, by which drift could be told.
func TestLogsAreDonors(t *testing.T) {
	l := newLab(t)
	l.write("logs.csv", "benchmark,model,task_index,task_id,pass_count,tested_k,rewards,squares,allocated\nown,plain,0,one,9,16,10.6,9.9,true\nown,plain,1,two,7,24,,,true\n")
	_, folder := l.made(informedBy(8, 3, "logs.csv"))
	setup, err := evaluation.ReadSetup(folder)
	if err != nil || len(setup.Donors) != 1 {
		t.Fatalf("%+v, %v", setup, err)
	}
	d := setup.Donors[0]
	at := func(id string) int { return slices.Index(setup.TaskIDs, id) }
	if !d.Same || d.Fixed != nil || d.Passes[at("one")] != 11 || d.Rollouts[at("one")] != 16 || d.Passes[at("two")] != 7 || d.Rollouts[at("two")] != 24 {
		t.Errorf("donor %+v", d)
	}
}

func TestDonorsThatCannotBe(t *testing.T) {
	l := newLab(t)
	l.evaluate(request(6, 1))
	l.write("else.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nelse,big,0,one,9,16\nelse,big,1,two,9,16\n")
	l.write("strangers.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nown,big,0,x,9,16\nown,big,1,y,9,16\n")
	stored := "own/plain/hbn-async-b6-seed1"
	uninformed := informedBy(8, 2, stored)
	uninformed.Policy = "hbn-async"
	needing := informedBy(8, 2)
	needing.Policy = "hbn_informed_staged"
	gone := informedBy(8, 2)
	gone.Policy = "hbn_informed"
	for want, r := range map[string]evaluation.Spec{
		"it has rollouts of this evaluation":           informedBy(8, 1, stored),
		"it is there twice":                            informedBy(8, 2, stored, stored),
		"no profile of own, but of else__model=big":    informedBy(8, 2, "else.csv"),
		"else.csv has no profile of tiny, but of else": informedBy(8, 2, "else.csv#tiny"),
		"own__model=big has none of the tasks of own":  informedBy(8, 2, "strangers.csv"),
		"no such file":                              informedBy(8, 2, "nowhere.csv"),
		"is no evaluation":                          informedBy(8, 2, "own/plain/other"),
		"hbn-async makes no use of --prior":         uninformed,
		"--policy hbn_informed_staged needs donors": needing,
		`no policy "hbn_informed": want one of hbn_staged, hbn_informed_staged, hbn-async, uniform`: gone,
	} {
		if _, _, err := l.try(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// Of other prompts it is a donor with a warning.
	l.write("own.jsonl", strings.Replace(ownBenchmark, "What is 12+9?", "What is 9+12?", 1))
	r := informedBy(8, 2, stored)
	l.evaluate(r)
	if !strings.Contains(strings.Join(l.warned, "\n"), "asked other prompts") {
		t.Errorf("warned of %q", l.warned)
	}
	// The same command with other donors is another evaluation.
	r.Prior = []string{"own/plain/hbn-async-b6-seed1", "strangers.csv"}
	l.write("strangers.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nown,big,0,one,9,16\nown,big,1,y,9,16\n")
	if _, _, err := l.try(r); err == nil || !strings.Contains(err.Error(), "has begun knowing other donors") {
		t.Errorf("%v", err)
	}
}

func TestAnEvaluationIsExtendedAndPooled(t *testing.T) {
	l := newLab(t)
	asked := request(6, 1)
	asked.PassK = []int{2}
	first, _ := l.made(asked)
	l.evaluate(request(6, 2))
	more, folder, err := evaluate.Extend(t.Context(), l.configuration(), "own/plain/hbn-async-b6-seed1", []string{"own.jsonl"}, 12, l.host())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(l.warned, "\n"), "pass@k and pass^k are left out") {
		t.Errorf("warned of %q", l.warned)
	}
	if more.Rollouts != 60 || more.StandardError >= first.StandardError || !strings.HasSuffix(folder, "hbn_staged-b12-after-hbn-async-b6-seed1") {
		t.Errorf("%d rollouts ± %v in %s", more.Rollouts, more.StandardError, folder)
	}
	pooled, err := l.archive("out").Pool([]string{folder, "own/plain/hbn-async-b6-seed2"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.archive("out").Stored("own/plain/hbn-async-b6-seed2")
	if err != nil {
		t.Fatal(err)
	}
	want := pooled.Weights[0]*more.Estimate + pooled.Weights[1]*second.Result.Estimate
	if math.Abs(pooled.Estimate-want) > 1e-12 || pooled.Rollouts != 90 || pooled.StandardError >= more.StandardError || pooled.Weights[0] <= pooled.Weights[1] {
		t.Errorf("%+v, want the estimate %v", pooled, want)
	}
	for want, names := range map[string][]string{
		"under seed 1 and share rollouts": {folder, "own/plain/hbn-async-b6-seed1"},
		"is no evaluation":                {folder, "own/plain/none"},
	} {
		if _, err := l.archive("out").Pool(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	extend := func(budget int) error {
		_, _, err := evaluate.Extend(t.Context(), l.configuration(), "own/plain/hbn-async-b6-seed1", []string{"own.jsonl"}, budget, l.host())
		return err
	}
	if err := extend(6); err == nil || !strings.Contains(err.Error(), "has 30 rollouts of 5 tasks already; want 7 or more") {
		t.Error(err)
	}
	l.write("own.jsonl", strings.Replace(ownBenchmark, `"answer":"21"`, `"answer":"22"`, 1))
	if err := extend(14); err == nil || !strings.Contains(err.Error(), "answers or scorers have changed") {
		t.Error(err)
	}
	l.write("own.jsonl", strings.Replace(ownBenchmark, "What is 12+9?", "What is 9+12?", 1))
	if err := extend(14); err == nil || !strings.Contains(err.Error(), "with other prompts") {
		t.Error(err)
	}
}

func TestGatesAreAsked(t *testing.T) {
	l := newLab(t)
	a, aFolder := l.made(request(40, 1))
	_, folder := l.made(request(40, 2))
	g, err := l.archive("out").Gate([2]string{aFolder, folder}, evaluate.Gating{Margin: 0.3})
	if err != nil || !g.Passed() || g.Estimates[0] != a.Estimate || g.Power < 0.9 {
		t.Errorf("%+v, %v", g, err)
	}
	text, err := os.ReadFile(folder + "/result.json")
	if err != nil {
		t.Fatal(err)
	}
	l.write("baseline.json", string(text))
	if g, err = l.archive("out").Gate([2]string{aFolder, "baseline.json"}, evaluate.Gating{Margin: 0.001}); err != nil || g.Passed() || g.Outcome != "undecided" {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err = l.archive("out").Gate([2]string{aFolder, folder}, evaluate.Gating{Margin: 0.6, OverTasks: true}); err != nil || g.Question != "what the tasks are a sample of" {
		t.Errorf("%+v, %v", g, err)
	}
	l.sets = []string{"systems.window=4"} // 5 tasks fill it with 4 rollouts of each
	s := l.live("baseline.json")
	live := request(16, 3)
	if g, err = s.GateLive(t.Context(), "baseline.json", evaluate.Gating{Margin: 0.7}, live, l.host()); err != nil || !g.Passed() || g.Looks != 4 || g.Look == g.Looks || g.Rollouts[0] >= 80 {
		t.Errorf("%+v, %v", g, err)
	}
	if g, err = s.GateLive(t.Context(), "baseline.json", evaluate.Gating{Margin: 0.01}, live, l.host()); err != nil || g.Passed() || g.Futile == (g.Look == g.Looks) || g.Futile != (g.Chance > 0) {
		t.Errorf("%+v, %v", g, err)
	}
	// Looks that depend on each other have higher rates than the parts of the error that they spend.
	spent := func(look int) float64 { return 0.05 * math.Pow(float64(look)/4, 3) }
	if g.Look < 2 || g.Rate < 1.1*(spent(g.Look)-spent(g.Look-1)) || g.Rate > spent(g.Look) {
		t.Errorf("look %d at the rate %v", g.Look, g.Rate)
	}
	l.sets = nil // 32 places, which four rollouts each do not fill by then
	whole := l.live("baseline.json")
	if g, err = whole.GateLive(t.Context(), "baseline.json", evaluate.Gating{Margin: 0.3}, live, l.host()); err != nil || g.Looks != 1 || g.Rollouts[0] != 80 {
		t.Errorf("%+v, %v", g, err)
	}
	live.Seed = new(uint64)
	*live.Seed = 2
	var refused *evaluate.RequestError
	if _, err = s.GateLive(t.Context(), "baseline.json", evaluate.Gating{Margin: 0.2}, live, l.host()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "take another --seed") {
		t.Error(err)
	}
}

// TestClustersAreOfTheTasks compares with profiles, which tell no clusters, in both orders.
func TestClustersAreOfTheTasks(t *testing.T) {
	l := newLab(t)
	l.write("own.jsonl", strings.NewReplacer(`"scorer":"math"`, `"scorer":"math","cluster":"sums"`, `"scorer":"choice"`, `"scorer":"choice","cluster":"colours"`).Replace(ownBenchmark))
	r, folder := l.made(request(8, 1))
	table := "benchmark,model,task_index,task_id,pass_count,tested_k\n"
	for i, task := range slices.Backward(r.Rows) {
		table += fmt.Sprintf("own,other,%d,%s,%d,16\n", len(r.Rows)-1-i, task.ID, 3*i)
	}
	l.write("other.csv", table)
	for _, words := range [][]string{{folder, "other.csv"}, {"other.csv", folder}} {
		c, err := l.archive("out").Compare(words, 0)
		if err != nil || c.Tasks == nil || c.Tasks.Clusters != r.Clusters || r.Clusters >= len(r.Rows) {
			t.Errorf("%q: %+v, %v; want %d clusters", words, c, err, r.Clusters)
		}
	}
}

// TestGatesOfOneCluster are refused before anything is spent.
func TestGatesOfOneCluster(t *testing.T) {
	l := newLab(t)
	l.write("own.jsonl", strings.ReplaceAll(ownBenchmark, `"answer"`, `"cluster":"all","answer"`))
	_, folder := l.made(request(4, 1))
	s := l.live(folder)
	_, err := s.GateLive(t.Context(), folder, evaluate.Gating{Margin: 0.1, OverTasks: true}, request(8, 2), l.host())
	faulty(t, err, true, "all tasks are of one cluster")
	if begun, err := l.archive("out").Reader().List(); len(begun) != 1 || err != nil {
		t.Errorf("%v have begun, %v", begun, err)
	}
}

// TestGatesOfLittleUse are baselines without an error, or of other tasks.
func TestGatesOfLittleUse(t *testing.T) {
	l := newLab(t)
	_, folder := l.made(request(8, 1))
	text, err := os.ReadFile(folder + "/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var result map[string]any
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	_, other := l.made(request(8, 3))
	s := l.live(folder)
	for want, change := range map[string]func(){
		"must be numbers between 0 and 1": func() { delete(result, "interval") },
		"states no error": func() {
			result["standard_error"], result["interval"] = 0, []any{result["estimate"], result["estimate"]}
		},
		`its task 0 is other, that of own is one|of different tasks`: func() { result["tasks"].([]any)[0].(map[string]any)["task_id"] = "other" },
		"has the schema":                   func() { clear(result); result["estimate"] = 0.62 },
		"a number without tasks and error": func() { result = nil },
	} {
		if err := json.Unmarshal(text, &result); err != nil {
			t.Fatal(err)
		}
		baseline := "baseline.json"
		if change(); result == nil {
			baseline = "0.62"
		}
		changed, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		l.write("baseline.json", string(changed))
		_, stored := l.archive("out").Gate([2]string{other, baseline}, evaluate.Gating{Margin: 0.1})
		_, live := s.GateLive(t.Context(), baseline, evaluate.Gating{Margin: 0.1}, request(8, 2), l.host())
		for _, err := range []error{stored, live} {
			var refused *evaluate.RequestError
			if !errors.As(err, &refused) || !slices.ContainsFunc(strings.Split(want, "|"), func(one string) bool { return strings.Contains(err.Error(), one) }) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestWaysAreNamed has all policies executed by name.
func TestWaysAreNamed(t *testing.T) {
	l := newLab(t)
	l.evaluate(request(6, 1))
	for k, name := range policy.ExecutionNames() {
		r := informedBy(5, uint64(100+k))
		r.Policy = name
		if strings.Contains(name, "informed") {
			r.Prior = []string{"own/plain/hbn-async-b6-seed1"}
		}
		if got := l.evaluate(r); got.Policy != name || got.Rollouts != 25 {
			t.Errorf("%s: %s with %d rollouts", name, got.Policy, got.Rollouts)
		}
	}
}

// sums is a second benchmark, whose tasks are of one cluster.
const sums = `{"id":"one","prompt":"How much is 1 and 1?","answer":"2","scorer":"math","cluster":"sums"}
{"id":"two","prompt":"How much is 12 and 9?","answer":"21","scorer":"math","cluster":"sums"}
`

// suite is the model on several benchmarks.
func (l *lab) suite(suite evaluate.Suite) *evaluate.Subject {
	l.t.Helper()
	b, err := evaluate.Archive{Config: l.configuration()}.OpenSuite(suite)
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := b.With("plain")
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// TestASuiteIsOneEvaluation has two benchmarks under one budget, of which the second
// weighs three times as much.
func TestASuiteIsOneEvaluation(t *testing.T) {
	l := newLab(t)
	l.write("more.jsonl", strings.Replace(sums, `,"cluster":"sums"`, "", 1))
	if _, err := (evaluate.Archive{Config: l.configuration()}).OpenSuite(evaluate.Suite{Names: []string{"own.jsonl", "more.jsonl"}}); err == nil || !strings.Contains(err.Error(), "all tasks have one, or none has") {
		t.Errorf("%v, want a fault of the cluster", err)
	}
	l.write("more.jsonl", sums)
	suite := evaluate.Suite{Names: []string{"own.jsonl", "more.jsonl"}, Weights: []float64{1, 3}}
	r, folder, err := l.suite(suite).Evaluate(t.Context(), informedBy(8, 1), l.host())
	if err != nil {
		t.Fatal(err)
	}
	if r.Benchmark != "own+more" || r.Rollouts != 56 || len(r.Suite) != 2 || r.Clusters != 6 || r.Rows[6].ID != "more/two" {
		t.Fatalf("%+v", r)
	}
	if got := r.Suite[0].Weight*r.Suite[0].Estimate + r.Suite[1].Weight*r.Suite[1].Estimate; math.Abs(got-r.Estimate) > 1e-12 || r.Suite[1].Weight != 0.75 || r.Suite[0].Rollouts+r.Suite[1].Rollouts != 56 {
		t.Errorf("%v by parts, %v in all: %+v", got, r.Estimate, r.Suite)
	}
	if more := float64(r.Suite[1].Rollouts) / 2; more < 1.5*float64(r.Suite[0].Rollouts)/5 {
		t.Errorf("tasks that weigh more got %v rollouts each: %+v", more, r.Suite)
	}
	if cells := r.Design.Cells; len(cells) != 2 || cells[0].Least != 27 || cells[1].Least != 11 || r.Suite[0].Rollouts < 27 || r.Suite[1].Rollouts < 11 || r.Design.FreeRisk == nil {
		t.Errorf("floors of two thirds of 40 and 16 rollouts: %+v, %+v", r.Suite, r.Design)
	}
	_, again, err := evaluate.Rescore(t.Context(), l.configuration(), folder, suite.Names, l.host())
	if err != nil || again.Estimate != r.Estimate || again.Suite[0].Estimate != r.Suite[0].Estimate {
		t.Errorf("rescored %+v, %v", again, err)
	}
	if _, _, err := evaluate.Extend(t.Context(), l.configuration(), folder, suite.Names, 12, l.host()); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]evaluate.Suite{
		"is there twice":         {Names: []string{"own.jsonl", "own.jsonl"}},
		"want one for each":      {Names: []string{"own.jsonl", "more.jsonl"}, Weights: []float64{1}},
		"want a positive number": {Names: []string{"own.jsonl", "more.jsonl"}, Weights: []float64{1, -1}},
		"name a benchmark":       {},
	} {
		if _, err := (evaluate.Archive{Config: l.configuration()}).OpenSuite(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFloorsOfASuite has the benchmark that weighs less at its floor, and asks for others that
// do not fit.
func TestFloorsOfASuite(t *testing.T) {
	l := newLab(t)
	l.write("more.jsonl", sums)
	both := []string{"own.jsonl", "more.jsonl"}
	rollouts := map[float64]int{}
	for seed, floor := range []float64{0, 7.5} {
		spec := informedBy(8, uint64(20+seed))
		spec.Floor = &floor
		r, _, err := l.suite(evaluate.Suite{Names: both, Weights: []float64{1, 9}}).Evaluate(t.Context(), spec, l.host())
		if err != nil {
			t.Fatal(err)
		}
		if rollouts[floor] = r.Suite[0].Rollouts; r.Rollouts != 56 || (r.Design.FreeRisk != nil) != (floor > 0) {
			t.Errorf("floor %v: %+v", floor, r)
		}
	}
	if rollouts[0] >= 27 || rollouts[7.5] < 38 {
		t.Errorf("rollouts of the first benchmark by floor: %v, want fewer than its default without one, and 38 or more", rollouts)
	}
	r, _, err := l.suite(evaluate.Suite{Names: both, Micro: true}).Evaluate(t.Context(), informedBy(8, 23), l.host())
	if err != nil || math.Abs(r.Suite[0].Weight-5.0/7) > 1e-12 || math.Abs(r.Rows[0].Share-r.Rows[6].Share) > 1e-12 {
		t.Errorf("all tasks alike: %+v, %v", r, err)
	}
	spec := informedBy(8, 23) // begun with two thirds
	less := 2.0
	spec.Floor = &less
	if _, _, err := l.suite(evaluate.Suite{Names: both, Micro: true}).Evaluate(t.Context(), spec, l.host()); err == nil || !strings.Contains(err.Error(), "--floor") {
		t.Errorf("%v, want another floor refused", err)
	}
	long := strings.Repeat("a", 115)
	l.write(long+".jsonl", sums)
	r, folder, err := l.suite(evaluate.Suite{Names: append([]string{long + ".jsonl"}, both...)}).Evaluate(t.Context(), informedBy(8, 25), l.host())
	if err != nil || !strings.HasPrefix(r.Benchmark, long[:60]+"+2-more-") || len(r.Suite) != 3 || !strings.Contains(folder, r.Benchmark) {
		t.Errorf("a suite with long names is called %s: %v", folder, err)
	}
	for want, c := range map[string]struct {
		names []string
		floor float64
		se    float64
	}{
		"8.5: want 0 to the budget, 8": {both, 8.5, 0}, "-1: want 0": {both, -1, 0}, "NaN: want 0": {both, math.NaN(), 0},
		"several benchmarks": {both[:1], 2, 0}, "part of a budget": {both, 2, 0.1},
	} {
		spec := informedBy(8, 24)
		if spec.Floor = &c.floor; c.se > 0 {
			spec.Budget, spec.TargetSE = 0, c.se
		}
		if _, _, err := l.suite(evaluate.Suite{Names: c.names}).Evaluate(t.Context(), spec, l.host()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAModelThatHasMovedIsTold has a profile of the same model that passed everything.
func TestAModelThatHasMovedIsTold(t *testing.T) {
	l := newLab(t)
	l.write("was.csv", "benchmark,model,task_index,task_id,pass_count,tested_k\nown,plain,0,one,64,64\nown,plain,1,two,64,64\nown,plain,2,three,64,64\nown,plain,3,red,64,64\nown,plain,4,blue,64,64\n")
	r := l.evaluate(informedBy(16, 4, "was.csv"))
	d := r.Known.Donors[0].Drift
	if d == nil || !d.Moved || d.P > 0.01 || d.Shift > -0.3 || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "the model is not what it was in was.csv#plain") }) {
		t.Errorf("%+v, %v", d, r.Notes)
	}
	l.evaluate(request(12, 7))
	r = l.evaluate(informedBy(16, 5, "own/plain/hbn-async-b12-seed7"))
	if d := r.Known.Donors[0].Drift; d == nil || d.Moved {
		t.Errorf("%+v", r.Known)
	}
}

// TestSetsOfRolloutsAreAskedFor has pass@2 and pass^2 of an evaluation in stages and of
// Uniform.
func TestSetsOfRolloutsAreAskedFor(t *testing.T) {
	l := newLab(t)
	for k, policy := range []string{"hbn_staged", "uniform"} {
		r := informedBy(12, uint64(k))
		r.Policy, r.PassK = policy, []int{2, 4}
		got := l.evaluate(r)
		if len(got.PassK) != 4 || got.PassK[0].Name() != "pass@2" || got.PassK[3].Name() != "pass^4" {
			t.Fatalf("%+v", got.PassK)
		}
		// Two tasks pass in about half of the cases, the others never.
		if any, all := got.PassK[0], got.PassK[3]; any.Estimate < got.Estimate || all.Estimate > got.Estimate || any.StandardError <= 0 || any.Estimate > 0.42 {
			t.Errorf("%s: %+v and %+v beside %v", policy, any, all, got.Estimate)
		}
	}
	r := informedBy(4, 9)
	r.PassK = []int{5}
	if _, _, err := l.try(r); err == nil || !strings.Contains(err.Error(), "want a budget of") {
		t.Error(err)
	}
	r.PassK, *r.Seed = []int{0}, 10
	if _, _, err := l.try(r); err == nil || !strings.Contains(err.Error(), "want 1 to 64") {
		t.Error(err)
	}
}
