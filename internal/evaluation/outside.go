package evaluation

import (
	"fmt"
	"io"

	"speceval/internal/store/atomicfile"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Outcome is the result of an evaluation whose rollouts another program has run, of a
// complete controller and the reward of each selected rollout, numbered from 0 in its
// task. What requests came to is not in it.
func (s *Setup) Outcome(c *controller.Controller, prior *neyman.Prior, reward func(task, rollout int) float64) (*Result, error) {
	r := s.begun()
	r.rows(s, c)
	for i := range r.Rows {
		t := &r.Rows[i]
		for n := range t.Pilots + t.Continuations {
			t.countReward(n, reward(i, int(n)))
		}
	}
	return r, r.follow(s, c.Least, prior)
}

// Of is the result of rollouts that another program has run, by the stages of each task.
func (s *Setup) Of(stages [][]estimate.Stage, prior *neyman.Prior) (*Result, error) {
	if len(s.TaskIDs) < 2 {
		return nil, fmt.Errorf("%s with %s has %d tasks: want 2 at least", s.Benchmark, s.Model, len(s.TaskIDs))
	}
	r := s.begun()
	for i, id := range s.TaskIDs {
		first := stages[i][0]
		t := Task{Index: int32(i), ID: id, Pilots: int32(first.Rollouts), Stages: stages[i]}
		if first.Rewards == first.Squares { // none is between 0 and 1
			t.PilotPasses = int32(first.Rewards)
		}
		r.Rollouts, r.Rows = r.Rollouts+first.Rollouts, append(r.Rows, t)
	}
	r.Budget = max(1, r.Rollouts/r.Tasks)
	return r, r.follow(s, 1, prior)
}

// Outside reports whether another program has run the rollouts, so that they follow from no
// seed.
func (r *Result) Outside() bool { return r.Rules == "" }

// Complete writes the result of an evaluation whose rollouts another program has run. With
// it the evaluation in the folder is complete; rollouts stay where that program has them. A
// result that is there, before surplus was reported, is replaced.
func (s *Setup) Complete(folder string, r *Result) error {
	was, err := readManifest(folder)
	if err != nil {
		return err
	}
	result := []part{{ResultFile, func(w io.Writer) error { return atomicfile.EncodeJSON(w, r) }}}
	m := newManifest("", was.records(setupFile)...)
	if was.complete() {
		return m.replace(folder, was, result)
	}
	if err := m.writeParts(folder, result); err != nil {
		return err
	}
	return m.write(folder)
}
