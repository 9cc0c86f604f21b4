package evaluations

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

func TestDonors(t *testing.T) {
	p := quizProfile()
	random := seed.Root(1).Stream()
	e := earlier(p, 16, &random)
	if e.Model != p.Model || e.TestedK != 16 || e.PassCounts[0] != 0 || e.PassCounts[2] != 16 || e.PassCounts[6] < 2 || e.PassCounts[6] > 14 || p.PassCounts[6] != 50 {
		t.Errorf("an earlier evaluation has %v", e.PassCounts)
	}
	a := adversary(p)
	if a.Model == p.Model || a.PassCounts[0] != 50 || a.PassCounts[1] != 50 || min(a.PassCounts[6], 100-a.PassCounts[6]) != 0 || math.Abs(a.VarianceSum()-p.VarianceSum()) > 1e-12 {
		t.Errorf("an adversary has %v", a.PassCounts)
	}
	other, elsewhere := p, p
	other.Model, elsewhere.Model, elsewhere.Benchmark = "n", "n", "another"
	if all := siblings(p, []profile.Profile{p, other, elsewhere}); len(all) != 1 || all[0].Model != "n" || all[0].Benchmark != p.Benchmark {
		t.Errorf("siblings are %v", all)
	}
}

// TestArmsOfPolicies checks that there is every kind at both budgets, folders of their own, and the
// small drill to have one budget.
func TestArmsOfPolicies(t *testing.T) {
	for small, want := range map[bool]string{
		true:  "uniform 8, hbn-async 8, hbn_staged 8 then 16, hbn_informed_staged 8, hbn_informed_staged 8, hbn_staged to 0.02, hbn_informed_staged to 0.02",
		false: "uniform 8, hbn-async 8, hbn_staged 8 then 16, hbn_informed_staged 8, hbn_informed_staged 8, uniform 16, hbn-async 16, hbn_staged 16, hbn_informed_staged 16, hbn_informed_staged 16, hbn_staged to 0.02, hbn_informed_staged to 0.02",
	} {
		b := &bench{Lab: &lab.Lab{Small: small, Dir: "lab"}, jobs: 1, profiles: []profile.Profile{quizProfile()}, budgets: []int{8, 16}, urls: []string{"a", "b"}}
		var all []string
		folders := map[string]bool{}
		for _, a := range b.policyArms("good", "bad") {
			o := b.order(a, 0, 3)
			order := fmt.Sprintf("%s %d", o.policy, o.budget)
			if o.targetSE > 0 {
				order = fmt.Sprintf("%s to %g", o.policy, o.targetSE)
			}
			if a.then != nil {
				next := b.order(a.then, 0, 3)
				order += fmt.Sprintf(" then %d", next.budget)
				if next.extended().name() != o.name() || a.then.extended != a || a.then.out != a.out {
					t.Errorf("%s extends %s, not %s", next.name(), next.extended().name(), o.name())
				}
			}
			if informed := slices.Contains(o.flags, "--prior"); informed != (o.policy == policy.InformedStaged[0].Name) || folders[a.out] || o.seed != 4 {
				t.Errorf("%s in %s with %v", o.name(), a.out, o.flags)
			}
			folders[a.out] = true
			all = append(all, order)
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("small %v: %s\nwant %s", small, got, want)
		}
	}
}

// TestArmsHaveOneDesign: a forecast is of the design of all evaluations.
func TestArmsHaveOneDesign(t *testing.T) {
	a := madeArm(async, 3)
	setup := func(pilots int) *evaluation.Setup {
		return &evaluation.Setup{Design: evaluation.Design{Pilots: pilots}}
	}
	r := &evaluation.Result{Startup: 0.25, Seconds: 2}
	if err := a.take(0, r, setup(3), true); err != nil {
		t.Error(err)
	}
	if err := a.take(1, r, setup(2), false); err == nil {
		t.Error("another design: no error")
	}
	if a.usual() != 2 || len(a.startups) != 1 || a.startups[0] != 0.25 {
		t.Errorf("it took %v, %v", a.usual(), a.startups)
	}
}

// policyArm is an arm of 600 evaluations by Uniform whose errors are as they must be.
func policyArm() *arm {
	a := madeArm(uniform, 600)
	a.each(func(_ int, r *evaluation.Result) { r.Sessions, r.Losses.Continued, r.Startup = 2, 20, 0.1 })
	a.what, a.startups = "Uniform", []float64{0.1, 0.3, 0.2}
	a.setup = &evaluation.Setup{Policy: uniform, Budget: 8, TaskIDs: a.profile.TaskIDs, Design: evaluation.Design{Pilots: 8, Weight: 1}}
	return a
}

