package evaluations

import (
	"fmt"
	"math"
	"testing"

	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/design"
	"speceval/method/neyman"
)

// spread is a profile of 40 tasks, of which most pass nearly always or never, and a
// donor whose logits are shifted by noise.
func spread(model string, noise float64) profile.Profile {
	p := profile.Profile{Benchmark: "quiz", Model: model, TestedK: 1024}
	for i := range 40 {
		logit := 5*math.Sin(float64(7*i)) - 1 + noise*math.Cos(float64(11*i))
		p.TaskIDs = append(p.TaskIDs, fmt.Sprint(i))
		p.PassCounts = append(p.PassCounts, int(math.Round(1024/(1+math.Exp(-logit)))))
	}
	return p
}

// quick are designs of low precision.
func quick(t *testing.T, donors ...profile.Profile) designs {
	return designs{
		profile: spread("m", 0), donors: donors, draws: 1000, seed: 42, reference: reference(t),
		precision: design.StagesSettings{Panels: 32, Replicates: 2},
	}
}

// TestPredictionIsTheReplays holds HBN's prediction to the replay's own engine under the
// same design, within 5 standard errors of both.
func TestPredictionIsTheReplays(t *testing.T) {
	r := quick(t)
	for _, budget := range []int{8, 16} {
		setup, err := r.setup(t.Context(), async, budget)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.predict(t.Context(), async, budget)
		if err != nil {
			t.Fatal(err)
		}
		want, se := swept(t, r.profile, budget, setup.Design)
		if z := (got.Ratio - want) / math.Hypot(got.SE, se); math.Abs(z) > 5 || got.SE > 0.01 || got.SE == 0 {
			t.Errorf("b = %d, m = %d: %v ± %v, by the replay's engine %v ± %v", budget, setup.Design.Pilots, got.Ratio, got.SE, want, se)
		}
	}
}

// swept replays HBN in two stages by the engine of the replay stage.
func swept(t *testing.T, p profile.Profile, budget int, of evaluation.Design) (mean, se float64) {
	t.Helper()
	prior := reference(t)
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	const draws = 2000
	sum, squares := 0.0, 0.0
	bench := policy.Bench{Prior: prior}
	err := pilot.Each(t.Context(), ps, draws, of.Pilots, pilot.OneStream(seed.Root(3).Stream()), func(sw *pilot.Sweep, _ int) error {
		for sw.M() < of.Pilots {
			sw.Advance()
		}
		c := policy.HBN.TwoStage.Continuation(&bench, policy.Setting{Tasks: p.N(), Budget: budget, M: of.Pilots})
		for draw := range sw.Draws() {
			ratio := neyman.Risk(budget, of.Pilots, of.Weight, c.Value(sw, draw, budget)/sw.Total())
			sum, squares = sum+ratio, squares+ratio*ratio
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mean = sum / draws
	return mean, math.Sqrt((squares/draws - mean*mean) / draws)
}

// TestDonorsAndStagesHelp wants what they are for: a donor that is near lowers the
// variance, and so do more stages.
func TestDonorsAndStagesHelp(t *testing.T) {
	r := quick(t, spread("earlier", 0.5))
	ratio := map[string]prediction{}
	for _, name := range []string{"uniform", "hbn", "hbn_staged", "hbn_informed", "hbn_informed_staged"} {
		p, err := r.predict(t.Context(), name, 16)
		if err != nil {
			t.Fatal(err)
		}
		ratio[name] = p
	}
	if u := ratio["uniform"]; u != (prediction{Ratio: 1, Spent: 16}) {
		t.Errorf("Uniform: %+v", u)
	}
	for _, less := range [][2]string{{"hbn", "uniform"}, {"hbn_staged", "hbn"}, {"hbn_informed", "hbn"}, {"hbn_informed_staged", "hbn_staged"}} {
		a, b := ratio[less[0]], ratio[less[1]]
		if a.Ratio+3*math.Hypot(a.SE, b.SE) > b.Ratio {
			t.Errorf("%s has %v ± %v, %s %v ± %v", less[0], a.Ratio, a.SE, less[1], b.Ratio, b.SE)
		}
	}
}

func TestPredictionsThatCannotBe(t *testing.T) {
	other := spread("n", 1)
	other.Benchmark = "another"
	for name, r := range map[string]designs{"en": quick(t), "hbn_loo": quick(t), "hbn_informed": quick(t), "hbn_informed_staged": quick(t, other)} {
		if p, err := r.predict(t.Context(), name, 8); err == nil {
			t.Errorf("%s is predicted: %+v", name, p)
		}
	}
	if p, err := quick(t).predict(t.Context(), "hbn", 1); err == nil {
		t.Errorf("a budget of 1 is predicted: %+v", p)
	}
}
