package protocol

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/ledger"
	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/neyman"
)

// session is an evaluation whose rollouts another program runs. It is not safe for
// concurrent use.
type session struct {
	setup     *evaluation.Setup
	reference *neyman.Prior
	control   *controller.Controller
	ahead     bool

	index map[string]int // of the tasks
	past  []int          // rollouts of the evaluation that is extended, by task
	tasks [][]entry      // rollouts by task, in the order of their numbers
	ready []Rollout      // submitted by the controller, and not given yet
	early int            // rewards that were there before the controller submitted their rollouts

	reported    int // rewards
	speculating bool
	outcome     *evaluation.Result // of them; nil: not made yet
}

// entry is where a rollout stands.
type entry struct {
	state     state
	submitted bool // by the controller
	reward    float64
	tokens    int64
}

// state is the last word on a rollout; "" if there is none.
type state string

const (
	given     state = "given" // in flight
	completed state = "completed"
	failed    state = "failed" // to be given again, unless it is surplus
)

// mostRollouts is how many rollouts an evaluation may have in all, so that no message makes the
// server need more memory than there is.
const mostRollouts = 1 << 26

// begin begins the evaluation of a setup, with what is known of its rollouts. With ahead,
// rollouts that are likely to be selected are given while others are waited for; without,
// those alone that count. A setup that cannot be is a *FieldError.
func begin(setup *evaluation.Setup, reference *neyman.Prior, ahead bool, known []*record) (*session, error) {
	tasks := len(setup.TaskIDs)
	if setup.Budget > design.MostBudget || tasks*setup.Budget > mostRollouts {
		return nil, Faultf("budget", "%d rollouts of each of %d tasks: want %d for each and %d in all at most", setup.Budget, tasks, design.MostBudget, mostRollouts)
	}
	s := &session{
		setup: setup, reference: reference, ahead: ahead, index: make(map[string]int, tasks),
		past: make([]int, tasks), tasks: make([][]entry, tasks),
	}
	for i, id := range setup.TaskIDs {
		if _, again := s.index[id]; again {
			return nil, Faultf("setup.task_ids", "%q is there twice", id)
		}
		s.index[id], s.past[i] = i, setup.Extends.Rollouts(i)
	}
	var err error
	if s.control, err = setup.Controller(reference, ahead, s.used, func(int64) {}); err != nil {
		return nil, Faultf("setup", "%v", err)
	}
	for _, rewarded := range []bool{false, true} { // rewards let the controller go on: what is in flight is known before
		for _, r := range known {
			if (r.State == completed) != rewarded {
				continue
			}
			if err := s.restoreRecord(r); err != nil {
				return nil, err
			}
		}
	}
	for task, n := range s.past {
		if k := slices.IndexFunc(s.tasks[task], func(e entry) bool { return e.state != completed }); len(s.tasks[task]) < n || k >= 0 && k < n {
			return nil, Faultf("rewards", "task %q lacks rewards of the %d rollouts that are extended", setup.TaskIDs[task], n)
		}
	}
	return s, s.catchUp()
}

// restoreRecord says where a rollout stood when the session was left.
func (s *session) restoreRecord(r *record) error {
	task, known := s.index[r.Task]
	if !known || r.Number < 1 || r.Number > mostRollouts {
		return Faultf("rollout", "%d of task %q is none of this evaluation", r.Number, r.Task)
	}
	e := s.at(task, r.Number)
	switch {
	case r.Number <= s.past[task] && (r.State != completed || !(r.Reward >= 0 && r.Reward <= 1)):
		return Faultf("rollout", "%d of task %q is of the evaluation that is extended, and has no reward from 0 to 1", r.Number, r.Task)
	case r.Number <= s.past[task]:
		e.state, e.reward, e.tokens = r.State, r.Reward, r.Tokens
		return nil
	}
	if e.state = given; r.State != completed {
		return nil
	}
	_, err := s.completed(r.Rollout, r.Reward, r.Tokens)
	return err
}

// records are all rollouts that something was said of, by task and number.
func (s *session) records() (all []*record) {
	for task, entries := range s.tasks {
		for k, e := range entries {
			all = append(all, &record{Rollout{s.setup.TaskIDs[task], k + 1}, e.state, e.reward, e.tokens})
		}
	}
	return all
}

// used is the tokens of the first rollouts of a task.
func (s *session) used(task, rollouts int) (u ledger.Used) {
	for _, e := range s.tasks[task][:min(rollouts, len(s.tasks[task]))] {
		n := float64(e.tokens)
		u.All, u.Sum, u.Squares = u.All+n, u.Sum+n, u.Squares+n*n
	}
	return u
}

