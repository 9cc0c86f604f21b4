// Package controller is the paper's execution policies as state machines:
// Uniform, HBN-sync and HBN-async (paper, Section 3.3 and Algorithms 1 and 2), the
// latter two in two stages as in the paper, or in more.
// It is for programs that run rollouts of a stochastic model themselves and want
// to ask which one comes next.
//
//	c, err := controller.New(controller.Settings{
//		Policy: controller.Async, Tasks: n, Budget: b, Pilots: m, Weight: w, Prior: controller.Cold(prior),
//	})
//	for id, ok := c.Next(); ok; id, ok = c.Next() { … } // submit while a place is free
//	released, err := c.Completed(id, passed)            // then Surplus says what to abort
//	mean := c.Estimate()                                // once Done (Eq. 3)
//
// A controller takes completions, failures and provisional allocations, and returns
// which rollout to submit next and which running ones are surplus. It uses no clock, no
// server and no text, and its decisions follow from its inputs alone, so that the same
// code runs under a virtual clock and on real servers.
//
// # Stages
//
// The continuations of a task are one sequence, and each stage after the pilot selects
// the next of it. There is a barrier when every selected rollout has its reward: the
// posterior scores the tasks by those rewards, and package staged decides how many
// each task gets in the next stage, and with which weight. Under HBN-sync nothing
// beyond the stage under way is submitted. HBN-async speculates on what is left after
// it, by a provisional allocation of that, once the stage itself is submitted.
//
// No timing can reach a size, a weight or the estimate. Decisions are made when all
// that was selected is there, whatever else is, and look at selected rollouts alone.
// Those are named beforehand, by ordinal. A speculative rollout that a barrier does not
// select keeps running, or its reward is kept unseen, for a later stage to select:
// were it aborted and asked for again, or others taken in its place, answers that are
// short would be preferred. The rollouts left over at the last decision are Surplus.
package controller

import (
	"fmt"
	"slices"

	"speceval/method/neyman"
	"speceval/method/staged"
)

// Controller executes a policy once. It is not safe for concurrent use, but for
// Provisional.Solve.
type Controller struct {
	Settings

	tasks   []task
	pilots  int  // submitted so far, in pilot order
	started bool // some rollout has completed
	failed  []ID // to be submitted again, first come first served

	// The stages, and what has been decided.
	stages   *staged.Stages // nil under Uniform
	seen     []Stage        // stages whose rewards are all there
	final    bool           // there is nothing more to decide
	first    []int          // continuations selected before the stage under way, by task
	selected []int          // and with it

	// Where the submission of the stage's continuations stands.
	round, at   int // of the continuations from first on, and of the tasks
	unsubmitted int

	// Rewards of selected rollouts. No other is looked at.
	missing int       // in the stage under way
	known   int       // so far
	counts  counts    // so far
	settled []Count   // at the last barrier, by task
	rewards []float64 // in the stage that was observed last, by task

	posterior Posterior // for decisions
	scores    []float64
	spec      speculation
}

// task is how far the rollouts of one task are.
type task struct {
	pilots        []rollout // by ordinal − 1
	continuations []rollout // of those submitted, always a prefix of the ordinals
}

// rollout is where a rollout stands.
type rollout struct {
	status
	reward float64 // if it has completed
}

type status uint8

const (
	planned status = iota
	outstanding
	failing // to be submitted again
	ended   // without a reward
	completed
)

