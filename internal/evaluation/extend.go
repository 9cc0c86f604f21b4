package evaluation

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"speceval/internal/rollout"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/staged"
)

// Extends is the evaluation that another one adds rollouts to: complete, of the same
// model and tasks under the same seed, of which rollouts are numbered on.
type Extends struct {
	Name   string             `json:"name"`
	Folder string             `json:"folder"`
	Stages [][]estimate.Stage `json:"stages"` // by task
}

// Extending is what extends the evaluation of a result in a folder.
func Extending(r *Result, folder string) (*Extends, error) {
	x := &Extends{Name: filepath.Base(folder), Folder: folder}
	for _, t := range r.Rows {
		x.Stages = append(x.Stages, t.Stages)
	}
	return x, x.check(r.Tasks)
}

func (x *Extends) check(tasks int) error {
	if len(x.Stages) != tasks {
		return fmt.Errorf("it extends an evaluation of %d tasks, and has %d", len(x.Stages), tasks)
	}
	for i, stages := range x.Stages {
		weight := 0.0
		for _, s := range stages {
			weight += s.Weight
			if s.Rollouts < 0 || s.Rollouts == 0 && s.Weight > 0 {
				return fmt.Errorf("task %d of the evaluation that it extends has %d rollouts with weight %v", i, s.Rollouts, s.Weight)
			}
		}
		if math.Abs(weight-1) > 1e-6 {
			return fmt.Errorf("the weights of task %d of the evaluation that it extends come to %v", i, weight)
		}
	}
	return nil
}

// past is the evaluation as the controller takes it.
func (x *Extends) past() *controller.Past {
	p := &controller.Past{Past: staged.Past{Means: make([]float64, len(x.Stages)), Shrinkage: make([]float64, len(x.Stages))}}
	for i, stages := range x.Stages {
		var c controller.Count
		for _, s := range stages {
			c.Rollouts, c.Rewards, c.Squares = c.Rollouts+s.Rollouts, c.Rewards+s.Rewards, c.Squares+s.Squares
			if s.Rollouts > 0 {
				n := float64(s.Rollouts)
				p.Means[i] += s.Weight * s.Rewards / n
				p.Shrinkage[i] += s.Weight * s.Weight / n
			}
		}
		p.Counts = append(p.Counts, c)
	}
	return p
}

// all is how many rollouts it has; none of nil.
func (x *Extends) all() (n int) {
	if x == nil {
		return 0
	}
	for i := range x.Stages {
		n += x.rollouts(i)
	}
	return n
}

// rollouts are those of a task.
func (x *Extends) rollouts(task int) (n int) {
	for _, s := range x.Stages[task] {
		n += s.Rollouts
	}
	return n
}

// take copies the answers and verdicts that count into the journals of the evaluation
// that extends it, so that its folder has all that its result is of.
func (x *Extends) take(st *store, rules string, each func(*rollout.Rollout)) error {
	counts := func(id rollout.ID) bool {
		return int(id.Task) < len(x.Stages) && int(id.Rollout) < x.rollouts(int(id.Task))
	}
	for r, err := range rollout.Rollouts([]string{filepath.Join(x.Folder, RolloutsFile)}) {
		if err != nil {
			return x.fault(err)
		}
		if !counts(r.ID()) {
			continue
		}
		each(r)
		if !st.rollouts.Has(r.ID()) {
			if err := st.rollouts.Append(r); err != nil {
				return err
			}
		}
	}
	for v, err := range rollout.Scores(filepath.Join(x.Folder, ScoresFile)) {
		if err == nil && counts(v.ID()) && !st.verdicts.Has(v.ID()) {
			err = st.verdicts.Append(&verdict{*v, rules})
		}
		if err != nil {
			return x.fault(err)
		}
	}
	for i := range x.Stages {
		for n := range x.rollouts(i) {
			if id := (rollout.ID{Task: int32(i), Rollout: int32(n)}); !st.rollouts.Has(id) || !st.verdicts.Has(id) {
				return x.fault(fmt.Errorf("%v is not there", id))
			}
		}
	}
	return nil
}

func (x *Extends) fault(err error) error {
	return errors.Join(fmt.Errorf("the evaluation to extend, %s", x.Folder), err)
}
