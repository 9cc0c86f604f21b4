package evaluation

import (
	"fmt"
	"io"

	"speceval/internal/store/atomicfile"
	"speceval/internal/store/files"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Outcome is the result of an evaluation whose rollouts another program has run, of a
// complete controller and the reward of each selected rollout, numbered from 0 in its
// task. What requests came to is not in it.
func (s *Setup) Outcome(c *controller.Controller, prior *neyman.Prior, reward func(task, rollout int) float64) (*Result, error) {
	r := s.begun()
	r.Provenance = "measured"
	r.rows(s, c)
	for i := range r.Rows {
		t := &r.Rows[i]
		for n := range t.Pilots + t.Continuations {
			t.take(n, reward(i, int(n)))
		}
	}
	return r, r.follow(s, c.Least, prior)
}

// Counted is the result of rollouts that another program has run, by their rewards by task.
// Their numbers must not have been decided by rewards.
func Counted(benchmark, model string, ids []string, rewards [][]float64, prior *neyman.Prior) (*Result, error) {
	s := Setup{Benchmark: benchmark, Model: model, Policy: "uniform", TaskIDs: ids}
	r := s.begun()
	r.Provenance = "measured"
	for i, all := range rewards {
		t := Task{Index: int32(i), ID: ids[i], Pilots: int32(len(all)), Stages: []estimate.Stage{{Rollouts: len(all), Weight: 1}}}
		for n, reward := range all {
			t.take(int32(n), reward)
		}
		r.Rollouts += len(all)
		r.Rows = append(r.Rows, t)
	}
	if r.Tasks < 2 {
		return nil, fmt.Errorf("%s with %s has %d tasks: want 2 at least", benchmark, model, r.Tasks)
	}
	r.Budget = max(1, r.Rollouts/r.Tasks)
	return r, r.follow(&s, 1, prior)
}

// Outside reports whether another program has run the rollouts, so that they follow from no
// seed.
func (r *Result) Outside() bool { return r.Rules == "" }

// Complete writes the result of an evaluation whose rollouts another program has run. With
// it the evaluation in the folder is complete; rollouts stay where that program has them.
func (s *Setup) Complete(folder string, r *Result) error {
	setup, err := files.DigestOf(folder, setupFile)
	if err != nil {
		return err
	}
	return newManifest("", setup).writeAll(folder, []part{{ResultFile, func(w io.Writer) error { return atomicfile.EncodeJSON(w, r) }}})
}

// Before is the number of rollouts of a task in the evaluation that this one extends; 0
// if it extends none.
func (s *Setup) Before(task int) int {
	if s.Extends == nil {
		return 0
	}
	return s.Extends.rollouts(task)
}