// New begins an execution.
func New(s Settings) (*Controller, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Controller{
		Settings: s, tasks: make([]task, s.Tasks), scores: make([]float64, s.Tasks), rewards: make([]float64, s.Tasks), round: 1,
		settled: make([]Count, s.Tasks), first: make([]int, s.Tasks), selected: make([]int, s.Tasks), counts: newCounts(s.Tasks),
	}
	all := make([]rollout, s.Tasks*s.Pilots)
	for i := range c.tasks {
		c.tasks[i].pilots = all[i*s.Pilots : (i+1)*s.Pilots]
	}
	if s.Policy == Uniform {
		for i := range c.selected {
			c.selected[i] = s.Budget - s.Pilots
		}
		c.unsubmitted = s.Tasks * (s.Budget - s.Pilots)
		c.missing, c.final = s.Tasks*s.Budget, true
		return c, nil
	}
	var err error
	if s.Past != nil {
		c.stages, err = staged.Extend(s.Past.Past, s.Left, s.plan())
	} else {
		c.stages, err = staged.New(s.Tasks, s.Budget, s.plan())
	}
	if err != nil {
		return nil, err
	}
	c.posterior = s.Prior.Posterior(s.Pilots)
	if s.Policy == Async {
		c.spec.forecast = &forecast{posterior: s.Prior.Posterior(s.Pilots), counts: newCounts(s.Tasks), scores: make([]float64, s.Tasks)}
	}
	if s.Past != nil {
		return c, c.extend()
	}
	c.missing = s.Tasks * s.Pilots
	if s.Policy == Async {
		c.spec.enter(c)
	}
	return c, nil
}

// extend takes an earlier evaluation for the first stage, and decides on the next one.
func (c *Controller) extend() error {
	c.Pilots = 0
	for i, n := range c.Past.Counts {
		if n.Rollouts < 0 || !(n.Rewards >= 0 && n.Rewards <= float64(n.Rollouts) && n.Squares >= 0 && n.Squares <= n.Rewards+1e-9) {
			return fmt.Errorf("controller: task %d has %d earlier rollouts with rewards of %v and squares of %v in all", i, n.Rollouts, n.Rewards, n.Squares)
		}
		c.settled[i] = n
		c.note(i, n)
	}
	c.seen = append(c.seen, Stage{slices.Clone(c.stages.Sizes()), slices.Clone(c.stages.Weights())})
	return c.decide()
}

// Next is the rollout to submit next, if one may be submitted now; it then
// counts as outstanding. Pilots come first, one round of the tasks after the
// other. After a barrier come the missing rollouts of the stage, again in rounds.
// When all of them are submitted come, under HBN-async, speculative continuations.
func (c *Controller) Next() (ID, bool) {
	id, ok := c.next()
	if ok {
		c.tasks[id.Task].set(id, rollout{status: outstanding})
	}
	return id, ok
}

func (c *Controller) next() (ID, bool) {
	for len(c.failed) > 0 {
		id := c.failed[0]
		c.failed = c.failed[1:]
		if !c.Surplus(id) {
			return id, true
		}
		c.tasks[id.Task].set(id, rollout{status: ended})
	}
	if c.pilots < c.Tasks*c.Pilots {
		id := ID{int32(c.pilots % c.Tasks), Pilot, int32(c.pilots/c.Tasks + 1)}
		c.pilots++
		return id, true
	}
	switch {
	case c.unsubmitted > 0:
		return c.nextSelected(), true
	case c.Policy == Async && !c.final && (c.started || !c.Late):
		return c.spec.next(c)
	}
	return ID{}, false
}

// nextSelected goes through the stage's continuations in rounds, past what
// speculation has submitted. There must be one that is not submitted.
func (c *Controller) nextSelected() ID {
	for ; ; c.round, c.at = c.round+1, 0 {
		for ; c.at < c.Tasks; c.at++ {
			ordinal := c.first[c.at] + c.round
			if ordinal <= c.selected[c.at] && ordinal > len(c.tasks[c.at].continuations) {
				c.unsubmitted--
				return ID{int32(c.at), Continuation, int32(ordinal)}
			}
		}
	}
}

// Completed takes note that an outstanding rollout has passed or failed, as Rewarded
// does of a reward of 1 or 0.
func (c *Controller) Completed(id ID, passed bool) (released bool, err error) {
	if passed {
		return c.Rewarded(id, 1)
	}
	return c.Rewarded(id, 0)
}

