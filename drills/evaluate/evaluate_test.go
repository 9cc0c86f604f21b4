package main

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/drills/evaluated"
	"speceval/internal/benchmark"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

func TestFlags(t *testing.T) {
	var out, errs bytes.Buffer
	for words, want := range map[string]int{"-no-such-flag": 2, "-part middle": 2, "-jobs 0": 2, "-n 3": 2, "-part fleet -small -speceval /nowhere -dir " + filepath.Join(t.TempDir(), "lab"): 1} {
		if code := run(strings.Fields(words), &out, &errs); code != want {
			t.Errorf("%s: exit code %d, want %d: %s%s", words, code, want, out.String(), errs.String())
		}
	}
	if !strings.HasSuffix(out.String(), "\ndrill-evaluate: failed\n") {
		t.Errorf("it says %s", out.String())
	}
}

// made is a profile of 8 tasks, of which two decide.
func made() profile.Profile {
	return profile.Profile{
		Benchmark: "quiz", Model: "m", TestedK: 100,
		TaskIDs: []string{"a", "b", "c", "d", "e", "f", "g", "h"}, PassCounts: []int{0, 0, 100, 99, 1, 100, 50, 50},
	}
}

func TestWhatMakesProfilesHard(t *testing.T) {
	p := made()
	if c := certain(p); c != 0.75 {
		t.Errorf("%v of the tasks are certain", c)
	}
	v := 2 * 0.0099
	if e, want := effective(p), (0.5+v)*(0.5+v)/(2*0.0625+2*0.0099*0.0099); math.Abs(e-want) > 1e-12 {
		t.Errorf("%v effective tasks, want %v", e, want)
	}
}

