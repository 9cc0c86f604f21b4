package evaluations

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/evaluation"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
)

func noEnvironment(string) string { return "" }

func TestFlagsOfEvaluate(t *testing.T) {
	var out, errs bytes.Buffer
	for words, want := range map[string]int{"-no-such-flag": 2, "-part middle": 2, "-jobs 0": 2, "-n 3": 2, "-part fleet -small -speceval /nowhere -dir " + filepath.Join(t.TempDir(), "lab"): 1} {
		if code := Evaluate.Main(strings.Fields(words), noEnvironment, &out, &errs); code != want {
			t.Errorf("%s: exit code %d, want %d: %s%s", words, code, want, out.String(), errs.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\ndrill-evaluate: failed\n") {
		t.Errorf("it prints %s", out.String())
	}
}

// quizProfile is a profile of 8 tasks, of which two decide.
func quizProfile() profile.Profile {
	return profile.Profile{
		Benchmark: "quiz", Model: "m", TestedK: 100,
		TaskIDs: []string{"a", "b", "c", "d", "e", "f", "g", "h"}, PassCounts: []int{0, 0, 100, 99, 1, 100, 50, 50},
	}
}

func TestWhatMakesProfilesHard(t *testing.T) {
	p := quizProfile()
	if c := certain(p); c != 0.75 {
		t.Errorf("%v of the tasks are certain", c)
	}
	v := 2 * 0.0099
	if e, want := effective(p), (0.5+v)*(0.5+v)/(2*0.0625+2*0.0099*0.0099); math.Abs(e-want) > 1e-12 {
		t.Errorf("%v effective tasks, want %v", e, want)
	}
}

func drawnCells(t *testing.T, evaluations int, p profile.Profile) []*cell {
	t.Helper()
	all := []*cell{{profile: p, rewards: passes, plan: plan{hbn, 8, 3, 0.4, nil}, number: evaluations}, {profile: p, rewards: passes, plan: plan{plain, 8, 8, 1, nil}, number: evaluations}}
	if err := drawAll(t.Context(), reference(t), slices.Clone(all), seed.Root(3)); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDrawnEvaluations draws 4,000 evaluations: Uniform's mean squared error is
// what it must be, and HBN's below it, both without bias, within 4 standard errors.
func TestDrawnEvaluations(t *testing.T) {
	all := drawnCells(t, 4000, quizProfile())
	unit := uniformVariance(quizProfile(), 8)
	h, hSE := all[0].meanSquare()
	u, uSE := all[1].meanSquare()
	if math.Abs(u-unit) > 4*uSE || h+3*hSE > unit || all[0].ratio() != h/unit || math.Abs(all[0].biasScore()) > 4 || math.Abs(all[1].biasScore()) > 4 {
		t.Errorf("HBN %v ± %v, bias %v; Uniform %v ± %v, bias %v, of %v", h, hSE, all[0].biasScore(), u, uSE, all[1].biasScore(), unit)
	}
	again := drawnCells(t, 4000, quizProfile())
	if again[0].stats != all[0].stats || again[0].equivalents != all[0].equivalents || again[1].stats != all[1].stats {
		t.Error("the same seed draws something else")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := drawAll(gone, reference(t), all, seed.Root(3)); err == nil {
		t.Error("drawing does not end with the context")
	}
}

func TestNormalNumbers(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{medianLargest(1), 0.6745}, {medianLargest(107), 2.7236}, {bonferroni(1, 0.05), 1.96}, {bonferroni(100, 0.01), 3.8906}, {bonferroniOfMeans(1, 20, 0.05), 2.0930},
		{quantile([]float64{1, 2, 4}, 0.5), 2}, {quantile([]float64{1, 2, 4}, 0.75), 3}, {quantile([]float64{1, 2, 4}, 1), 4},
		{outside(0.95, 0.93, 0.97, 500), 0}, {outside(0.90, 0.93, 0.97, 500), 0.03 / math.Sqrt(0.93*0.07/500)}, {outside(0.99, 0.93, 0.97, 500), 0.02 / math.Sqrt(0.97*0.03/500)},
	} {
		if math.Abs(c.got-c.want) > 5e-4 {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func TestTooMany(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want bool
	}{{0, 0, false}, {0, 10, false}, {2, 6, false}, {4, 6, true}, {5, 32, false}, {9, 32, true}, {60, 1000, false}, {75, 1000, true}} {
		if got := tooMany(c.k, c.n, 0.05); got != c.want {
			t.Errorf("%d of %d: %v", c.k, c.n, got)
		}
	}
}

// coveredCell is a cell with so many intervals on either side of the truth, and with
// errors as stated but for a factor.
func coveredCell(policy string, budget, n, below, above int, factor, bias float64) *cell {
	p := quizProfile()
	c := &cell{profile: p, plan: plan{policy: policy, budget: budget, pilots: 8}}
	truth := p.Mean()
	for i := range n {
		m := estimate.Mean{Value: truth + bias + 0.01*float64(2*(i%2)-1), StandardError: 0.01 * factor, Low: truth - 0.02, High: truth + 0.02}
		switch {
		case i < below:
			m.High = truth - 0.001
		case i < below+above:
			m.Low = truth + 0.001
		}
		c.add(m, truth)
	}
	return c
}

// faulted runs checks, of which one must fail: the one that begins with some words, or
// none with "".
func faulted(t *testing.T, name string, checks []lab.Check, want string) {
	t.Helper()
	var out bytes.Buffer
	err := lab.Report(&out, checks)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "not so") != 1) {
		t.Errorf("%s: want %q: %v\n%s", name, want, err, out.String())
	}
}

func TestChecksOfCoverage(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		below, above int
		factor, bias float64
		equivalents  equivalents
		want         string // "": all is well
	}{
		{50, 50, 1, 0, equivalents{}, ""},
		{50, 50, 1, 0, equivalents{number: 1000, covered: 920, losses: 1000, claims: 80, wrong: 60}, ""},
		{20, 20, 1, 0, equivalents{}, "mean coverage"},
		{50, 50, 1.2, 0, equivalents{}, "standard errors are right"},
		{50, 50, 0.8, 0, equivalents{}, "standard errors are right"},
		{50, 50, 1, 0.001, equivalents{}, "no estimate is biased"},
		{50, 50, 1, 0, equivalents{number: 1000, covered: 890}, "what Uniform would have needed"},
		{50, 50, 1, 0, equivalents{number: 1000, covered: 950, losses: 1000, claims: 80, wrong: 75}, "no gain is claimed"},
	} {
		var all []*cell
		for _, budget := range budgets {
			for _, policy := range []string{hbn, plain} {
				all = append(all, coveredCell(policy, budget, n, c.below, c.above, c.factor, c.bias))
			}
		}
		all[0].equivalents = c.equivalents
		rows := summaries(all)
		l := &lab.Lab{Stdout: &bytes.Buffer{}}
		coverageTable(l, rows)
		worstTable(l, all)
		faulted(t, fmt.Sprintf("%+v", c), coverageChecks(rows), c.want)
		if rows[0].length != 1 || rows[0].profiles != 1 || math.Abs(rows[0].least+float64(c.below+c.above)/n-1) > 1e-12 {
			t.Errorf("%+v: %+v", c, rows[0])
		}
	}
	low := coveredCell(hbn, 8, n, 200, 160, 1, 0)
	all := []*cell{low, coveredCell(plain, 8, n, 50, 50, 1, 0)}
	for range 19 { // one of twenty profiles
		all = append(all, coveredCell(hbn, 8, n, 48, 48, 1, 0))
	}
	faulted(t, "one profile", coverageChecks(summaries(all)), "no profile's coverage")
}

// TestChecksOfHardProfiles sees a low mean of a profile, and a low cell.
func TestChecksOfHardProfiles(t *testing.T) {
	for _, c := range []struct {
		missed [2]int // of 2,000 intervals by two policies
		want   string
	}{{[2]int{100, 100}, ""}, {[2]int{158, 158}, "profiles made to hurt"}, {[2]int{40, 190}, "and 93% by each policy"}} {
		all := hurtBy([]*cell{coveredCell(hbn, 8, 2000, c.missed[0], 0, 1, 0), coveredCell(inStages, 8, 2000, c.missed[1], 0, 1, 0)})
		hardTable(&lab.Lab{Stdout: &bytes.Buffer{}}, all)
		faulted(t, fmt.Sprint(c.missed), hardChecks(all), c.want)
	}
}

// TestTaskFilesAreTheUsers: the program reads them as it reads those of users, and
// no two tasks are asked the same.
func TestTaskFilesAreTheUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quiz.jsonl")
	answers, err := writeTasks(path, quizProfile())
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, task := range tasks {
		if task.Benchmark != "quiz" || answers[task.ID] != task.Answer || asked[task.Prompt] {
			t.Errorf("%+v", task)
		}
		asked[task.Prompt] = true
	}
	if len(tasks) != 8 || tasks[2].Scorer != "choice" || tasks[2].Options != 4 {
		t.Errorf("%d tasks, the third %+v", len(tasks), tasks[2])
	}
}

// madeArm is an arm of evaluations whose errors are as they must be, of which each
// twentieth interval misses the truth.
func madeArm(policy string, n int) *arm {
	p := quizProfile()
	a := &arm{what: policy, profile: p, policy: policy, budget: 8, fast: []float64{0.5}, slow: []float64{0.4}}
	unit := math.Sqrt(uniformVariance(p, 8))
	for i := range n {
		r := &evaluation.Result{Estimate: p.Mean() + unit*float64(2*(i%2)-1), StandardError: unit, Interval: [2]float64{0, 1}, Sessions: 1, Rollouts: 64}
		if i%20 == 0 {
			r.Interval = [2]float64{0.9, 1}
		}
		a.results = append(a.results, r)
	}
	return a
}

// each changes the results of an arm.
func (a *arm) each(change func(i int, r *evaluation.Result)) {
	for i, r := range a.results {
		change(i, r)
	}
}

func TestChecksOfTheFleet(t *testing.T) {
	unit := madeArm(uniform, 1).results[0].StandardError
	for name, c := range map[string]struct {
		change func(a, disturbed *arm)
		want   string
	}{
		"all is well": {func(_, _ *arm) {}, ""},
		"no bite":     {func(a, _ *arm) { a.slow[0] = 0.5 }, "completes sooner"},
		"few kills":   {func(_, d *arm) { d.each(func(i int, r *evaluation.Result) { r.Sessions = 1 + i%20/12 }) }, "were killed under way"},
		"biased": {func(a, d *arm) {
			for _, x := range []*arm{a, d} {
				x.each(func(_ int, r *evaluation.Result) { r.Estimate += 0.3 * unit })
			}
		}, "no bias"},
		"too certain": {func(a, d *arm) {
			for _, x := range []*arm{a, d} {
				x.each(func(i int, r *evaluation.Result) {
					if i < 50 {
						r.Interval = [2]float64{0.9, 1}
					}
				})
			}
		}, "coverage is"},
		"too noisy": {func(a, d *arm) {
			for _, x := range []*arm{a, d} {
				x.each(func(_ int, r *evaluation.Result) { r.Estimate += 0.4 * (r.Estimate - a.profile.Mean()) })
			}
		}, "variance is"},
		"another one after a kill": {func(_, d *arm) { d.results[7].Interval[0] += 1e-9 }, "have the results of undisturbed ones"},
	} {
		a, disturbed := madeArm(uniform, 400), madeArm(uniform, 400)
		disturbed.each(func(_ int, r *evaluation.Result) { r.Sessions = 2 })
		c.change(a, disturbed)
		rows := []*row{a.row(prediction{Ratio: 1})}
		fleetTable(&lab.Lab{Stdout: &bytes.Buffer{}}, rows)
		faulted(t, name, fleetChecks(rows, a, disturbed), c.want)
	}
}

// TestStatsOfKnownErrors sums up 4,000 normal estimates whose standard error and
// bias are known; the numbers must be right within 5 of their standard errors.
func TestStatsOfKnownErrors(t *testing.T) {
	const n, se, bias = 4000, 0.1, 0.02
	random := rand.New(rand.NewPCG(1, 2))
	var good, biased stats
	for range n {
		x := se * random.NormFloat64()
		good.add(estimate.Mean{Value: 0.5 + x, StandardError: se, Low: 0.5 + x - 1.96*se, High: 0.5 + x + 1.96*se}, 0.5)
		biased.add(estimate.Mean{Value: 0.5 + x + bias, StandardError: se / 2, Low: 0.5, High: 0.7}, 0.5)
	}
	if sd := math.Sqrt(good.coverageVariance()); math.Abs(good.coverage()-0.95) > 5*sd || math.Abs(sd-shareError(0.95, n)) > 0.1*sd {
		t.Errorf("coverage %v ± %v", good.coverage(), sd)
	}
	if math.Abs(good.biasScore()) > 5 || math.Abs(biased.biasScore()-bias/(se/math.Sqrt(n))) > 5 || math.Abs(biased.bias()-bias) > 5*se/math.Sqrt(n) {
		t.Errorf("bias %v and %v (%v)", good.biasScore(), biased.biasScore(), biased.bias())
	}
	square, error := good.meanSquare()
	if want := se * se * math.Sqrt(2.0/n); math.Abs(square-se*se) > 5*want || math.Abs(error-want) > 0.2*want {
		t.Errorf("mean square %v ± %v, want %v ± %v", square, error, se*se, want)
	}
	if score := varianceScore(square, prediction{Ratio: se * se}, n); math.Abs(score-(square-se*se)/(se*se*math.Sqrt(2.0/n))) > 1e-9 {
		t.Errorf("score %v", score)
	}
	if c := biased.calibration(); math.Abs(good.calibration()-1) > 0.06 || math.Abs(c-0.5/math.Sqrt(1+bias*bias/se/se)) > 0.03 {
		t.Errorf("calibrations %v and %v", good.calibration(), c)
	}
	if math.Abs(good.meanLength()-3.92*se) > 1e-9 {
		t.Errorf("length %v", good.meanLength())
	}
}

func TestIntervalsMissOnEitherSide(t *testing.T) {
	var sums stats
	for _, o := range []estimate.Mean{{Low: 0.1, High: 0.2}, {Low: 0.4, High: 0.5}, {Low: 0.6, High: 0.7}, {Low: 0.7, High: 0.8}} {
		sums.add(o, 0.5)
	}
	if sums.missedLow() != 0.25 || sums.missedHigh() != 0.5 || sums.coverage() != 0.25 {
		t.Errorf("%+v", sums)
	}
}
