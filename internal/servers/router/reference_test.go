package router_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"speceval/internal/servers/router"
	"speceval/method/controller"
	"speceval/method/staged"
)

// reference is an evaluation by the book, in which every stage is executed at once and
// nothing else ever is: what any execution must come to.
type reference struct {
	stages     [][]controller.ID // selected rollouts
	of         map[controller.ID]int
	allocation []int
	estimate   float64
}

// refer evaluates by the plan of a trial.
func (s trial) refer(t *testing.T) *reference {
	t.Helper()
	plan := staged.Plan{Pilots: s.pilots, Weight: s.weight, LeaveOneOut: s.leaveOneOut, Fractions: s.fractions}
	if plan.Fractions == nil {
		plan.Fractions = []float64{1}
	}
	stages := must(staged.New(s.tasks, s.budget, plan))
	r := &reference{allocation: make([]int, s.tasks)}
	posterior := s.prior.Posterior(s.pilots)
	observed, successes, scores := make([]int, s.tasks), make([]int, s.tasks), make([]float64, s.tasks)
	for {
		passes := r.execute(stages.Sizes(), s.reward)
		for i, n := range stages.Sizes() {
			observed[i] += n
			successes[i] += passes[i]
		}
		ok(t, stages.Observe(passes))
		if stages.Done() {
			r.estimate = stages.Mean()
			return r
		}
		posterior.Scores(observed, successes, scores)
		ok(t, stages.Decide(scores))
	}
}

// execute adds a stage and returns its passes.
func (r *reference) execute(sizes []int, reward func(controller.ID) bool) []int {
	var ids []controller.ID
	passes := make([]int, len(sizes))
	for i, n := range sizes {
		for k := range n {
			id := controller.ID{Task: int32(i), Phase: controller.Pilot, Ordinal: int32(k + 1)}
			if len(r.stages) > 0 {
				id.Phase, id.Ordinal = controller.Continuation, int32(r.allocation[i]+k+1)
			}
			if reward(id) {
				passes[i]++
			}
			ids = append(ids, id)
		}
	}
	if len(r.stages) > 0 {
		for i, n := range sizes {
			r.allocation[i] += n
		}
	}
	r.stages = append(r.stages, ids)
	return passes
}

// uniform is Uniform as a reference: one stage of all.
func (s trial) uniform() *reference {
	sizes := slices.Repeat([]int{s.budget - s.pilots}, s.tasks)
	r := &reference{allocation: sizes}
	var ids []controller.ID
	sum := 0
	for i := range int32(s.tasks) {
		for k := range int32(s.budget) {
			id := controller.ID{Task: i, Phase: controller.Pilot, Ordinal: k + 1}
			if k >= int32(s.pilots) {
				id.Phase, id.Ordinal = controller.Continuation, k+1-int32(s.pilots)
			}
			ids = append(ids, id)
			if s.reward(id) {
				sum++
			}
		}
	}
	r.stages, r.estimate = [][]controller.ID{ids}, float64(sum)/float64(len(ids))
	return r
}

// stageOf is the stage that selects a rollout; one after the last if none does.
func (r *reference) stageOf(id controller.ID) int {
	if r.of == nil {
		r.of = make(map[controller.ID]int)
		for k, ids := range r.stages {
			for _, id := range ids {
				r.of[id] = k
			}
		}
	}
	if k, selected := r.of[id]; selected {
		return k
	}
	return len(r.stages)
}

// check holds an execution to the reference.
func (r *reference) check(t *testing.T, record *router.Record, ctl *controller.Controller) {
	t.Helper()
	if !slices.Equal(record.Allocation, r.allocation) {
		t.Fatalf("an allocation of %v, want %v", record.Allocation, r.allocation)
	}
	if got := ctl.Estimate(); got != r.estimate {
		t.Fatalf("an estimate of %v, want %v", got, r.estimate)
	}
	last := time.Duration(0)
	for k, at := range record.Barriers {
		ready := time.Duration(0)
		for _, q := range record.Requests {
			if q.State == router.Accepted && r.stageOf(q.ID) <= k {
				ready = max(ready, q.RewardReady)
			}
		}
		if at < last || at < ready || at > ready+10 { // the clock ticks once for each look at it
			t.Fatalf("barriers at %v, the rewards of stage %d were ready at %v", record.Barriers, k, ready)
		}
		last = at
	}
	if len(record.Barriers) != len(r.stages)-1 || last != record.Allocated {
		t.Fatalf("barriers at %v of %d stages, the allocation at %v", record.Barriers, len(r.stages), record.Allocated)
	}
	for k, stage := range ctl.Observed() {
		sum := 0
		for _, n := range stage.Sizes {
			sum += n
		}
		if sum != len(r.stages[k]) {
			t.Fatalf("stage %d has %d rollouts, want %d", k, sum, len(r.stages[k]))
		}
	}
}

// arbitrary is a prior whose scores are any function of the counts, 0 at times.
type arbitrary uint64

func (a arbitrary) Posterior(int) controller.Posterior { return a }

func (a arbitrary) Scores(observed, successes []int, scores []float64) {
	seed := uint64(a)
	for i, n := range observed {
		seed = rand.NewPCG(seed, uint64(n)<<32|uint64(successes[i])).Uint64()
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range scores {
		scores[i] = max(0, random.Float64()-0.2)
	}
}