// TestChecksOfPolicies sees every check fail.
func TestChecksOfPolicies(t *testing.T) {
	unit := policyArm().results[0].StandardError
	for name, c := range map[string]struct {
		change func(a *arm)
		want   string // "": all is well
	}{
		"all is well": {func(*arm) {}, ""},
		"few kills":   {func(a *arm) { a.each(func(i int, r *evaluation.Result) { r.Sessions = 1 + i%2 }) }, "killed under way"},
		"asked again": {func(a *arm) { a.each(func(_ int, r *evaluation.Result) { r.Losses.AskedAgain = 1 }) }, "none asked again"},
		"none lost":   {func(a *arm) { a.each(func(_ int, r *evaluation.Result) { r.Losses.Continued = 0 }) }, "none asked again"},
		"biased":      {func(a *arm) { a.each(func(_ int, r *evaluation.Result) { r.Estimate += 0.3 * unit }) }, "no bias"},
		"too certain": {func(a *arm) {
			a.each(func(i int, r *evaluation.Result) {
				if i%10 == 0 {
					r.Interval = [2]float64{0.9, 1}
				}
			})
		}, "coverage is 94%"},
		"too careful": {func(a *arm) { a.each(func(_ int, r *evaluation.Result) { r.Interval = [2]float64{0, 1} }) }, ""},
		"the forecast of another policy": {func(a *arm) {
			a.setup.Policy, a.setup.Design = policy.Staged.Name, evaluation.Design{Pilots: 3, Weight: 0.4, Fractions: []float64{0.4, 1}}
		}, "variance is as predicted"},
		"on target":              {func(a *arm) { a.target = unit }, ""},
		"another target":         {func(a *arm) { a.target = 1.3 * unit }, "a standard error"},
		"too many rollouts":      {func(a *arm) { a.target = unit; a.each(func(_ int, r *evaluation.Result) { r.Rollouts = 72 }) }, "a standard error"},
		"a target that is meant": {func(a *arm) { a.target = unit; a.each(func(_ int, r *evaluation.Result) { r.StandardError *= 1.2 }) }, "a standard error"},
	} {
		a := policyArm()
		c.change(a)
		predicted, err := forecast{profile: a.profile, setup: a.setup, reference: reference(t), draws: forecastDraws, seed: 1}.predict(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := []*row{a.row(predicted)}
		var out bytes.Buffer
		policyTables(&lab.Lab{Stdout: &out}, rows)
		if !strings.Contains(out.String(), "| Uniform | ") || !strings.Contains(out.String(), "| 0.20 | 0.30 |") {
			t.Errorf("%s:\n%s", name, out.String())
		}
		faulted(t, name, policyChecks(rows), c.want)
	}
}

func TestMedianAndMost(t *testing.T) {
	if median, most := medianAndMost([]float64{3, 1, 2}); median != 2 || most != 3 {
		t.Errorf("%v, %v", median, most)
	}
	if median, most := medianAndMost(nil); !math.IsNaN(median) || !math.IsNaN(most) {
		t.Errorf("of none %v, %v", median, most)
	}
}

// lossRow is evaluations of the uncertain benchmark with a bias, of which so many
// intervals miss the truth, whose losses state so much.
func lossRow(bias float64, missed int, continued, again float64, tooHigh float64) *row {
	p := uncertain()
	truth := p.Mean()
	var results []*evaluation.Result
	for i := range 500 {
		r := &evaluation.Result{Estimate: truth + bias + 0.05*float64(2*(i%2)-1), StandardError: 0.05, Interval: [2]float64{truth - 0.1, truth + 0.1}}
		if i < missed {
			r.Interval[0] = truth + 0.001
		}
		results = append(results, r)
	}
	r := newRow("made", lossBudget, p, results, 0)
	r.continued, r.again, r.tooHigh, r.tooLow = continued, again, tooHigh, tooHigh
	return r
}

func TestChecksOfLosses(t *testing.T) {
	asked, continued := func() *row { return lossRow(0.04, 100, 0, 30, 0.1) }, func() *row { return lossRow(0.001, 26, 25, 0, 0) }
	for _, c := range []struct {
		asked, continued *row
		want             string // "": all is well
	}{
		{asked(), continued(), ""},
		{lossRow(0.004, 100, 0, 30, 0.1), continued(), "asked again, the mean is biased"},
		{lossRow(0.04, 100, 0, 30, 0.02), continued(), "no more than the results state"},
		{asked(), lossRow(0.01, 26, 25, 0, 0), "no bias"},
		{asked(), lossRow(0.001, 60, 25, 0, 0), "coverage is 93–97%"},
		{asked(), lossRow(0.001, 26, 25, 0.1, 0), "have no rollout asked again"},
		{asked(), lossRow(0.001, 26, 0, 0, 0), "have no rollout asked again"},
		{lossRow(0.04, 100, 0, 0, 0.1), continued(), "have no rollout asked again"},
	} {
		lossTable(&lab.Lab{Stdout: &bytes.Buffer{}}, []*row{c.asked, c.continued})
		faulted(t, c.want, lossChecks(c.asked, c.continued), c.want)
	}
}
