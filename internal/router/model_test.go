package router_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"speceval/internal/flops"
	"speceval/internal/router"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// chaos is an engine in which anything may happen next that can: any
// outstanding request completes, with its reward or before that, one to be aborted
// is aborted or completes all the same, one fails, a computation ends. It checks
// what the router asks.
type chaos struct {
	t        *testing.T
	random   *rand.Rand
	slots    int
	tasks    int
	pilots   int
	policy   controller.Policy
	failing  float64                             // chance that an event is a failure
	delayed  float64                             // chance that a reward comes after its answer
	slowness func(id controller.ID) (weight int) // how unlikely a request is to be next, at least 1

	now         time.Duration
	ids         []controller.ID
	outstanding []int
	scoring     []int
	aborting    map[int]bool
	live        map[controller.ID]bool // outstanding or completed
	submitted   int                    // pilots, without repeats
	computing   func()
	computes    int
	races       int
	unseen      int // aborted before they were seen to begin
}

func (c *chaos) Slots() int { return c.slots }

func (c *chaos) Now() time.Duration { c.now++; return c.now }

func (c *chaos) Submit(request int, id controller.ID) {
	if request != len(c.ids) {
		c.t.Fatalf("request %d is submitted after %d others", request, len(c.ids))
	}
	if c.live[id] {
		c.t.Fatalf("%v is submitted twice", id)
	}
	if id.Phase == controller.Continuation && c.submitted < c.tasks*c.pilots {
		c.t.Fatalf("%v is submitted after %d of %d pilots", id, c.submitted, c.tasks*c.pilots)
	}
	if !slices.Contains(c.ids, id) && id.Phase == controller.Pilot {
		c.submitted++
	}
	c.live[id] = true
	c.ids = append(c.ids, id)
	c.outstanding = append(c.outstanding, request)
	if len(c.outstanding) > c.slots {
		c.t.Fatalf("%d requests are outstanding, with %d slots", len(c.outstanding), c.slots)
	}
}

func (c *chaos) Abort(request int) {
	if !slices.Contains(c.outstanding, request) || c.aborting[request] {
		c.t.Fatalf("request %d is aborted, which is not outstanding or was aborted before", request)
	}
	c.aborting[request] = true
}

func (c *chaos) Compute(f func()) {
	if c.computing != nil {
		c.t.Fatal("two computations run at a time")
	}
	c.computing = f
	c.computes++
}

var errChaos = errors.New("made to fail")

func (c *chaos) Next(context.Context) (router.Event, error) {
	c.now++
	if len(c.scoring) > 0 && (len(c.outstanding) == 0 || c.random.IntN(3) == 0) {
		at := c.random.IntN(len(c.scoring))
		request := c.scoring[at]
		c.scoring = slices.Delete(c.scoring, at, at+1)
		return router.Event{Kind: router.Completed, Request: request}, nil
	}
	if c.computing != nil && (len(c.outstanding) == 0 || c.random.IntN(4) == 0) {
		if c.random.IntN(2) == 0 {
			c.computing() // else it is left to who needs it
		}
		c.computing = nil
		return router.Event{Kind: router.Computed}, nil
	}
	if len(c.outstanding) == 0 {
		return router.Event{}, errors.New("nothing is outstanding: the router waits for ever")
	}
	at := c.pick()
	request := c.outstanding[at]
	c.outstanding = slices.Delete(c.outstanding, at, at+1)
	e := router.Event{Kind: router.Completed, Request: request, Started: c.now, Finished: c.now, Prompt: 10, Generated: 2}
	switch {
	case c.random.Float64() < c.failing:
		e.Kind, e.Err = router.Failed, errChaos
		c.live[c.ids[request]] = false
	case c.aborting[request] && c.random.IntN(3) > 0:
		e.Kind, e.Generated = router.Aborted, 1
		if c.random.IntN(4) == 0 {
			e.Started = -1
			c.unseen++
		}
	case c.aborting[request]:
		c.races++
	}
	if e.Kind == router.Completed && c.random.Float64() < c.delayed {
		e.Kind = router.Answered
		c.scoring = append(c.scoring, request)
	}
	return e, nil
}

