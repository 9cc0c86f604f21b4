package design_test

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"speceval/method/design"
	"speceval/method/informed"
)

// TestProcessorsChangeNothing computes the same bits on any number of processors.
func TestProcessorsChangeNothing(t *testing.T) {
	s := design.Settings{Tasks: 7, Budget: 9, Panels: 100, Replicates: 3, Seed: 5}
	want := must(design.Compute(t.Context(), s))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 8} {
		runtime.GOMAXPROCS(processors)
		if got, err := design.Compute(t.Context(), s); err != nil || got != want {
			t.Errorf("%d processors: %+v, %v, want %+v", processors, got, err, want)
		}
	}
	s.Seed++
	if got, _ := design.Compute(t.Context(), s); got.Risk == want.Risk {
		t.Error("another seed draws the same panels")
	}
}

// TestLargeBudgetsTakeSteps considers every pilot size up to 64, and beyond it up
// to 4·b^⅔ in steps of at most a thirty-second.
func TestLargeBudgetsTakeSteps(t *testing.T) {
	curve := must(design.Curve(t.Context(), design.Settings{Tasks: 5, Budget: 300, Panels: 2, Replicates: 1}))
	last := 0
	for _, d := range curve {
		if d.Pilots <= last || d.Pilots > last+1 && (last < 64 || d.Pilots-last > last/32) {
			t.Errorf("pilot size %d comes after %d", d.Pilots, last)
		}
		last = d.Pilots
		if !math.IsNaN(d.RiskSE) {
			t.Errorf("one replicate has the error %v", d.RiskSE)
		}
	}
	if bound := 4 * math.Pow(300, 2.0/3); float64(last) > bound || float64(last) < bound*31/32 {
		t.Errorf("the sizes end at %d, want nearly %v", last, bound)
	}
}

func reference(t *testing.T, tasks int, donors ...informed.Donor) informed.Suite {
	t.Helper()
	p := must(informed.New(tasks, donors))
	return informed.Suite{p}
}

// TestTwoStagesHaveHBNsRisk compares the risk of a design in two stages with that of
// HBN's, at 5 standard errors.
func TestTwoStagesHaveHBNsRisk(t *testing.T) {
	d := must(design.ComputeInStages(t.Context(), design.StagesSettings{Prior: reference(t, 30), Budget: 16, Stages: 2, Seed: 1}))
	curve := must(design.Curve(t.Context(), design.Settings{Tasks: 30, Budget: 16, Panels: 512, Replicates: 4}))
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
		d := must(design.ComputeInStages(t.Context(), s))
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

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
