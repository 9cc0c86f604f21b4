package controller

import (
	"fmt"

	"speceval/method/neyman"
)

// Settings are a policy and the setting that it is executed in.
type Settings struct {
	Policy Policy
	Tasks  int // N
	Budget int // b, average rollouts per task
	Pilots int // m, of every task, at least 1 and less than Budget; Uniform, where it only names rollouts, may have m = b

	Prior *neyman.Prior // nil under Uniform
	Order []int         // rank of every task where speculation is tied; nil: task order

	// Late starts speculation after the first completion, as the published runs
	// did, and not as soon as every pilot has been submitted.
	Late bool
}

// check says what is wrong with the settings, if anything.
func (s Settings) check() error {
	switch {
	case s.Policy > Async:
		return fmt.Errorf("controller: there is no %v", s.Policy)
	case s.Tasks < 1:
		return fmt.Errorf("controller: %d tasks, want at least 1", s.Tasks)
	case s.Policy == Uniform && (s.Pilots < 1 || s.Pilots > s.Budget):
		return fmt.Errorf("controller: %d of %d rollouts per task cannot be a pilot", s.Pilots, s.Budget)
	case s.Policy != Uniform && (s.Pilots < 1 || s.Pilots >= s.Budget):
		return fmt.Errorf("controller: a pilot of %d rollouts per task does not fit a budget of %d: want 1 to %d", s.Pilots, s.Budget, s.Budget-1)
	case s.Policy != Uniform && s.Prior == nil:
		return fmt.Errorf("controller: %v needs a prior", s.Policy)
	case s.Order != nil && len(s.Order) != s.Tasks:
		return fmt.Errorf("controller: the order ranks %d of %d tasks", len(s.Order), s.Tasks)
	}
	return nil
}

// Controller executes a policy once. It is not safe for concurrent use, but for
// Provisional.Solve.
type Controller struct {
	Settings
	total int // continuations in all, C = N(b − m)

	tasks   []task
	pilots  int  // submitted so far, in pilot order
	missing int  // pilot rewards
	started bool // some rollout has completed

	failed []ID // to be submitted again, first come first served

	// After the barrier: the allocation, and where its submission stands.
	allocation []int
	ordinal    int32
	at         int
	waiting    int // selected rollouts that have not completed

	posterior *neyman.Posterior // of the complete pilot
	work      *neyman.Work
	spec      speculation
}

// task is what is known of one task.
type task struct {
	pilots        []status // by ordinal − 1
	continuations []status // of those submitted, always a prefix of the ordinals
	observed      int32    // pilot rewards
	successes     int32    // of them
}

// status is where a rollout stands.
type status uint8

const (
	planned status = iota
	outstanding
	failing // to be submitted again
	ended   // without a reward
	completed
	passed // completed, with reward 1
)

// New begins an execution.
func New(s Settings) (*Controller, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := &Controller{
		Settings: s, total: s.Tasks * (s.Budget - s.Pilots), tasks: make([]task, s.Tasks),
		missing: s.Tasks * s.Pilots, waiting: s.Tasks * s.Budget, ordinal: 1,
	}
	all := make([]status, s.Tasks*s.Pilots)
	for i := range c.tasks {
		c.tasks[i].pilots = all[i*s.Pilots : (i+1)*s.Pilots]
	}
	if s.Policy == Uniform {
		c.allocation = make([]int, s.Tasks)
		for i := range c.allocation {
			c.allocation[i] = s.Budget - s.Pilots
		}
		return c, nil
	}
	c.posterior = s.Prior.Pilot(s.Pilots)
	c.work = s.Prior.NewWork()
	if s.Policy == Async {
		c.spec.begin(c)
	}
	return c, nil
}

// Next is the rollout to submit next, if one may be submitted now; it then
// counts as outstanding. Pilots come first, one round of the tasks after the
// other. After the barrier come the missing rollouts of the selection, again in
// rounds; before it, under HBN-async, speculative continuations.
func (c *Controller) Next() (ID, bool) {
	id, ok := c.next()
	if ok {
		c.tasks[id.Task].set(id, outstanding)
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
		c.tasks[id.Task].set(id, ended)
	}
	if c.pilots < c.Tasks*c.Pilots {
		id := ID{int32(c.pilots % c.Tasks), Pilot, int32(c.pilots/c.Tasks + 1)}
		c.pilots++
		return id, true
	}
	switch {
	case c.allocation != nil:
		return c.nextSelected()
	case c.Policy == Async && (c.started || !c.Late):
		return c.spec.next(c)
	}
	return ID{}, false
}

