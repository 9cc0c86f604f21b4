package evaluation

import (
	"path/filepath"

	"speceval/method/controller"
	"speceval/method/estimate"
)

// Extends is the evaluation that another one adds rollouts to: complete, of the same model and tasks
// under the same seed. New rollouts of a task have the numbers behind its own.
type Extends struct {
	Name   string             `json:"name"`
	Folder string             `json:"folder"`
	Stages [][]estimate.Stage `json:"stages"` // by task
}

// Extending extends the evaluation of a result in a folder.
func Extending(r *Result, folder string) *Extends {
	x := &Extends{Name: filepath.Base(folder), Folder: folder}
	for _, t := range r.Rows {
		x.Stages = append(x.Stages, t.Stages)
	}
	return x
}

// past is the evaluation as the controller takes it.
func (x *Extends) past() *controller.Past {
	p := new(controller.Past)
	for _, stages := range x.Stages {
		t, all := estimate.Task{Stages: stages}, estimate.Sum(stages)
		p.Means, p.Shrinkage = append(p.Means, t.Value()), append(p.Shrinkage, t.Shrinkage())
		p.Counts = append(p.Counts, controller.Count{Rollouts: all.Rollouts, Rewards: all.Rewards, Squares: all.Squares})
	}
	return p
}

// All is the number of its rollouts; 0 of nil.
func (x *Extends) All() (n int) {
	if x != nil {
		for i := range x.Stages {
			n += x.Rollouts(i)
		}
	}
	return n
}

// Rollouts is the number of its rollouts of a task; 0 of nil.
func (x *Extends) Rollouts(task int) int {
	if x == nil {
		return 0
	}
	return estimate.Sum(x.Stages[task]).Rollouts
}