// Rewarded takes note of the reward of an outstanding rollout, from 0 to 1. The last that the
// stage under way has waited for is a barrier: it decides on the next stage, and
// released is true. It may decide on several, if what they select is there. An error
// says that the rollout is not outstanding, or that its reward is none; or that prior or
// plan gave what is no score or weight, and there is then no going on.
func (c *Controller) Rewarded(id ID, reward float64) (released bool, err error) {
	if !(reward >= 0 && reward <= 1) {
		return false, fmt.Errorf("controller: %v has the reward %v: want 0 to 1", id, reward)
	}
	if err := c.end(id, completed); err != nil {
		return false, err
	}
	c.started = true
	c.tasks[id.Task].set(id, rollout{completed, reward})
	if !c.Selected(id) {
		return false, nil
	}
	c.count(int(id.Task), reward)
	return c.advance()
}

// Ended takes note that an outstanding rollout has ended without a reward, as
// surplus that was aborted does. It is an error if it is not Surplus.
func (c *Controller) Ended(id ID) error {
	if !c.Surplus(id) {
		return fmt.Errorf("controller: %v may be selected yet, and cannot end without a reward", id)
	}
	return c.end(id, ended)
}

// Failed takes note that an outstanding rollout has ended by a fault. Next
// gives it again, unless it is surplus by then.
func (c *Controller) Failed(id ID) error {
	if err := c.end(id, failing); err != nil {
		return err
	}
	c.failed = append(c.failed, id)
	return nil
}

// end gives an outstanding rollout another status.
func (c *Controller) end(id ID, to status) error {
	if c.status(id) != outstanding {
		return fmt.Errorf("controller: %v is not outstanding", id)
	}
	c.tasks[id.Task].set(id, rollout{status: to})
	return nil
}

func (c *Controller) status(id ID) status {
	if !c.has(id.Task) {
		return planned
	}
	list := *c.tasks[id.Task].list(id.Phase)
	if id.Ordinal < 1 || int(id.Ordinal) > len(list) {
		return planned
	}
	return list[id.Ordinal-1].status
}

func (c *Controller) has(task int32) bool { return task >= 0 && int(task) < c.Tasks }

func (t *task) list(p Phase) *[]rollout {
	if p == Pilot {
		return &t.pilots
	}
	return &t.continuations
}

// set says where a rollout stands. A task's continuations are submitted in order,
// so that a new one is the next.
func (t *task) set(id ID, to rollout) {
	list := t.list(id.Phase)
	if int(id.Ordinal) > len(*list) {
		*list = append(*list, to)
		return
	}
	(*list)[id.Ordinal-1] = to
}

// Policy is a way to execute an evaluation.
type Policy uint8

// Policies (paper, Section 4.3).
const (
	Uniform Policy = iota // b rollouts of every task, all eligible from the start
	Sync                  // HBN with a barrier after the pilot
	Async                 // HBN that fills the barrier with speculative continuations
)

var policyNames = [...]string{Uniform: "uniform", Sync: "hbn-sync", Async: "hbn-async"}

// String is the policy's name in files and tables.
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// Phase is a stage of the two-stage design.
type Phase uint8

// Phases. Uniform's first m rollouts of a task count as its pilot, too, so that
// it shares their identities with HBN.
const (
	Pilot Phase = iota
	Continuation
)

// String is the phase's name in identities and files.
func (p Phase) String() string {
	if p == Pilot {
		return "pilot"
	}
	return "continuation"
}

// ID names a rollout before it is executed. Results are recovered by it, never
// by the order of their completion.
type ID struct {
	Task    int32 // in profile order, from 0
	Phase   Phase
	Ordinal int32 // within the task and phase, from 1
}

// String is the ID for messages: "task 3 continuation 12".
func (id ID) String() string {
	return fmt.Sprintf("task %d %s %d", id.Task, id.Phase, id.Ordinal)
}

// Allocate returns the final allocation: total continuations, divided among the tasks by the
// posterior of a complete pilot (paper, Eqs. 6 to 8). The posterior is the one for the
// pilot's size, and successes are by task.
func Allocate(posterior *neyman.Posterior, work *neyman.Work, pilots int, successes []int, total int) ([]int, error) {
	counts := make([]int, pilots+1)
	for _, s := range successes {
		counts[s]++
	}
	scores := posterior.Scores(counts, work)
	variances := make([]float64, len(successes))
	for i, s := range successes {
		variances[i] = scores.At(s)
	}
	return neyman.Allocate(variances, total)
}