// nextSelected goes through the selection in rounds, past what speculation has
// submitted.
func (c *Controller) nextSelected() (ID, bool) {
	for more := true; more; c.ordinal, c.at = c.ordinal+1, 0 {
		more = false
		for ; c.at < c.Tasks; c.at++ {
			if int(c.ordinal) > c.allocation[c.at] {
				continue
			}
			more = true
			if int(c.ordinal) > len(c.tasks[c.at].continuations) {
				return ID{int32(c.at), Continuation, c.ordinal}, true
			}
		}
	}
	c.ordinal-- // no task has so many
	return ID{}, false
}

// Completed takes note of the reward of an outstanding rollout. The last of the
// pilot's is the barrier: it makes the final allocation, and released is true.
func (c *Controller) Completed(id ID, reward bool) (released bool, err error) {
	if err := c.end(id, completed); err != nil {
		return false, err
	}
	c.started = true
	t := &c.tasks[id.Task]
	if reward {
		t.set(id, passed)
	}
	if c.allocation != nil && !c.Surplus(id) {
		c.waiting--
	}
	if id.Phase == Continuation {
		return false, nil
	}
	t.observed++
	if reward {
		t.successes++
	}
	c.missing--
	if c.missing > 0 || c.Policy == Uniform {
		return false, nil
	}
	return true, c.release()
}

// release makes the final allocation. Rollouts are selected by their ids alone:
// all pilots, and the first continuations of each task. When they completed,
// and which others did, does not matter.
func (c *Controller) release() error {
	successes := make([]int, c.Tasks)
	for i := range c.tasks {
		successes[i] = int(c.tasks[i].successes)
	}
	var err error
	if c.allocation, err = Allocate(c.posterior, c.work, c.Pilots, successes, c.total); err != nil {
		return err
	}
	c.waiting -= c.Tasks * c.Pilots
	for i := range c.tasks {
		for ordinal, s := range c.tasks[i].continuations {
			if ordinal < c.allocation[i] && s >= completed {
				c.waiting--
			}
		}
	}
	return nil
}

// Ended takes note that an outstanding rollout has ended without a reward, as
// surplus that was aborted does.
func (c *Controller) Ended(id ID) error { return c.end(id, ended) }

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
	c.tasks[id.Task].set(id, to)
	return nil
}

func (c *Controller) status(id ID) status {
	if id.Task < 0 || int(id.Task) >= c.Tasks {
		return planned
	}
	list := *c.tasks[id.Task].list(id.Phase)
	if id.Ordinal < 1 || int(id.Ordinal) > len(list) {
		return planned
	}
	return list[id.Ordinal-1]
}

func (t *task) list(p Phase) *[]status {
	if p == Pilot {
		return &t.pilots
	}
	return &t.continuations
}

// set gives a rollout a status. A task's continuations are submitted in order,
// so that a new one is the next.
func (t *task) set(id ID, s status) {
	list := t.list(id.Phase)
	if int(id.Ordinal) > len(*list) {
		*list = append(*list, s)
		return
	}
	(*list)[id.Ordinal-1] = s
}

// Surplus reports whether a rollout is not selected. Before the barrier nothing
// is.
func (c *Controller) Surplus(id ID) bool {
	return c.allocation != nil && id.Phase == Continuation && int(id.Ordinal) > c.allocation[id.Task]
}

// Allocation is the number of continuations that each task is given (L), of
// which the sum is N(b − m). It is nil before the barrier.
func (c *Controller) Allocation() []int { return c.allocation }

// Done reports whether every selected rollout has completed.
func (c *Controller) Done() bool { return c.allocation != nil && c.waiting == 0 }

// Estimate is the benchmark mean by the selected rollouts, once Done: under HBN
// the pilot's mean with the stage weight w and the continuation's with 1 − w
// (paper, Eq. 3), under Uniform the plain mean.
func (c *Controller) Estimate(w float64) float64 {
	var pilot, continuation float64
	for i, t := range c.tasks {
		pilot += float64(t.successes) / float64(c.Pilots)
		if c.allocation[i] > 0 {
			continuation += share(t.continuations[:c.allocation[i]])
		}
	}
	if c.Policy == Uniform {
		w = float64(c.Pilots) / float64(c.Budget)
	}
	return (w*pilot + (1-w)*continuation) / float64(c.Tasks)
}

// share is the share of rollouts with reward 1.
func share(rollouts []status) float64 {
	n := 0
	for _, s := range rollouts {
		if s == passed {
			n++
		}
	}
	return float64(n) / float64(len(rollouts))
}
