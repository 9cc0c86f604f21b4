package policy_test

import (
	"math"
	"regexp"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/policytest"
	"speceval/internal/policy/seed"
)

// TestENCoefficientsMatchEnumeration compares EN's continuation coefficients on a
// fixed profile with their exact expectations.
func TestENCoefficientsMatchEnumeration(t *testing.T) {
	p := []float64{0.5, 0.0625, 0.9375, 0}
	cs := pilot.AllCandidates([]int{4, 6})
	got, err := policy.EN.Design.OnProfile(t.Context(), p, cs, 20_000, seed.Root(8).Stream())
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range cs {
		mean, se := pilot.MeanAndError(got[k])
		want := policytest.Coefficient(t, p, c.M, c.Budget, policytest.ByTask(t, policy.EN.Name, 0))
		if math.Abs(mean-want) > 15*se+1e-12 || se > 0.02*want {
			t.Errorf("b = %d, m = %d: C = %v ± %v, exactly %v", c.Budget, c.M, mean, se, want)
		}
	}
}

// TestNamesTellPoliciesApart checks what files and LaTeX need of the names:
// that they differ, and that those of commands have letters only.
func TestNamesTellPoliciesApart(t *testing.T) {
	seen := map[string]bool{}
	take := func(kind, name, form string) {
		if !regexp.MustCompile(form).MatchString(name) {
			t.Errorf("%s %q is not of the form %s", kind, name, form)
		}
		if seen[kind+name] {
			t.Errorf("there are two of %s %q", kind, name)
		}
		seen[kind+name] = true
	}
	for i, p := range append(policy.List{policy.Uniform}, policy.All...) {
		take("key", p.Key().String(), "^[a-z]+(_[a-z]+)*( [a-z]+[0-9]*)?$")
		take("title", p.Title(), ".")
		take("macro", p.Macro, "^[A-Za-z]+$")
		if found := policy.All.Find(p.Key()); policy.All.Order(p.Key()) != i-1 || i > 0 && found != p || i == 0 && found != nil {
			t.Errorf("%s is found as %v, at place %d", p.Key(), found, policy.All.Order(p.Key()))
		}
	}
	for _, d := range policy.AllDonors {
		take("donors", d.Name, "^[a-z]+[0-9]*$")
		take("label of donors", d.Label, ".")
		take("macro of donors", d.Macro, "^[A-Za-z]*$")
	}
	for _, s := range policy.Strategies {
		take("strategy", s.Name, "^[a-z]+(-[a-z]+)*$")
		take("label of strategy", s.Label, ".")
		if policy.FindStrategy(s.Name) != s || s.Policy != policy.Uniform && policy.All.Find(s.Policy.Key()) != s.Policy {
			t.Errorf("%s is found as %v, of %v", s.Name, policy.FindStrategy(s.Name), s.Policy)
		}
		if !s.Equivalent && s.Name != s.Controller.String() {
			t.Errorf("%s is executed by the controller as %s", s.Name, s.Controller)
		}
	}
}

// TestEveryPolicySaysHowItSpends wants one of the four forms of each, with a form of
// scores and a source of designs where they belong.
func TestEveryPolicySaysHowItSpends(t *testing.T) {
	count := func(are ...bool) (n int) {
		for _, is := range are {
			if is {
				n++
			}
		}
		return n
	}
	for _, p := range append(policy.List{policy.Uniform}, policy.All...) {
		if count(p.Fixed != nil, p.TwoStage != nil, p.InStages != nil, p.Sequential != nil) != 1 {
			t.Errorf("%s has no single form", p.Name)
		}
		if two := p.TwoStage; two != nil && count(two.Folded != nil, two.Scores != nil) != 1 {
			t.Errorf("%s has no single form of scores", p.Name)
		}
		d := p.Design
		if sources := count(d.OnPanels != nil, d.OnProfile != nil, d.As != nil, d.OnDonors); sources > 1 || (sources == 1) != p.HasDesign() {
			t.Errorf("%s has no single source of designs", p.Name)
		}
		if estimated := d.OnPanels != nil || d.OnProfile != nil; estimated && (d.Unit == "" || d.Seconds == nil) || p.Strength && d.OnProfile != nil {
			t.Errorf("the design of %s is incomplete: %+v", p.Name, d)
		}
		if d.OnDonors != (p.Donors != policy.None) {
			t.Errorf("%s is not designed by what it knows", p.Name)
		}
	}
}

// TestStagesFollowRolloutsPerPlace has more of them where a barrier costs less.
func TestStagesFollowRolloutsPerPlace(t *testing.T) {
	for _, w := range policy.Executions {
		for rollouts, want := range map[int]int{39: 1, 40: 2, 79: 2, 80: 4} {
			if !w.Adapts {
				want = 1
			}
			if got := w.After(rollouts, 10); got != want {
				t.Errorf("%s: %d stages after the pilot for %d rollouts in 10 places, want %d", w.Name, got, rollouts, want)
			}
		}
	}
}
