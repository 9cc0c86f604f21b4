package router_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"speceval/internal/servers/flops"
	"speceval/internal/servers/router"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// trial is a random setting.
type trial struct {
	tasks, budget, pilots, slots int
	failing, delayed             float64
	late, sparse                 bool
	reward                       func(controller.ID) bool
	slowness                     func(controller.ID) int

	weight      float64
	leaveOneOut func([]int) float64
	fractions   []float64
	prior       controller.Prior
}

func newTrial(random *rand.Rand) trial {
	s := trial{tasks: 2 + random.IntN(12), budget: 2 + random.IntN(12), slots: 1 + random.IntN(40)}
	s.pilots = 1 + random.IntN(s.budget-1)
	s.failing = []float64{0, 0, 0.05, 0.3}[random.IntN(4)]
	s.delayed = []float64{0, 0.3, 1}[random.IntN(3)]
	s.late, s.sparse = random.IntN(2) == 0, random.IntN(2) == 0
	s.fractions = [][]float64{nil, {0.5, 1}, {0.4, 0.5, 1}, {0.12, 0.2, 0.4, 1}, {0.9, 0.1, 1}}[random.IntN(5)]
	s.weight, s.prior = 0.3, cold
	if random.IntN(3) == 0 {
		s.prior = arbitrary(random.Uint64())
	}
	if random.IntN(3) == 0 {
		rule := must(neyman.NewLeaveOneOut(prior, s.tasks, s.budget, s.pilots))
		s.leaveOneOut = rule.Weight
	}
	passes := make([]float64, s.tasks)
	for i := range passes {
		passes[i] = float64(random.IntN(5)) / 4
	}
	salt := random.Uint64()
	s.reward = func(id controller.ID) bool {
		r := rand.New(rand.NewPCG(salt, uint64(id.Task)<<40|uint64(id.Phase)<<32|uint64(id.Ordinal)))
		return r.Float64() < passes[id.Task]
	}
	return s
}

var prior = func() *neyman.Prior {
	p := must(neyman.NewPrior(8))
	return p
}()

var cold = controller.Cold(prior)

