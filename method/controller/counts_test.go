package controller_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/method/controller"
	"speceval/method/neyman"
)

// execute runs an evaluation whose rewards follow from the ids, with 16 rollouts at a
// time that complete in an order drawn from a seed, and what is surplus aborted.
func execute(t *testing.T, s controller.Settings, reward func(controller.ID) float64, order uint64) *controller.Controller {
	t.Helper()
	c, err := controller.New(s)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(order, 1))
	for running := []controller.ID(nil); !c.Done(); {
		for len(running) < 16 {
			id, ok := c.Next()
			if !ok {
				break
			}
			running = append(running, id)
		}
		at := random.IntN(len(running))
		id := running[at]
		running = slices.Delete(running, at, at+1)
		released, err := c.Rewarded(id, reward(id))
		if err != nil {
			t.Fatal(err)
		}
		if released {
			running = abort(c, running)
		}
		if p := c.Snapshot(); p != nil && random.Float64() < 0.7 {
			c.Apply(p)
		}
	}
	return c
}

func cold(t *testing.T) controller.Prior {
	t.Helper()
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	return controller.Cold(prior)
}

// graded rewards lie between 0 and 1; task 0's hardly vary, task 1's do.
func graded(id controller.ID) float64 {
	u := rand.New(rand.NewPCG(uint64(id.Task)<<40|uint64(id.Phase)<<32|uint64(id.Ordinal), 2)).Float64()
	switch id.Task {
	case 0:
		return 0.5 + 0.01*u
	case 1:
		return math.Round(u)
	}
	return u / 3
}

// TestGradedRewardsAnyOrder has the same estimate and allocation, to the bit, whatever
// the order that rewards come in, and spends on the task whose rewards vary.
func TestGradedRewardsAnyOrder(t *testing.T) {
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 24, Pilots: 4, Weight: 0.2, Fractions: []float64{0.3, 0.5, 1}, Prior: cold(t)}
	first := execute(t, s, graded, 1)
	for order := range uint64(20) {
		c := execute(t, s, graded, order+2)
		if c.Estimate() != first.Estimate() || !slices.Equal(c.Allocation(), first.Allocation()) {
			t.Fatalf("%v by %v, in another order %v by %v", first.Estimate(), first.Allocation(), c.Estimate(), c.Allocation())
		}
	}
	if l := first.Allocation(); l[0] >= l[2] || l[1] < 2*l[2] {
		t.Errorf("the allocation is %v: want least for task 0 and most for task 1", l)
	}
	s.Policy = controller.Uniform
	if a, b := execute(t, s, graded, 3), execute(t, s, graded, 4); a.Estimate() != b.Estimate() {
		t.Errorf("uniform: %v, in another order %v", a.Estimate(), b.Estimate())
	}
	c, err := controller.New(s)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := c.Next()
	for _, reward := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := c.Rewarded(id, reward); err == nil {
			t.Errorf("a reward of %v goes through", reward)
		}
	}
}

// TestWhatIsLeftIsDecidedAtBarriers doubles what is left after the pilot, and halves it
// after the next stage.
func TestWhatIsLeftIsDecidedAtBarriers(t *testing.T) {
	var seen []int
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 10, Pilots: 2, Weight: 0.2, Fractions: []float64{0.5, 1}, Prior: cold(t)}
	s.Remaining = func(b controller.Barrier) int {
		seen = append(seen, b.Left)
		if b.Stages == 1 {
			return 2 * b.Left
		}
		return 0 // too few
	}
	c := execute(t, s, graded, 1)
	total := 0
	for i, n := range c.Allocation() {
		total += n
		if len(c.Observed()) != 3 || c.Observed()[1].Sizes[i] < 1 {
			t.Errorf("the stages are %v", c.Observed())
		}
	}
	if !slices.Equal(seen[:1], []int{48}) || total < 48 || total > 48+12 || len(seen) != 2 {
		t.Errorf("%d continuations, with %v left at barriers", total, seen)
	}
}

// TestAnEvaluationIsExtended adds 30 rollouts to one that is complete.
func TestAnEvaluationIsExtended(t *testing.T) {
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 8, Pilots: 2, Weight: 0.2, Prior: cold(t)}
	first := execute(t, s, graded, 1)
	past := &controller.Past{Counts: make([]controller.Count, 6)}
	sums := make([]float64, 6)
	for i := range sums {
		n := 2 + first.Allocation()[i]
		for k := range n {
			id := controller.ID{Task: int32(i), Phase: controller.Pilot, Ordinal: int32(k + 1)}
			if k >= 2 {
				id.Phase, id.Ordinal = controller.Continuation, int32(k-1)
			}
			past.Counts[i].Rollouts++
			past.Counts[i].Rewards += graded(id)
			past.Counts[i].Squares += graded(id) * graded(id)
		}
	}
	past.Means, past.Shrinkage = first.Means(), first.Shrinkage()
	s.Past, s.Left, s.Weight, s.Fractions = past, 30, 0.55, []float64{0.4, 1}
	later := func(id controller.ID) float64 {
		return graded(controller.ID{Task: id.Task, Phase: 2, Ordinal: id.Ordinal})
	}
	c := execute(t, s, later, 5)
	total := 0
	for i, n := range c.Allocation() {
		total += n
		at, mean := int32(1), 0.0
		for _, stage := range c.Observed()[1:] {
			sum := 0.0
			for range stage.Sizes[i] {
				sum += later(controller.ID{Task: int32(i), Phase: controller.Continuation, Ordinal: at})
				at++
			}
			if stage.Sizes[i] > 0 {
				mean += stage.Weights[i] * sum / float64(stage.Sizes[i])
			}
		}
		sums[i] = 0.55*past.Means[i] + mean
		if got := c.Means()[i]; math.Abs(got-sums[i]) > 1e-15 {
			t.Errorf("task %d is %v, want %v", i, got, sums[i])
		}
		if c.Shrinkage()[i] <= 0.55*0.55*past.Shrinkage[i] {
			t.Errorf("task %d: the shrinkage %v lacks something", i, c.Shrinkage()[i])
		}
	}
	if total != 30 || len(c.Observed()) != 3 {
		t.Errorf("%d further rollouts in %d stages", total, len(c.Observed()))
	}
	past.Counts[3].Rewards = -1
	if _, err := controller.New(s); err == nil {
		t.Error("rewards below 0 go through")
	}
	s.Past.Counts = s.Past.Counts[:2]
	if _, err := controller.New(s); err == nil {
		t.Error("an evaluation of other tasks goes through")
	}
}
