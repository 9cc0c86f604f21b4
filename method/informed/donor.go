package informed

import (
	"fmt"
	"math"
)

// Donor is what is known of the tasks from elsewhere: so many passes of so many
// rollouts of each. A task that the donor has not seen has no rollouts.
type Donor struct {
	Name             string // for messages
	Passes, Rollouts []int  // by task
}

// mostRollouts is the greatest number of rollouts of a donor's task, so that pass
// rates of a whole benchmark can be summed exactly.
const mostRollouts = 1 << 30

// check says what is wrong with a donor of so many tasks, if anything.
func (d Donor) check(tasks int) error {
	if len(d.Passes) != tasks || len(d.Rollouts) != tasks {
		return fmt.Errorf("donor %s: passes of %d tasks and rollouts of %d, want %d of each", d.Name, len(d.Passes), len(d.Rollouts), tasks)
	}
	seen := false
	for i, n := range d.Rollouts {
		if c := d.Passes[i]; n < 0 || n > mostRollouts || c < 0 || c > n {
			return fmt.Errorf("donor %s: task %d has %d passes of %d rollouts", d.Name, i, c, n)
		}
		seen = seen || n > 0
	}
	if !seen {
		return fmt.Errorf("donor %s has no rollout of any of the %d tasks: are they of another benchmark?", d.Name, tasks)
	}
	return nil
}

// smoothing keeps the logit of a pass rate finite.
const smoothing = 0.4

// logits are those of the donor's pass rates. A task that it has not seen has the
// mean of the others.
func (d Donor) logits() []float64 {
	all := make([]float64, len(d.Passes))
	sum, seen := 0.0, 0.0
	for i, n := range d.Rollouts {
		if n > 0 {
			c := float64(d.Passes[i])
			all[i] = math.Log((c + smoothing) / (float64(n) - c + smoothing))
			sum, seen = sum+all[i], seen+1
		}
	}
	for i, n := range d.Rollouts {
		if n == 0 {
			all[i] = sum / seen
		}
	}
	return all
}

// meanLogits are the means of the logits of some donors, task by task.
func meanLogits(donors []Donor) []float64 {
	mean := make([]float64, len(donors[0].Passes))
	for _, d := range donors {
		for i, x := range d.logits() {
			mean[i] += x / float64(len(donors))
		}
	}
	return mean
}

// levels puts tasks with about the same logit together: into steps of a half, within
// ±8. It returns the level of each task and the logit of each level.
func levels(logits []float64) (of []int32, values []float64) {
	number := map[int]int32{}
	for _, x := range logits {
		step := int(math.Round(2 * min(8, max(-8, x))))
		at, known := number[step]
		if !known {
			at = int32(len(values))
			number[step] = at
			values = append(values, float64(step)/2)
		}
		of = append(of, at)
	}
	return of, values
}
