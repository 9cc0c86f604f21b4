package evaluation

import "speceval/method/estimate"

// firstSchema is that of results in two stages at most, of passes and failures.
const firstSchema = "evaluation-result/1"

// upgrade makes a result of the first schema one of today.
func (r *Result) upgrade(path string) error {
	var m estimate.Mean
	for i := range r.Rows {
		t := &r.Rows[i]
		t.Stages = []estimate.Stage{estimate.Binary(int(t.Pilots), int(t.PilotPasses), r.Design.Weight)}
		if t.Continuations > 0 {
			t.Stages = append(t.Stages, estimate.Binary(int(t.Continuations), int(t.ContinuationPasses), 1-r.Design.Weight))
		}
		for _, s := range t.Stages {
			n := float64(s.Rollouts)
			t.Estimate += s.Weight * s.Rewards / n
			t.Shrinkage += s.Weight * s.Weight / n
		}
		m.Tasks = append(m.Tasks, estimate.Moments{Value: t.Estimate})
	}
	r.Schema = resultSchema
	if err := r.check(path); err != nil {
		return err
	}
	var err error
	r.SampleError, err = OverTasks(m, nil, nil)
	return err
}
