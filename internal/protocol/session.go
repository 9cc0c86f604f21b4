package protocol

import (
	"fmt"
	"math"

	"speceval/internal/evaluation"
	"speceval/internal/ledger"
	"speceval/method/controller"
	"speceval/method/design"
	"speceval/method/neyman"
)

// Rollout names a rollout of an evaluation.
type Rollout struct {
	Task   string `json:"task"`
	Number int    `json:"rollout"` // within the task, from 1
}

// Session is an evaluation whose rollouts another program runs. It is not safe for
// concurrent use.
type Session struct {
	setup     *evaluation.Setup
	reference *neyman.Prior
	control   *controller.Controller

	index map[string]int // of the tasks
	tasks [][]entry      // rollouts by task, in the order of their numbers
	ready []Rollout      // submitted by the controller, and not given yet
	early int            // rewards that were there before the controller submitted their rollouts

	completed   int // rewards
	speculating bool
	result      *evaluation.Result // once it has been asked for
}

// entry is where a rollout stands.
type entry struct {
	state     state
	submitted bool // by the controller
	reward    float64
	tokens    int64
}

type state uint8

const (
	unknown state = iota
	inFlight
	done
	aborted
)

// mostRollouts is how many rollouts an evaluation may have in all, so that no message makes the
// server need more memory than there is.
const mostRollouts = 1 << 26

// Begin begins the evaluation of a setup. With ahead, rollouts that are likely to be
// selected are given while others are waited for; without, those alone that count. A setup
// that cannot be is a *FieldError.
func Begin(setup *evaluation.Setup, reference *neyman.Prior, ahead bool) (*Session, error) {
	if setup.Budget > design.MostBudget || len(setup.TaskIDs)*setup.Budget > mostRollouts {
		return nil, &FieldError{"budget", fmt.Sprintf("%d rollouts of each of %d tasks: want %d for each and %d in all at most", setup.Budget, len(setup.TaskIDs), design.MostBudget, mostRollouts)}
	}
	s := &Session{setup: setup, reference: reference, index: make(map[string]int, len(setup.TaskIDs)), tasks: make([][]entry, len(setup.TaskIDs))}
	for i, id := range setup.TaskIDs {
		s.index[id] = i
	}
	var err error
	if s.control, err = setup.Controller(reference, ahead, s.used, func(int64) {}); err != nil {
		return nil, &FieldError{"setup", err.Error()}
	}
	return s, nil
}

// used is the tokens of the first rollouts of a task.
func (s *Session) used(task, rollouts int) (u ledger.Used) {
	for _, e := range s.tasks[task][:min(rollouts, len(s.tasks[task]))] {
		n := float64(e.tokens)
		u.All, u.Sum, u.Squares = u.All+n, u.Sum+n, u.Squares+n*n
	}
	return u
}

// id is the controller's name of a rollout.
func (s *Session) id(task, number int) controller.ID {
	if m := s.control.Pilots; number > m {
		return controller.ID{Task: int32(task), Phase: controller.Continuation, Ordinal: int32(number - m)}
	}
	return controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(number)}
}

// at is the entry of a rollout, which is made if it is not there.
func (s *Session) at(task, number int) *entry {
	for len(s.tasks[task]) < number {
		s.tasks[task] = append(s.tasks[task], entry{})
	}
	return &s.tasks[task][number-1]
}

// Next gives rollouts to run, at most the given number. They are in flight from then on.
func (s *Session) Next(most int) ([]Rollout, error) {
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
		if e := s.at(task, r.Number); e.state == unknown && !s.control.Surplus(s.id(task, r.Number)) {
			e.state = inFlight
			rollouts = append(rollouts, r)
		}
	}
	return rollouts, nil
}

