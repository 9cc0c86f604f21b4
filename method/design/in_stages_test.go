package design_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/method/design"
	"speceval/method/informed"
)

func reference(t *testing.T, tasks int, donors ...informed.Donor) *informed.Prior {
	t.Helper()
	p, err := informed.New(tasks, donors)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTwoStagesHaveHBNsRisk compares the risk of a design in two stages with that of
// HBN's, at 5 standard errors.
func TestTwoStagesHaveHBNsRisk(t *testing.T) {
	d, err := design.ComputeInStages(t.Context(), design.StagesSettings{Prior: reference(t, 30), Budget: 16, Stages: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	curve, err := design.Curve(t.Context(), design.Settings{Tasks: 30, Budget: 16, Panels: 512, Replicates: 4})
	if err != nil {
		t.Fatal(err)
	}
	hbn := curve[slices.IndexFunc(curve, func(c design.Design) bool { return c.Pilots == d.Plan.Pilots })]
	if away := math.Abs(d.Risk - hbn.Risk); away > 5*math.Hypot(d.RiskSE, hbn.RiskSE) || !(d.RiskSE > 0) {
		t.Errorf("m = %d: risk %v ± %v, HBN's %v ± %v", d.Plan.Pilots, d.Risk, d.RiskSE, hbn.Risk, hbn.RiskSE)
	}
}

// TestWhatIsKnownIsWorthSomething wants the risk to fall with more stages, and with an
// earlier run of the same model.
func TestWhatIsKnownIsWorthSomething(t *testing.T) {
	passes := make([]int, 60)
	for i := range passes {
		passes[i] = []int{0, 64, 60, 2, 30, 64}[i%6]
	}
	donor := informed.Donor{Name: "earlier", Passes: passes, Rollouts: slices.Repeat([]int{64}, 60)}
	last := 1.0
	for _, s := range []design.StagesSettings{
		{Prior: reference(t, 60), Stages: 2}, {Prior: reference(t, 60), Stages: 5}, {Prior: reference(t, 60, donor), Stages: 5},
	} {
		s.Budget, s.Panels, s.Replicates = 16, 64, 4
		d, err := design.ComputeInStages(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Risk >= last || d.Plan.Stages() != s.Stages || d.Tasks != 60 || d.Budget != 16 {
			t.Errorf("%+v after a risk of %v", d, last)
		}
		last = d.Risk
	}
}

func TestStagesAreChecked(t *testing.T) {
	for want, s := range map[string]design.StagesSettings{
		"need a prior":     {Budget: 8, Stages: 3},
		"1 stages":         {Prior: reference(t, 3), Budget: 8, Stages: 1},
		"budget of 1":      {Prior: reference(t, 3), Budget: 1, Stages: 2},
		"-1 panels":        {Prior: reference(t, 3), Budget: 8, Stages: 2, Panels: -1},
		"2000 replicates":  {Prior: reference(t, 3), Budget: 8, Stages: 2, Replicates: 2000},
		"a budget of 5000": {Prior: reference(t, 3), Budget: 5000, Stages: 2},
	} {
		if _, err := design.ComputeInStages(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if d, err := design.ComputeInStages(t.Context(), design.StagesSettings{Prior: reference(t, 1), Budget: 2, Stages: 4}); err != nil || d.Plan.Pilots != 1 {
		t.Errorf("one task: %+v, %v", d, err)
	}
}