// id is the controller's name of a rollout that is not of the past.
func (s *session) id(task, number int) controller.ID {
	return s.setup.ControllerID(task, number-1-s.past[task])
}

// at is the entry of a rollout, which is made if it is not there.
func (s *session) at(task, number int) *entry {
	for len(s.tasks[task]) < number {
		s.tasks[task] = append(s.tasks[task], entry{})
	}
	return &s.tasks[task][number-1]
}

// next gives rollouts to run, at most the given number. They are in flight from then on.
func (s *session) next(most int) ([]Rollout, error) {
	rollouts := make([]Rollout, 0, min(most, 1024))
	for len(rollouts) < most {
		if len(s.ready) == 0 {
			more, err := s.pull()
			if err != nil || !more {
				return rollouts, err
			}
			continue
		}
		r := s.ready[0]
		s.ready = s.ready[1:]
		task := s.index[r.Task]
		if e := s.at(task, r.Number); (e.state == "" || e.state == failed) && !s.control.Surplus(s.id(task, r.Number)) {
			e.state = given
			rollouts = append(rollouts, r)
		}
	}
	return rollouts, nil
}

// pull takes a rollout from the controller: to the ready ones, unless it is in flight or
// completed already. It returns false if the controller has none now.
func (s *session) pull() (more bool, err error) {
	if s.speculating {
		s.forecast()
	}
	id, ok := s.control.Next()
	if !ok && !s.speculating {
		s.forecast()
		id, ok = s.control.Next()
	}
	if !ok {
		return false, nil
	}
	s.speculating = !s.control.Selected(id)
	number := int(s.setup.RolloutID(id).Rollout) + 1
	e := s.at(int(id.Task), number)
	e.submitted = true
	switch e.state {
	case "", failed:
		s.ready = append(s.ready, Rollout{s.setup.TaskIDs[id.Task], number})
	case completed:
		s.early--
		_, err = s.control.Rewarded(id, e.reward)
	}
	return true, err
}

// forecast puts an allocation by the rewards so far in force, for what is given ahead.
func (s *session) forecast() {
	if p := s.control.Snapshot(); p != nil {
		p.Solve()
		s.control.Apply(p)
	}
}

// catchUp lets the controller submit rollouts whose rewards are there, until there are
// none or it waits for others.
func (s *session) catchUp() error {
	for s.early > 0 {
		if more, err := s.pull(); err != nil || !more {
			return err
		}
	}
	return nil
}

// completed takes the reward of a rollout in flight, from 0 to 1, and the tokens of its
// answer, 0 if they are not known. released is true where that let the evaluation decide
// what comes next.
func (s *session) completed(r Rollout, reward float64, tokens int64) (released bool, err error) {
	task, e, err := s.flying(r)
	switch {
	case err != nil:
		return false, err
	case !(reward >= 0 && reward <= 1):
		return false, Faultf("reward", "%v of rollout %d of task %q: want a number from 0 to 1", reward, r.Number, r.Task)
	case tokens < 0:
		return false, Faultf("tokens", "%d: want 0 or more", tokens)
	}
	e.state, e.reward, e.tokens = completed, reward, tokens
	s.reported, s.outcome = s.reported+1, nil
	if !e.submitted { // in flight since before the session was restored
		s.early++
		stage := s.control.Stage()
		err = s.catchUp()
		return s.control.Stage() > stage, err
	}
	if released, err = s.control.Rewarded(s.id(task, r.Number), reward); err == nil && released {
		err = s.catchUp()
	}
	return released, err
}

// failed takes note that a rollout in flight has no reward, and is to be run again unless it is
// surplus.
func (s *session) failed(r Rollout) error {
	task, e, err := s.flying(r)
	if err != nil {
		return err
	}
	if e.state = failed; e.submitted {
		return s.control.Failed(s.id(task, r.Number))
	}
	return nil
}

// flying is the entry of a rollout that must be in flight.
func (s *session) flying(r Rollout) (task int, e *entry, err error) {
	task, known := s.index[r.Task]
	if !known {
		return 0, nil, Faultf("task", "%q is none of the evaluation's %d tasks", r.Task, len(s.tasks))
	}
	now := state("")
	if r.Number >= 1 && r.Number <= len(s.tasks[task]) {
		e = &s.tasks[task][r.Number-1]
		now = e.state
	}
	switch now {
	case given:
		return task, e, nil
	case completed:
		return 0, nil, Faultf("rollout", "%d of task %q has completed already", r.Number, r.Task)
	}
	return 0, nil, Faultf("rollout", "%d of task %q is not in flight: next gives rollouts, and only those count", r.Number, r.Task)
}