// pick is an outstanding request, the more often the less slow it is.
func (c *chaos) pick() int {
	if c.slowness == nil {
		return c.random.IntN(len(c.outstanding))
	}
	total := 0.0
	for _, request := range c.outstanding {
		total += 1 / float64(c.slowness(c.ids[request]))
	}
	x := c.random.Float64() * total
	for i, request := range c.outstanding {
		x -= 1 / float64(c.slowness(c.ids[request]))
		if x < 0 {
			return i
		}
	}
	return len(c.outstanding) - 1
}

// trial is a random setting.
type trial struct {
	tasks, budget, pilots, slots int
	failing, delayed             float64
	late, sparse                 bool
	reward                       func(controller.ID) bool
	slowness                     func(controller.ID) int
}

func newTrial(random *rand.Rand) trial {
	s := trial{tasks: 2 + random.IntN(12), budget: 2 + random.IntN(12), slots: 1 + random.IntN(40)}
	s.pilots = 1 + random.IntN(s.budget-1)
	s.failing = []float64{0, 0, 0.05, 0.3}[random.IntN(4)]
	s.delayed = []float64{0, 0.3, 1}[random.IntN(3)]
	s.late, s.sparse = random.IntN(2) == 0, random.IntN(2) == 0
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
	p, err := neyman.NewPrior(8)
	if err != nil {
		panic(err)
	}
	return p
}()

// execute runs a policy in a setting and checks what must hold of any.
func (s trial) execute(t *testing.T, policy controller.Policy, random *rand.Rand) (*router.Record, *controller.Controller) {
	t.Helper()
	ctl, err := controller.New(controller.Settings{
		Policy: policy, Tasks: s.tasks, Budget: s.budget, Pilots: s.pilots, Weight: 0.3, Prior: controller.Cold(prior), Late: s.late,
	})
	if err != nil {
		t.Fatal(err)
	}
	engine := &chaos{
		t: t, random: random, slots: s.slots, tasks: s.tasks, pilots: s.pilots, policy: policy, failing: s.failing, delayed: s.delayed,
		slowness: s.slowness, aborting: map[int]bool{}, live: map[controller.ID]bool{},
	}
	asked := map[controller.ID]bool{}
	record, err := router.Run(t.Context(), router.Settings{
		Controller: ctl, Engine: engine, Retries: math.MaxInt, Sparse: s.sparse,
		Reward: func(id controller.ID) bool {
			if asked[id] {
				t.Fatalf("the reward of %v is asked for twice", id)
			}
			asked[id] = true
			return s.reward(id)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.check(t, record, engine)
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
			t.Fatalf("%v is surplus, and was submitted after the barrier", q.ID)
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
			ids = append(ids, fmt.Sprint(q.ID, q.Passed))
		}
	}
	slices.Sort(ids)
	return ids
}

// TestAnyOrderOfEvents holds the policies to their rules over random settings
// and orders of events: completions, races with aborts, failures and late
// provisional allocations. HBN-sync and HBN-async must select the same.
func TestAnyOrderOfEvents(t *testing.T) {
	speculated := 0
	for seed := range uint64(1500) {
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
			for _, q := range async.Requests {
				if q.Prefetched {
					speculated++
				}
			}
		})
	}
	if speculated < 1000 {
		t.Errorf("only %d rollouts were speculative: the test tests little", speculated)
	}
}

// TestEstimateIsUnbiased makes failures slow: a policy that took what comes
// first would favour passes. Over 6000 executions the mean estimate must be
// within 4 standard errors of the mean probability: a false alarm in 16,000.
func TestEstimateIsUnbiased(t *testing.T) {
	passes := []float64{0.1, 0.3, 0.5, 0.5, 0.7, 0.95}
	mean := 0.0
	for _, p := range passes {
		mean += p / float64(len(passes))
	}
	for _, policy := range []controller.Policy{controller.Sync, controller.Async} {
		var sum, square float64
		const executions = 6000
		for seed := range uint64(executions) {
			random := rand.New(rand.NewPCG(seed, 2))
			s := trial{tasks: len(passes), budget: 5, pilots: 2, slots: 14}
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
		got := sum / executions
		se := math.Sqrt((square/executions - got*got) / executions)
		if math.Abs(got-mean) > 4*se {
			t.Errorf("%v: mean estimate %.5f ± %.5f, want %.5f", policy, got, se, mean)
		}
	}
}
