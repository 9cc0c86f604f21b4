package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/drills/evaluated"
	"speceval/internal/evaluation"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

func TestDonors(t *testing.T) {
	p := made()
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

// TestArmsOfPolicies wants every kind at both budgets, folders of their own, and the
// small drill to have one budget.
func TestArmsOfPolicies(t *testing.T) {
	for small, want := range map[bool]string{
		true:  "uniform 8, hbn-async 8, hbn_staged 8 then 16, hbn_informed_staged 8, hbn_informed_staged 8, hbn_staged to 0.02, hbn_informed_staged to 0.02",
		false: "uniform 8, hbn-async 8, hbn_staged 8 then 16, hbn_informed_staged 8, hbn_informed_staged 8, uniform 16, hbn-async 16, hbn_staged 16, hbn_informed_staged 16, hbn_informed_staged 16, hbn_staged to 0.02, hbn_informed_staged to 0.02",
	} {
		l := &lab{options: options{small: small, jobs: 1}, dir: "lab", profiles: []profile.Profile{made()}, budgets: []int{8, 16}, urls: []string{"a", "b"}}
		var all []string
		folders := map[string]bool{}
		for _, a := range l.policyArms(donorFiles{"good", "bad"}) {
			o := l.armed(a, 0, 3)
			said := fmt.Sprintf("%s %d", o.Policy, o.Budget)
			if o.TargetSE > 0 {
				said = fmt.Sprintf("%s to %g", o.Policy, o.TargetSE)
			}
			if a.then != nil {
				next := l.armed(a.then, 0, 3)
				said += fmt.Sprintf(" then %d", next.Budget)
				if next.Extended().Name() != o.Name() || a.then.extended != a || a.then.out != a.out {
					t.Errorf("%s extends %s, not %s", next.Name(), next.Extended().Name(), o.Name())
				}
			}
			if knows := slices.Contains(o.Flags, "--prior"); knows != (o.Policy == policy.InformedStaged[0].Name) || folders[a.out] || o.Seed != 4 {
				t.Errorf("%s in %s with %v", o.Name(), a.out, o.Flags)
			}
			folders[a.out] = true
			all = append(all, said)
		}
		if got := strings.Join(all, ", "); got != want {
			t.Errorf("small %v: %s\nwant %s", small, got, want)
		}
	}
}

// TestArmsHaveOneDesign: a forecast is of the design of all evaluations.
func TestArmsHaveOneDesign(t *testing.T) {
	a := &arm{series: *seriesOf(evaluated.Async, 3, 0, 0)}
	setup := func(pilots int) *evaluation.Setup {
		return &evaluation.Setup{Design: evaluation.Design{Pilots: pilots}}
	}
	r := &evaluated.Result{Startup: 0.25, Seconds: 2}
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
	s := seriesOf(evaluated.Uniform, 600, 0, 0)
	for _, r := range s.results {
		r.Sessions, r.Rollouts, r.Losses.Continued, r.Startup = 2, 64, 20, 0.1
	}
	return &arm{
		series: *s, what: "Uniform", startups: []float64{0.1, 0.3, 0.2},
		setup: &evaluation.Setup{Policy: evaluated.Uniform, Budget: 8, TaskIDs: s.profile.TaskIDs, Design: evaluation.Design{Pilots: 8, Weight: 1}},
	}
}

// TestChecksOfPolicies sees every check fail.
func TestChecksOfPolicies(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{prior: prior}
	unit := policyArm().results[0].StandardError
	each := func(a *arm, do func(i int, r *evaluated.Result)) {
		for i, r := range a.results {
			do(i, r)
		}
	}
	for name, c := range map[string]struct {
		change func(a *arm)
		want   string // "": all is well
	}{
		"all is well": {func(*arm) {}, ""},
		"few kills":   {func(a *arm) { each(a, func(i int, r *evaluated.Result) { r.Sessions = 1 + i%2 }) }, "killed under way"},
		"asked again": {func(a *arm) { each(a, func(_ int, r *evaluated.Result) { r.Losses.AskedAgain = 1 }) }, "none asked again"},
		"none lost":   {func(a *arm) { each(a, func(_ int, r *evaluated.Result) { r.Losses.Continued = 0 }) }, "none asked again"},
		"biased":      {func(a *arm) { each(a, func(_ int, r *evaluated.Result) { r.Estimate += 0.3 * unit }) }, "no bias"},
		"too certain": {func(a *arm) {
			each(a, func(i int, r *evaluated.Result) {
				if i%10 == 0 {
					r.Interval = [2]float64{0.9, 1}
				}
			})
		}, "coverage is 94%"},
		"too careful": {func(a *arm) { each(a, func(_ int, r *evaluated.Result) { r.Interval = [2]float64{0, 1} }) }, ""},
		"the forecast of another policy": {func(a *arm) {
			a.setup.Policy, a.setup.Design = policy.Staged.Name, evaluation.Design{Pilots: 3, Weight: 0.4, Fractions: []float64{0.4, 1}}
		}, "variance is as forecast"},
		"on target":              {func(a *arm) { a.target = unit }, ""},
		"another target":         {func(a *arm) { a.target = 1.3 * unit }, "a standard error"},
		"too many rollouts":      {func(a *arm) { a.target = unit; each(a, func(_ int, r *evaluated.Result) { r.Rollouts = 72 }) }, "a standard error"},
		"a target that is meant": {func(a *arm) { a.target = unit; each(a, func(_ int, r *evaluated.Result) { r.StandardError *= 1.2 }) }, "a standard error"},
	} {
		a := policyArm()
		c.change(a)
		a.sum()
		r, err := l.policyRow(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := policyTable(&out, []policyRow{r}); err != nil || !strings.Contains(out.String(), "| Uniform | ") || !strings.Contains(out.String(), "| 0.20 | 0.30 |") {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
		err = checkPolicies(&out, []policyRow{r})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

func TestMiddle(t *testing.T) {
	if median, most := middle([]float64{3, 1, 2}); median != 2 || most != 3 {
		t.Errorf("%v, %v", median, most)
	}
	if median, most := middle(nil); !math.IsNaN(median) || !math.IsNaN(most) {
		t.Errorf("of none %v, %v", median, most)
	}
}