func tallied(t *testing.T, evaluations int, p profile.Profile) []*tally {
	t.Helper()
	prior, err := neyman.NewPrior(8)
	if err != nil {
		t.Fatal(err)
	}
	all := []*tally{{profile: p, rewards: passes, plan: plan{hbn, 8, 3, 0.4, nil}, number: evaluations}, {profile: p, rewards: passes, plan: uniformly(8), number: evaluations}}
	if err := drawAll(t.Context(), prior, slices.Clone(all), seed.Root(3)); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDrawnEvaluations draws 4,000 evaluations: Uniform's mean squared error is
// what it must be, and HBN's below it, both without bias, within 4 standard errors.
func TestDrawnEvaluations(t *testing.T) {
	all := tallied(t, 4000, made())
	h, hSE := all[0].ratio()
	u, uSE := all[1].ratio()
	if math.Abs(u-1) > 4*uSE || h+3*hSE > 1 || math.Abs(all[0].BiasScore()) > 4 || math.Abs(all[1].BiasScore()) > 4 {
		t.Errorf("HBN %v ± %v, bias %v; Uniform %v ± %v, bias %v", h, hSE, all[0].BiasScore(), u, uSE, all[1].BiasScore())
	}
	again := tallied(t, 4000, made())
	if again[0].Tally != all[0].Tally || again[0].equivalents != all[0].equivalents || again[1].Tally != all[1].Tally {
		t.Error("the same seed draws something else")
	}
}

func TestDrawingEndsWithTheContext(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	prior, err := neyman.NewPrior(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := drawAll(gone, prior, []*tally{{profile: made(), rewards: passes, plan: uniformly(8), number: 10}}, seed.Root(3)); err == nil {
		t.Error("no error")
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

// coveredTally is a tally with so many intervals on either side of the truth, and
// with errors as stated but for a factor.
func coveredTally(policy string, n, below, above int, factor, bias float64) *tally {
	p := made()
	t := &tally{profile: p, plan: plan{policy: policy, budget: 8, pilots: 8}}
	truth := p.Mean()
	for i := range n {
		o := evaluated.Outcome{Estimate: truth + bias + 0.01*float64(2*(i%2)-1), StandardError: 0.01 * factor, Low: truth - 0.02, High: truth + 0.02}
		switch {
		case i < below:
			o.High = truth - 0.001
		case i < below+above:
			o.Low = truth + 0.001
		}
		t.Add(o, truth)
	}
	return t
}

func TestChecksOfCoverage(t *testing.T) {
	const n = 2000
	for _, c := range []struct {
		below, above int
		factor, bias float64
		want         string // "": all is well
	}{
		{50, 50, 1, 0, ""},
		{90, 80, 1, 0, "mean coverage"},
		{200, 160, 1, 0, "no profile's coverage"},
		{50, 50, 1.2, 0, "standard errors are right"},
		{50, 50, 0.8, 0, "standard errors are right"},
		{50, 50, 1, 0.001, "no estimate is biased"},
	} {
		var all []*tally
		for _, budget := range budgets {
			for _, policy := range []string{hbn, uniform} {
				one := coveredTally(policy, n, c.below, c.above, c.factor, c.bias)
				one.plan.budget = budget
				all = append(all, one)
			}
		}
		var out bytes.Buffer
		rows := summaries(all)
		if err := coverageTable(&out, rows); err != nil {
			t.Fatal(err)
		}
		if err := worstTable(&out, all); err != nil {
			t.Fatal(err)
		}
		err := checkCoverage(rows, &out)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v\n%s", c, err, out.String())
		}
		if rows[0].length != 1 || rows[0].profiles != 1 || math.Abs(rows[0].least+float64(c.below+c.above)/n-1) > 1e-12 {
			t.Errorf("%+v: %+v", c, rows[0])
		}
	}
}

// TestTaskFilesAreTheUsers: the program reads them as it reads those of users, and
// no two tasks are asked the same.
func TestTaskFilesAreTheUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quiz.jsonl")
	answers, err := writeTasks(path, made())
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

func seriesOf(policy string, n int, fast, slow float64) *series {
	s := &series{profile: made(), policy: policy, budget: 8}
	unit := math.Sqrt(s.profile.VarianceSum() / 64 / 8)
	for i := range n {
		away := unit * float64(2*(i%2)-1)
		r := &evaluated.Result{Estimate: s.profile.Mean() + away, StandardError: unit, Interval: [2]float64{0, 1}, Sessions: 1}
		if i%20 == 0 {
			r.Interval = [2]float64{0.9, 1}
		}
		s.results = append(s.results, r)
		s.fast, s.slow = append(s.fast, fast), append(s.slow, slow)
	}
	return s
}

func TestChecksOfTheFleet(t *testing.T) {
	good := kills{evaluations: 10, killed: 12, resumed: 8}
	for name, c := range map[string]struct {
		series func() *series
		kills  kills
		want   string
	}{
		"all is well": {func() *series { return seriesOf(evaluated.Uniform, 400, 0.5, 0.4) }, good, ""},
		"no bite":     {func() *series { return seriesOf(evaluated.Uniform, 400, 0.5, 0.5) }, good, "completes sooner"},
		"few kills":   {func() *series { return seriesOf(evaluated.Uniform, 400, 0.5, 0.4) }, kills{evaluations: 10, resumed: 4}, "undisturbed"},
		"biased": {func() *series {
			s := seriesOf(evaluated.Uniform, 400, 0.5, 0.4)
			for _, r := range s.results {
				r.Estimate += 0.3 * s.results[0].StandardError
			}
			return s
		}, good, "no bias"},
		"too certain": {func() *series {
			s := seriesOf(evaluated.Uniform, 400, 0.5, 0.4)
			for _, r := range s.results[:50] {
				r.Interval = [2]float64{0.9, 1}
			}
			return s
		}, good, "coverage is"},
		"too noisy": {func() *series {
			s := seriesOf(evaluated.Uniform, 400, 0.5, 0.4)
			for _, r := range s.results {
				r.Estimate += 0.4 * (r.Estimate - s.profile.Mean())
			}
			return s
		}, good, "variance is"},
		"another estimate": {func() *series {
			s := seriesOf(evaluated.Uniform, 400, 0.5, 0.4)
			s.results[7].Estimate += 1e-9
			return s
		}, good, "HBN-sync"},
	} {
		var out bytes.Buffer
		s := c.series()
		r, err := rowOf(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := seriesTable(&out, []row{r}); err != nil {
			t.Fatal(err)
		}
		other := seriesOf(evaluated.Uniform, 400, 0.5, 0.4)
		if name != "another estimate" {
			other = s
		}
		err = (&lab{stdout: &out}).check([]row{r}, other, s, c.kills)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}
