package evaluated_test

import (
	"fmt"
	"math"
	"testing"

	"speceval/drills/evaluated"
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

// quick is a replay with designs of low precision.
func quick(donors ...profile.Profile) evaluated.Replay {
	return evaluated.Replay{
		Profile: spread("m", 0), Donors: donors, Draws: 1000, Seed: 42,
		Precision: design.StagesSettings{Panels: 32, Replicates: 2},
	}
}

// TestPredictionIsTheReplays holds HBN's prediction to the replay's own engine under the
// same design, within 5 standard errors of both.
func TestPredictionIsTheReplays(t *testing.T) {
	r := quick()
	for _, budget := range []int{8, 16} {
		got, err := r.Predict(t.Context(), evaluated.Async, budget)
		if err != nil {
			t.Fatal(err)
		}
		want, se := swept(t, r.Profile, budget, got)
		if z := (got.Ratio - want) / math.Hypot(got.SE, se); math.Abs(z) > 5 || got.SE > 0.01 || got.SE == 0 {
			t.Errorf("b = %d, m = %d: %v ± %v, by the replay's engine %v ± %v", budget, got.Pilots, got.Ratio, got.SE, want, se)
		}
	}
}

// swept replays HBN in two stages by the engine of the replay stage.
func swept(t *testing.T, p profile.Profile, budget int, of evaluated.Prediction) (mean, se float64) {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	ps := make([]float64, p.N())
	for i := range ps {
		ps[i] = p.P(i)
	}
	const draws = 2000
	sum, squares := 0.0, 0.0
	bench := policy.Bench{Prior: prior}
	err = pilot.Each(t.Context(), ps, draws, of.Pilots, pilot.OneStream(seed.Root(3).Stream()), func(sw *pilot.Sweep, _ int) error {
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
	r := quick(spread("earlier", 0.5))
	ratio := map[string]evaluated.Prediction{}
	for _, name := range []string{"uniform", "hbn", "hbn_staged", "hbn_informed", "hbn_informed_staged"} {
		p, err := r.Predict(t.Context(), name, 16)
		if err != nil {
			t.Fatal(err)
		}
		ratio[name] = p
	}
	if u := ratio["uniform"]; u != (evaluated.Prediction{Pilots: 16, Weight: 1, Ratio: 1, Spent: 16}) {
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
	for name, r := range map[string]evaluated.Replay{"en": quick(), "hbn_loo": quick(), "hbn_informed": quick(), "hbn_informed_staged": quick(other)} {
		if p, err := r.Predict(t.Context(), name, 8); err == nil {
			t.Errorf("%s is predicted: %+v", name, p)
		}
	}
	if p, err := quick().Predict(t.Context(), "hbn", 1); err == nil {
		t.Errorf("a budget of 1 is predicted: %+v", p)
	}
}