// pull takes a rollout from the controller: to the ready ones, unless it is in flight or
// completed already. It returns false if the controller has none now.
func (s *Session) pull() (more bool, err error) {
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
	number := int(id.Ordinal)
	if id.Phase == controller.Continuation {
		number += s.control.Pilots
	}
	e := s.at(int(id.Task), number)
	e.submitted = true
	switch e.state {
	case unknown:
		s.ready = append(s.ready, Rollout{s.setup.TaskIDs[id.Task], number})
	case done:
		s.early--
		_, err = s.control.Rewarded(id, e.reward)
	}
	return true, err
}

// forecast puts an allocation by the rewards so far in force, for what is given ahead.
func (s *Session) forecast() {
	if p := s.control.Snapshot(); p != nil {
		p.Solve()
		s.control.Apply(p)
	}
}

// catchUp lets the controller submit rollouts whose rewards are there, until there are
// none or it waits for others.
func (s *Session) catchUp() error {
	for s.early > 0 {
		if more, err := s.pull(); err != nil || !more {
			return err
		}
	}
	return nil
}

// Completed takes the reward of a rollout in flight, from 0 to 1, and the tokens of its
// answer, 0 if they are not known. released is true where that let the evaluation decide
// what comes next.
func (s *Session) Completed(r Rollout, reward float64, tokens int64) (released bool, err error) {
	task, e, err := s.flying(r)
	switch {
	case err != nil:
		return false, err
	case !(reward >= 0 && reward <= 1):
		return false, &FieldError{"reward", fmt.Sprintf("%v of rollout %d of task %q: want a number from 0 to 1", reward, r.Number, r.Task)}
	case tokens < 0:
		return false, &FieldError{"tokens", fmt.Sprintf("%d: want 0 or more", tokens)}
	}
	e.state, e.reward, e.tokens = done, reward, tokens
	s.completed++
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

// Failed takes note that a rollout in flight has no reward: it is to be run again.
func (s *Session) Failed(r Rollout) error {
	task, e, err := s.flying(r)
	if err != nil {
		return err
	}
	e.state = unknown
	if e.submitted {
		return s.control.Failed(s.id(task, r.Number))
	}
	return nil
}

// Aborted takes note that a surplus rollout was given up.
func (s *Session) Aborted(r Rollout) error {
	task, e, err := s.flying(r)
	if err != nil {
		return err
	}
	if !s.control.Surplus(s.id(task, r.Number)) {
		return &FieldError{"rollout", fmt.Sprintf("%d of task %q may count yet and cannot be given up: report it completed, or failed to have it run again", r.Number, r.Task)}
	}
	e.state = aborted
	if e.submitted {
		return s.control.Ended(s.id(task, r.Number))
	}
	return nil
}

// flying is the entry of a rollout that must be in flight.
func (s *Session) flying(r Rollout) (task int, e *entry, err error) {
	task, known := s.index[r.Task]
	if !known {
		return 0, nil, &FieldError{"task", fmt.Sprintf("%q is none of the evaluation's %d tasks", r.Task, len(s.tasks))}
	}
	state := unknown
	if r.Number >= 1 && r.Number <= len(s.tasks[task]) {
		e = &s.tasks[task][r.Number-1]
		state = e.state
	}
	wrong := ""
	switch state {
	case inFlight:
		return task, e, nil
	case done:
		wrong = "has completed already"
	case aborted:
		wrong = "was given up"
	default:
		wrong = "is not in flight: next gives rollouts, and only those count"
	}
	return 0, nil, &FieldError{"rollout", fmt.Sprintf("%d of task %q %s", r.Number, r.Task, wrong)}
}

// InFlight are the rollouts that were given and have not been reported.
func (s *Session) InFlight() []Rollout { return s.list(func(int, int, *entry) bool { return true }) }

// Surplus are the rollouts in flight that will not count.
func (s *Session) Surplus() []Rollout {
	return s.list(func(task, number int, _ *entry) bool { return s.control.Surplus(s.id(task, number)) })
}

func (s *Session) list(which func(task, number int, e *entry) bool) []Rollout {
	all := []Rollout{}
	for task, entries := range s.tasks {
		for k := range entries {
			if e := &entries[k]; e.state == inFlight && which(task, k+1, e) {
				all = append(all, Rollout{s.setup.TaskIDs[task], k + 1})
			}
		}
	}
	return all
}

// Final reports whether everything is decided: what is selected, and what is surplus.
func (s *Session) Final() bool {
	return s.control.Policy == controller.Uniform || s.control.Allocation() != nil
}

// Done reports whether every selected rollout has completed.
func (s *Session) Done() bool { return s.control.Done() }

// Completions is how many rollouts have completed, selected or not.
func (s *Session) Completions() int { return s.completed }

// Result is the result of the evaluation, once Done.
func (s *Session) Result() (*evaluation.Result, error) {
	if !s.Done() {
		return nil, &FieldError{"type", "the evaluation is not complete"}
	}
	if s.result != nil {
		return s.result, nil
	}
	r, err := s.setup.Outcome(s.control, s.reference, func(task, rollout int) float64 { return s.tasks[task][rollout].reward })
	if err == nil {
		s.noteLimit(r)
		s.result = r
	}
	return r, err
}

// rescored is what the evaluation comes to, once Done, by another scorer's rewards of its
// rollouts. How many rollouts a task has is as it was decided: their weights were set
// before they were seen, so that this mean is unbiased too.
func (s *Session) rescored(rewards map[Rollout]float64) (*evaluation.Result, error) {
	if !s.Done() {
		return nil, &FieldError{"rewards", "the evaluation is not complete"}
	}
	var missing error
	result, err := s.setup.Outcome(s.control, s.reference, func(task, rollout int) float64 {
		r := Rollout{s.setup.TaskIDs[task], rollout + 1}
		reward, there := rewards[r]
		if !there {
			missing = &FieldError{"rewards", fmt.Sprintf("rollout %d of task %q counts and has none", r.Number, r.Task)}
		}
		return reward
	})
	if missing != nil {
		return nil, missing
	}
	return result, err
}

// noteLimit says in a result that a limit on tokens was exceeded: what is in flight is the
// other program's, and nothing of it is dropped.
func (s *Session) noteLimit(r *evaluation.Result) {
	limit := s.setup.Limit()
	if limit == 0 {
		return
	}
	all := int64(0)
	for _, entries := range s.tasks {
		for _, e := range entries {
			all += e.tokens
		}
	}
	said := fmt.Sprintf("%d tokens were reported, more than max_tokens %d", all, r.Stop.Tokens)
	if r.Stop.Dollars > 0 {
		r.Cost = &evaluation.Cost{Dollars: float64(all) / 1e6, Reported: true}
		said = fmt.Sprintf("$%.4g were reported, more than max_usd %g", r.Cost.Dollars, r.Stop.Dollars)
	} else {
		r.Tokens.All = all
	}
	if all > limit {
		r.Notes = append(r.Notes, said+": the rollouts count all the same")
	}
}

// Counts are the rollouts of each task whose rewards count so far, and the sums of their
// rewards.
func (s *Session) Counts() (rollouts []int, rewards []float64) {
	rollouts, rewards = make([]int, len(s.tasks)), make([]float64, len(s.tasks))
	for task, entries := range s.tasks {
		for k, e := range entries {
			if e.state == done && s.control.Selected(s.id(task, k+1)) {
				rollouts[task]++
				rewards[task] += e.reward
			}
		}
	}
	return rollouts, rewards
}

// Provisional is the mean as the rewards so far have it: an expectation under the prior,
// and no estimate. Answers that come in first are the short ones.
func (s *Session) Provisional() (float64, error) {
	update, err := s.reference.UpdateGraded(s.Counts())
	if err != nil {
		return math.NaN(), err
	}
	sum := 0.0
	for task := range s.tasks {
		mean, _ := update.Moments(task)
		share := 1 / float64(len(s.tasks))
		if s.setup.Shares != nil {
			share = s.setup.Shares[task]
		}
		sum += share * mean
	}
	return sum, nil
}
