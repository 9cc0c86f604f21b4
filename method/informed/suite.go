package informed

import (
	"fmt"
	"math/rand/v2"
)

// Suite is the priors of several benchmarks, whose tasks follow one another. What one
// benchmark shows of its tasks says nothing of another's.
type Suite []*Prior

// Tasks is the number of tasks of all benchmarks.
func (s Suite) Tasks() (n int) {
	for _, p := range s {
		n += p.tasks
	}
	return n
}

// Draw draws the probabilities of all tasks into ps, by the place for each benchmark: see
// [Prior.Draw].
func (s Suite) Draw(place func(benchmark int) float64, source rand.Source, ps []float64) {
	for k, p := range s {
		p.Draw(place(k), source, ps[:p.tasks])
		ps = ps[p.tasks:]
	}
}

// Posteriors returns the posteriors of all benchmarks before any rollout.
func (s Suite) Posteriors() (all Posteriors) {
	for _, p := range s {
		all = append(all, p.Posterior())
	}
	return all
}

// Posteriors is the posteriors of several benchmarks, which take the counts and give the
// scores of all of their tasks as one Posterior does. It serves one goroutine.
type Posteriors []*Posterior

// Restart forgets all rollouts.
func (q Posteriors) Restart() {
	for _, p := range q {
		p.Restart()
	}
}

// Observe adds further rollouts of each task, and how many of them passed: see
// [Posterior.Observe].
func (q Posteriors) Observe(rollouts, passes []int) error {
	for _, p := range q {
		n := min(p.prior.tasks, len(rollouts), len(passes))
		if err := p.Observe(rollouts[:n], passes[:n]); err != nil {
			return err
		}
		rollouts, passes = rollouts[n:], passes[n:]
	}
	if more := max(len(rollouts), len(passes)); more > 0 {
		return fmt.Errorf("informed: counts of %d tasks more than the benchmarks have", more)
	}
	return nil
}

// Scores writes the posterior expectation of p(1−p) of every task. It is positive.
func (q Posteriors) Scores(scores []float64) {
	for _, p := range q {
		p.Scores(scores[:p.prior.tasks])
		scores = scores[p.prior.tasks:]
	}
}
