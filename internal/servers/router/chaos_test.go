package router_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"speceval/internal/servers/router"
	"speceval/method/controller"
)

// chaos is an engine in which anything may happen next that can: any
// outstanding request completes, with its reward or before that, one to be aborted
// is aborted or completes all the same, one fails, a computation ends. It checks
// what the router asks.
type chaos struct {
	t        *testing.T
	random   *rand.Rand
	slots    int
	policy   controller.Policy
	plan     *reference                          // what must come of it
	failing  float64                             // chance that an event is a failure
	delayed  float64                             // chance that a reward comes after its answer
	slowness func(id controller.ID) (weight int) // how unlikely a request is to be next, at least 1

	now         time.Duration
	ids         []controller.ID
	outstanding []int
	scoring     []int
	aborting    map[int]bool
	live        map[controller.ID]bool // outstanding or completed
	rewarded    map[controller.ID]bool // the router has asked for the reward
	stage       int                    // of the plan, under way: some of its rewards have not been asked for
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
	if !slices.Contains(c.ids, id) {
		c.checkTurn(id)
	}
	c.live[id] = true
	c.ids = append(c.ids, id)
	c.outstanding = append(c.outstanding, request)
	if len(c.outstanding) > c.slots {
		c.t.Fatalf("%d requests are outstanding, with %d slots", len(c.outstanding), c.slots)
	}
}

// checkTurn holds a first submission to the order of stages. What the stage under way
// selects comes first; only HBN-async goes on to what may be selected later.
func (c *chaos) checkTurn(id controller.ID) {
	if c.policy == controller.Uniform || c.plan.stageOf(id) <= c.stage {
		return
	}
	if c.policy == controller.Sync {
		c.t.Fatalf("%v is submitted in stage %d, which has no need of it", id, c.stage)
	}
	for _, selected := range c.plan.stages[c.stage] {
		if !slices.Contains(c.ids, selected) {
			c.t.Fatalf("%v is submitted before %v, which stage %d waits for", id, selected, c.stage)
		}
	}
}

// reveal takes note of a reward, and of the barriers that it is the last for.
func (c *chaos) reveal(id controller.ID) {
	if c.rewarded[id] {
		c.t.Fatalf("the reward of %v is asked for twice", id)
	}
	c.rewarded[id] = true
	for c.stage < len(c.plan.stages)-1 && !slices.ContainsFunc(c.plan.stages[c.stage], func(id controller.ID) bool { return !c.rewarded[id] }) {
		c.stage++
	}
}

func (c *chaos) Abort(request int) {
	if id := c.ids[request]; c.stage < len(c.plan.stages)-1 || c.plan.stageOf(id) < len(c.plan.stages) {
		c.t.Fatalf("%v is aborted in stage %d of %d", id, c.stage, len(c.plan.stages))
	}
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