// inFlight are the rollouts that were given and have not been reported: the surplus, or all others,
// which may count.
func (s *session) inFlight(surplus bool) []Rollout {
	all := []Rollout{}
	for task, entries := range s.tasks {
		for k, e := range entries {
			if e.state == given && surplus == s.control.Surplus(s.id(task, k+1)) {
				all = append(all, Rollout{s.setup.TaskIDs[task], k + 1})
			}
		}
	}
	return all
}

// final reports whether everything is decided: what is selected, and what is surplus.
func (s *session) final() bool {
	return s.control.Policy == controller.Uniform || s.control.Allocation() != nil
}

// done reports whether every selected rollout has completed.
func (s *session) done() bool { return s.control.Done() }

// counts reports whether a rollout has a reward that counts so far.
func (s *session) counts(task, number int) bool {
	return s.tasks[task][number-1].state == completed && (number <= s.past[task] || s.control.Selected(s.id(task, number)))
}

// result is the result of the evaluation, once it is done.
func (s *session) result() (*evaluation.Result, error) {
	if s.outcome != nil {
		return s.outcome, nil
	}
	r, err := s.setup.Outcome(s.control, s.reference, func(task, rollout int) float64 { return s.tasks[task][rollout].reward })
	if err != nil {
		return nil, err
	}
	s.spent(r)
	s.outcome = r
	return r, nil
}

// rescored is the result by another scorer's rewards of the same rollouts, each from 0 to 1
// and there once. How many rollouts a task has is as it was decided: their weights were set
// before they were seen, so that this mean is unbiased too.
func (s *session) rescored(all []rewarded) (*evaluation.Result, error) {
	rewards := make(map[Rollout]float64, len(all))
	for _, r := range all {
		_, again := rewards[r.Rollout]
		if r.Reward == nil || !(*r.Reward >= 0 && *r.Reward <= 1) || again {
			return nil, Faultf("rewards", "rollout %d of task %q: want one reward from 0 to 1", r.Number, r.Task)
		}
		rewards[r.Rollout] = *r.Reward
	}
	var missing error
	result, err := s.setup.Outcome(s.control, s.reference, func(task, rollout int) float64 {
		r := Rollout{s.setup.TaskIDs[task], rollout + 1}
		reward, there := rewards[r]
		if !there {
			missing = Faultf("rewards", "rollout %d of task %q counts and has none", r.Number, r.Task)
		}
		return reward
	})
	if missing != nil {
		return nil, missing
	}
	return result, err
}

// spent says in a result what was spent, and that a limit was exceeded: what is in flight
// is the other program's, and nothing of it is dropped.
func (s *session) spent(r *evaluation.Result) {
	all := int64(0)
	for task, entries := range s.tasks {
		for k, e := range entries {
			all += e.tokens
			switch counts := s.counts(task, k+1); {
			case s.setup.Stop != nil && s.setup.Stop.Dollars > 0: // tokens are dollars then
			case counts && e.tokens == 0:
				r.Tokens.Untold++
			case counts:
				r.Tokens.Completion += e.tokens
			default:
				r.Tokens.Wasted += e.tokens
			}
		}
	}
	limit := s.setup.Limit()
	if limit == 0 {
		return
	}
	text := fmt.Sprintf("%d tokens were reported, more than max_tokens %d", all, r.Stop.Tokens)
	if r.Stop.Dollars > 0 {
		r.Cost = &evaluation.Cost{Dollars: float64(all) / 1e6, Reported: true}
		text = fmt.Sprintf("$%.4g were reported, more than max_usd %g", r.Cost.Dollars, r.Stop.Dollars)
	} else {
		r.Tokens.All = all
	}
	if all > limit {
		r.Notes = append(r.Notes, text+": the rollouts count all the same")
	}
}

// provisional is the mean as the rewards so far have it: an expectation under the prior,
// and no estimate. Answers that come in first are the short ones.
func (s *session) provisional() (mean float64, counted int, err error) {
	rollouts, rewards := make([]int, len(s.tasks)), make([]float64, len(s.tasks))
	for task, entries := range s.tasks {
		for k, e := range entries {
			if s.counts(task, k+1) {
				counted++
				rollouts[task]++
				rewards[task] += e.reward
			}
		}
	}
	update, err := s.reference.Update(rollouts, rewards)
	if err != nil {
		return math.NaN(), counted, err
	}
	for task := range s.tasks {
		expected, _ := update.Moments(task)
		share := 1 / float64(len(s.tasks))
		if s.setup.Shares != nil {
			share = s.setup.Shares[task]
		}
		mean += share * expected
	}
	return mean, counted, nil
}
