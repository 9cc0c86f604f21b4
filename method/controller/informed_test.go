package controller_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"speceval/internal/policy/seed"
	"speceval/method/controller"
	"speceval/method/informed"
	"speceval/method/neyman"
	"speceval/method/staged"
)

// A whole execution of HBN-async, with places for ten rollouts at a time that
// complete out of order. What fills the places while the last pilots run are
// continuations that may be needed; those that are not are surplus in the end.
func Example() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		panic(err)
	}
	const tasks, budget, places = 5, 8, 10
	c, err := controller.New(controller.Settings{
		Policy: controller.Async, Tasks: tasks, Budget: budget, Pilots: 4, Weight: 0.45, Prior: controller.Cold(prior),
	})
	if err != nil {
		panic(err)
	}
	// A model that solves tasks 0 and 1 always, 3 and 4 never, and 2 at times.
	reward := func(id controller.ID) bool { return id.Task < 2 || id.Task == 2 && id.Ordinal%3 != 0 }

	var running []controller.ID
	rollouts := 0
	for !c.Done() {
		for len(running) < places {
			id, ok := c.Next()
			if !ok {
				break
			}
			running = append(running, id)
			rollouts++
		}
		last := len(running) - 1
		at := (3 * rollouts) % (last + 1) // any order will do
		id := running[at]
		running = append(running[:at], running[at+1:]...)
		released, err := c.Completed(id, reward(id))
		if err != nil {
			panic(err)
		}
		if released {
			fmt.Println("allocation", c.Allocation())
			running = abort(c, running)
		} else if p := c.Snapshot(); p != nil {
			c.Apply(p) // what is speculated on follows the pilots that are there
		}
	}
	fmt.Printf("%d rollouts for %d that were budgeted\n", rollouts, tasks*budget)
	fmt.Printf("estimate %.3f\n", c.Estimate())
	// Output:
	// allocation [3 3 7 4 3]
	// 41 rollouts for 40 that were budgeted
	// estimate 0.546
}

// abort ends running rollouts that are not selected, and returns the others.
func abort(c *controller.Controller, running []controller.ID) []controller.ID {
	var kept []controller.ID
	for _, id := range running {
		if !c.Surplus(id) {
			kept = append(kept, id)
			continue
		}
		if err := c.Ended(id); err != nil {
			panic(err)
		}
	}
	return kept
}

// informedCase is tasks, and a prior that knows a donor.
func informedCase(t *testing.T, random *seed.Stream) (ps []float64, prior *informed.Prior) {
	t.Helper()
	donor := informed.Donor{Name: "d"}
	for range 2 + int(random.Float64()*20) {
		p := random.Float64()
		ps = append(ps, p)
		donor.Passes, donor.Rollouts = append(donor.Passes, int(32*p)), append(donor.Rollouts, 32)
	}
	prior = must(informed.New(len(ps), []informed.Donor{donor}))
	return ps, prior
}

// TestStagesAreThoseOfTheReplay executes evaluations under an informed prior, with
// rollouts that complete in any order, and decides them again stage by stage as
// internal/policy/pilot does: sizes and weights are the same to the bit.
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
		c := execute(t, controller.Settings{
			Policy: controller.Async, Tasks: len(ps), Budget: 12, Pilots: plan.Pilots, Weight: plan.Weight, Fractions: plan.Fractions,
			Prior: controller.Informed(prior),
		}, func(id controller.ID) float64 { return map[bool]float64{true: 1}[reward(id)] }, uint64(trial))
		stages := must(staged.New(len(ps), 12, plan))
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
			ok(t, stages.Observe(passes))
			if stages.Done() {
				break
			}
			ok(t, posterior.Observe(got.Sizes, passes))
			posterior.Scores(scores)
			ok(t, stages.Decide(scores))
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

// execute runs an evaluation whose rewards follow from the ids, with 16 rollouts at a
// time that complete in an order drawn from a seed, and what is surplus aborted.
func execute(t *testing.T, s controller.Settings, reward func(controller.ID) float64, order uint64) *controller.Controller {
	t.Helper()
	c := must(controller.New(s))
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
		if must(c.Rewarded(id, reward(id))) {
			running = abort(c, running)
		}
		if p := c.Snapshot(); p != nil && random.Float64() < 0.7 {
			c.Apply(p)
		}
	}
	return c
}

var cold = controller.Cold(must(neyman.NewPrior(16)))

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
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 24, Pilots: 4, Weight: 0.2, Fractions: []float64{0.3, 0.5, 1}, Prior: cold}
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
	c := must(controller.New(s))
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
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 10, Pilots: 2, Weight: 0.2, Fractions: []float64{0.5, 1}, Prior: cold}
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
	s := controller.Settings{Policy: controller.Async, Tasks: 6, Budget: 8, Pilots: 2, Weight: 0.2, Prior: cold}
	first := execute(t, s, graded, 1)
	past := &controller.Past{Counts: make([]controller.Count, 6)}
	for i := range past.Counts {
		mean, shrinkage := estimated(first.Observed(), i, func(k int) float64 {
			id := controller.ID{Task: int32(i), Phase: controller.Pilot, Ordinal: int32(k)}
			if k > 2 {
				id.Phase, id.Ordinal = controller.Continuation, int32(k-2)
			}
			past.Counts[i].Rollouts++
			past.Counts[i].Rewards += graded(id)
			past.Counts[i].Squares += graded(id) * graded(id)
			return graded(id)
		})
		past.Means, past.Shrinkage = append(past.Means, mean), append(past.Shrinkage, shrinkage)
	}
	s.Past, s.Left, s.Weight, s.Fractions = past, 30, 0.55, []float64{0.4, 1}
	later := func(id controller.ID) float64 {
		return graded(controller.ID{Task: id.Task, Phase: 2, Ordinal: id.Ordinal})
	}
	c := execute(t, s, later, 5)
	total, want := 0, 0.0
	for i, n := range c.Allocation() {
		total += n
		mean, _ := estimated(c.Observed()[1:], i, func(k int) float64 {
			return later(controller.ID{Task: int32(i), Phase: controller.Continuation, Ordinal: int32(k)})
		})
		want += (0.55*past.Means[i] + mean) / 6
	}
	if total != 30 || len(c.Observed()) != 3 || math.Abs(c.Estimate()-want) > 1e-15 {
		t.Errorf("%d further rollouts in %d stages, estimate %v, want %v", total, len(c.Observed()), c.Estimate(), want)
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

// estimated is the estimate of a task by stages, Σ c·X, and Σ c²/n; reward gives its rewards, from 1.
func estimated(stages []controller.Stage, task int, reward func(k int) float64) (mean, shrinkage float64) {
	at := 0
	for _, s := range stages {
		n, weight := float64(s.Sizes[task]), s.Weights[task]
		for range s.Sizes[task] {
			at++
			mean += weight * reward(at) / n
		}
		if n > 0 {
			shrinkage += weight * weight / n
		}
	}
	return mean, shrinkage
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
