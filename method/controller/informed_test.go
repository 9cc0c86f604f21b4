package controller_test

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/seed"
	"speceval/method/controller"
	"speceval/method/informed"
	"speceval/method/staged"
)

// informedCase is tasks, and a prior that knows a donor.
func informedCase(t *testing.T, random *seed.Stream) (ps []float64, prior *informed.Prior) {
	t.Helper()
	donor := informed.Donor{Name: "d"}
	for range 2 + int(random.Float64()*20) {
		p := random.Float64()
		ps = append(ps, p)
		donor.Passes, donor.Rollouts = append(donor.Passes, int(32*p)), append(donor.Rollouts, 32)
	}
	prior, err := informed.New(len(ps), []informed.Donor{donor})
	if err != nil {
		t.Fatal(err)
	}
	return ps, prior
}

// TestStagesAreThoseOfTheReplay executes evaluations under an informed prior, with
// rollouts that complete in any order, and decides them again stage by stage as
// internal/trial does: sizes and weights are the same to the bit.
func TestStagesAreThoseOfTheReplay(t *testing.T) {
	for trial := range 40 {
		random := seed.Root(uint64(trial)).Child("informed").Stream()
		ps, prior := informedCase(t, &random)
		plan := staged.Plan{Pilots: 2, Weight: 0.3, Fractions: []float64{0.3, 0.4, 1}}
		stream := random.Fork()
		reward := func(id controller.ID) bool {
			own := stream.At(uint64(id.Task)<<33 | uint64(id.Phase)<<32 | uint64(id.Ordinal))
			return own.Float64() < ps[id.Task]
		}
		c, err := controller.New(controller.Settings{
			Policy: controller.Async, Tasks: len(ps), Budget: 12, Pilots: plan.Pilots, Weight: plan.Weight, Fractions: plan.Fractions,
			Prior: controller.Informed(prior),
		})
		if err != nil {
			t.Fatal(err)
		}
		for running := []controller.ID(nil); !c.Done(); {
			for len(running) < 16 {
				id, ok := c.Next()
				if !ok {
					break
				}
				running = append(running, id)
			}
			at := int(random.Float64() * float64(len(running)))
			id := running[at]
			running = slices.Delete(running, at, at+1)
			if _, err := c.Completed(id, reward(id)); err != nil {
				t.Fatal(err)
			}
			if p := c.Snapshot(); p != nil && random.Float64() < 0.7 {
				c.Apply(p)
			}
		}
		stages, err := staged.New(len(ps), 12, plan)
		if err != nil {
			t.Fatal(err)
		}
		posterior, scores := prior.Posterior(), make([]float64, len(ps))
		asked := make([]int, len(ps))
		for k, got := range c.Observed() {
			if !slices.Equal(got.Sizes, stages.Sizes()) || !slices.Equal(got.Weights, stages.Weights()) {
				t.Fatalf("trial %d, stage %d: %v, want %v and %v", trial, k, got, stages.Sizes(), stages.Weights())
			}
			passes := make([]int, len(ps))
			for i, n := range got.Sizes {
				for range n {
					asked[i]++
					id := controller.ID{Task: int32(i), Phase: controller.Pilot, Ordinal: int32(asked[i])}
					if k > 0 {
						id.Phase, id.Ordinal = controller.Continuation, int32(asked[i]-plan.Pilots)
					}
					if reward(id) {
						passes[i]++
					}
				}
			}
			if err := stages.Observe(passes); err != nil {
				t.Fatal(err)
			}
			if stages.Done() {
				break
			}
			if err := posterior.Observe(got.Sizes, passes); err != nil {
				t.Fatal(err)
			}
			posterior.Scores(scores)
			if err := stages.Decide(scores); err != nil {
				t.Fatal(err)
			}
		}
		if !stages.Done() || stages.Mean() != c.Estimate() {
			t.Errorf("trial %d: the estimate is %v, want %v", trial, c.Estimate(), stages.Mean())
		}
	}
}

// TestInformedScoresBeginAnew asks one posterior for counts that are no continuation of
// the last ones, and for counts that are none.
func TestInformedScoresBeginAnew(t *testing.T) {
	random := seed.Root(7).Stream()
	ps, prior := informedCase(t, &random)
	of := func(p controller.Posterior, n, passes int) []float64 {
		scores := make([]float64, len(ps))
		p.Scores(slices.Repeat([]int{n}, len(ps)), slices.Repeat([]int{passes}, len(ps)), scores)
		return scores
	}
	fresh := func() controller.Posterior { return controller.Informed(prior).Posterior(2) }
	q := fresh()
	for _, c := range [][2]int{{0, 0}, {4, 3}, {4, 3}, {2, 1}, {2, 2}, {0, 0}} {
		if got, want := of(q, c[0], c[1]), of(fresh(), c[0], c[1]); !slices.Equal(got, want) {
			t.Errorf("%d of %d: %v, from the beginning %v", c[1], c[0], got, want)
		}
	}
	for name, scores := range map[string][]float64{"more passes than rollouts": of(q, 1, 2), "fewer than none": of(q, -1, 0)} {
		if !math.IsNaN(scores[0]) {
			t.Errorf("%s: scores %v", name, scores)
		}
	}
	scores := make([]float64, 1)
	if q.Scores([]int{1}, []int{1}, scores); !math.IsNaN(scores[0]) {
		t.Errorf("counts of one task of %d: score %v", len(ps), scores[0])
	}
}
