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

// Counted is the result of rollouts that another program has run, by the one stage of each task.
// Their numbers must not have been decided by rewards.
func Counted(benchmark, model string, ids []string, stages [][]estimate.Stage, prior *neyman.Prior) (*Result, error) {
	if len(ids) < 2 {
		return nil, fmt.Errorf("%s with %s has %d tasks: want 2 at least", benchmark, model, len(ids))
	}
	s := Setup{Benchmark: benchmark, Model: model, Policy: "uniform", TaskIDs: ids}
	r := s.begun()
	r.Provenance = "measured"
	for i := range ids {
		all := stages[i][0]
		all.Weight = 1
		t := Task{Index: int32(i), ID: ids[i], Pilots: int32(all.Rollouts), Stages: []estimate.Stage{all}}
		if all.Rewards == all.Squares { // none is between 0 and 1
			t.PilotPasses = int32(all.Rewards)
		}
		r.Rollouts, r.Rows = r.Rollouts+all.Rollouts, append(r.Rows, t)
	}
	r.Budget = max(1, r.Rollouts/r.Tasks)
	return r, r.follow(&s, 1, prior)
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
	if err := m.put(folder, result); err != nil {
		return err
	}
	return m.write(folder)
}