// execute runs a policy in a setting and checks what must hold of any.
func (s trial) execute(t *testing.T, policy controller.Policy, random *rand.Rand) (*router.Record, *controller.Controller) {
	t.Helper()
	ctl, err := controller.New(controller.Settings{
		Policy: policy, Tasks: s.tasks, Budget: s.budget, Pilots: s.pilots, Late: s.late,
		Weight: s.weight, LeaveOneOut: s.leaveOneOut, Fractions: s.fractions, Prior: s.prior,
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := s.uniform()
	if policy != controller.Uniform {
		plan = s.refer(t)
	}
	engine := &chaos{
		t: t, random: random, slots: s.slots, policy: policy, plan: plan, failing: s.failing, delayed: s.delayed,
		slowness: s.slowness, aborting: map[int]bool{}, live: map[controller.ID]bool{}, rewarded: map[controller.ID]bool{},
	}
	record, err := router.Run(t.Context(), router.Settings{
		Controller: ctl, Engine: engine, Retries: math.MaxInt, Sparse: s.sparse,
		Reward: router.PassFail(func(id controller.ID) bool {
			engine.reveal(id)
			return s.reward(id)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, record, engine)
	plan.check(t, record, ctl)
	return record, ctl
}

func (s trial) check(t *testing.T, r *router.Record, engine *chaos) {
	t.Helper()
	sum := 0
	for _, l := range r.Allocation {
		if l < 1 {
			t.Fatalf("an allocation of %v", r.Allocation)
		}
		sum += l
	}
	if sum != s.tasks*(s.budget-s.pilots) {
		t.Fatalf("an allocation of %d continuations, want %d", sum, s.tasks*(s.budget-s.pilots))
	}
	accepted := map[controller.ID]bool{}
	discarded, aborted, last := 0, 0, time.Duration(0)
	for _, q := range r.Requests {
		selected := q.ID.Phase == controller.Pilot || int(q.ID.Ordinal) <= r.Allocation[q.ID.Task]
		switch q.State {
		case router.Accepted:
			if accepted[q.ID] || !selected {
				t.Fatalf("%v is accepted twice, or not selected", q.ID)
			}
			accepted[q.ID] = true
			last = max(last, q.RewardReady)
		case router.Discarded:
			discarded++
		case router.AbortedRunning:
			aborted++
		case router.CancelledQueued, router.Faulty:
		default:
			t.Fatalf("%v ends %v", q.ID, q.State)
		}
		if (q.State == router.Discarded || q.State == router.AbortedRunning || q.State == router.CancelledQueued) && selected {
			t.Fatalf("%v is selected and ends %v", q.ID, q.State)
		}
		if !selected && !q.Prefetched {
			t.Fatalf("%v is surplus, and was submitted after the last barrier", q.ID)
		}
		if q.Prefetched && r.Policy != controller.Async {
			t.Fatalf("%v was prefetched under %v", q.ID, r.Policy)
		}
	}
	if len(accepted) != s.tasks*s.budget {
		t.Fatalf("%d accepted, want N·b = %d", len(accepted), s.tasks*s.budget)
	}
	if r.Extra() != discarded+aborted || r.Races != engine.races {
		t.Fatalf("%d extra of %d discarded and %d aborted; %d races of %d", r.Extra(), discarded, aborted, r.Races, engine.races)
	}
	if r.Time < last || r.Time > last+10 { // the clock ticks once for each look at it
		t.Fatalf("results at %v, the last reward was ready at %v", r.Time, last)
	}
	if r.Count(router.CancelledQueued) != engine.unseen {
		t.Fatalf("%d cancelled while queued, %d never began", r.Count(router.CancelledQueued), engine.unseen)
	}
	useful, wasted := r.Tokens()
	if all := int64(s.tasks * s.budget); useful != (flops.Tokens{Sequence: 12 * all, Completion: 2 * all, Pairs: 12 * 13 * all}) {
		t.Fatalf("useful are %+v, with %d accepted", useful, all)
	}
	if d, a := int64(discarded), int64(aborted); wasted != (flops.Tokens{Sequence: 12*d + 11*a, Completion: 2*d + a, Pairs: 12*13*d + 11*12*a}) {
		t.Fatalf("wasted are %+v, with %d discarded and %d aborted", wasted, d, a)
	}
	if r.Time > r.Released || r.PilotReady > r.Time {
		t.Fatalf("pilots at %v, results at %v, released at %v", r.PilotReady, r.Time, r.Released)
	}
	if len(engine.outstanding) > 0 {
		t.Fatalf("%d requests are left outstanding", len(engine.outstanding))
	}
}

// selection is the accepted rollouts.
func selection(r *router.Record) []string {
	var ids []string
	for _, q := range r.Requests {
		if q.State == router.Accepted {
			ids = append(ids, fmt.Sprint(q.ID, q.Passed()))
		}
	}
	slices.Sort(ids)
	return ids
}

// TestAnyOrderOfEvents holds the policies to their rules over random settings
// and orders of events: completions, races with aborts, failures and late
// provisional allocations, in plans of two to five stages. HBN-sync and HBN-async
// must select the same.
func TestAnyOrderOfEvents(t *testing.T) {
	var met meetings
	for seed := range uint64(2500) {
		random := rand.New(rand.NewPCG(seed, 1))
		s := newTrial(random)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s.execute(t, controller.Uniform, random)
			sync, one := s.execute(t, controller.Sync, random)
			async, other := s.execute(t, controller.Async, random)
			if !slices.Equal(sync.Allocation, async.Allocation) {
				t.Errorf("sync allocates %v, async %v", sync.Allocation, async.Allocation)
			}
			if !slices.Equal(selection(sync), selection(async)) {
				t.Error("sync and async accept different rollouts")
			}
			if a, b := one.Estimate(), other.Estimate(); a != b {
				t.Errorf("sync estimates %v, async %v", a, b)
			}
			if sync.Extra() > 0 {
				t.Errorf("sync has %d extra rollouts", sync.Extra())
			}
			met.add(async)
		})
	}
	if met.speculated < 1000 || met.kept < 1000 || met.mended < 100 || met.passed < 100 {
		t.Errorf("the test tests little: %+v", met)
	}
}

// meetings counts what executions must have met for a test to mean something.
type meetings struct {
	speculated int // rollouts
	kept       int // of them, there at a barrier that did not select them, and selected by a later one
	mended     int // of them, that failed before the barrier that could select them, and came after it
	passed     int // barriers at once
}

func (m *meetings) add(r *router.Record) {
	failed := make(map[controller.ID]time.Duration) // as speculative ones
	for _, q := range r.Requests {
		barriers := func(from, to time.Duration) (n int) {
			for _, at := range r.Barriers {
				if from < at && at < to {
					n++
				}
			}
			return n
		}
		if q.Prefetched {
			m.speculated++
		}
		if at, again := failed[q.ID]; again && q.State == router.Accepted && barriers(at, q.RewardReady) > 0 {
			m.mended++
		}
		if q.State == router.Faulty && q.Prefetched {
			failed[q.ID] = q.Finished
		}
		if q.State == router.Accepted && q.Prefetched && barriers(q.RewardReady, r.Time) > 1 {
			m.kept++
		}
	}
	for i, at := range r.Barriers {
		if i > 0 && at == r.Barriers[i-1] {
			m.passed++
		}
	}
}

// TestEstimateIsUnbiased makes wrong answers slow: a policy that took what comes
// first would favour passes. Over all executions the mean estimate must be
// within 4 standard errors of the mean probability: a false alarm in 16,000 for each.
func TestEstimateIsUnbiased(t *testing.T) {
	passes := []float64{0.1, 0.3, 0.5, 0.5, 0.7, 0.95}
	mean := 0.0
	for _, p := range passes {
		mean += p / float64(len(passes))
	}
	rule := must(neyman.NewLeaveOneOut(prior, len(passes), 8, 2))
	for name, plan := range map[string]trial{
		"two stages":    {budget: 5, weight: 0.4},
		"three stages":  {budget: 8, weight: 0.2, fractions: []float64{0.4, 1}, failing: 0.1},
		"four stages":   {budget: 8, weight: 0.2, fractions: []float64{0.3, 0.45, 1}},
		"leave one out": {budget: 8, leaveOneOut: rule.Weight, fractions: []float64{0.4, 1}},
	} {
		plan.tasks, plan.pilots, plan.slots, plan.prior = len(passes), 2, 14, cold
		for _, policy := range []controller.Policy{controller.Sync, controller.Async} {
			t.Run(fmt.Sprintf("%s/%v", name, policy), func(t *testing.T) {
				got, se := plan.average(t, policy, passes)
				if math.Abs(got-mean) > 4*se {
					t.Errorf("mean estimate %.5f ± %.5f, want %.5f", got, se, mean)
				}
			})
		}
	}
}

// average is the mean estimate, with its standard error, where tasks pass with the
// given chances and failures take long.
func (s trial) average(t *testing.T, policy controller.Policy, passes []float64) (mean, se float64) {
	t.Helper()
	var sum, square float64
	const executions = 6000
	for seed := range uint64(executions) {
		random := rand.New(rand.NewPCG(seed, 2))
		s.reward = func(id controller.ID) bool {
			r := rand.New(rand.NewPCG(seed, uint64(id.Task)<<40|uint64(id.Phase)<<32|uint64(id.Ordinal)))
			return r.Float64() < passes[id.Task]
		}
		s.slowness = func(id controller.ID) int {
			if s.reward(id) {
				return 1
			}
			return 20
		}
		_, ctl := s.execute(t, policy, random)
		x := ctl.Estimate()
		sum, square = sum+x, square+x*x
	}
	mean = sum / executions
	return mean, math.Sqrt((square/executions - mean*mean) / executions)
}
