package trial

import (
	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/method/informed"
	"speceval/method/staged"
)

// Trial simulates evaluations under one plan and one prior, one after the other. It
// serves one goroutine.
type Trial struct {
	stages    *staged.Stages
	posterior *informed.Posterior
	passes    []int
	scores    []float64

	// Whole draws the last stage, too, of which the outcome decides on nothing: the
	// estimate is then there.
	Whole bool
}

// New simulates evaluations of some tasks.
func New(stages *staged.Stages, posterior *informed.Posterior) *Trial {
	n := len(stages.Sizes())
	return &Trial{stages: stages, posterior: posterior, passes: make([]int, n), scores: make([]float64, n)}
}

// Run simulates an evaluation of tasks with probabilities ps, whose pilot is given
// by its passes, or drawn if it is nil. It returns Σ p(1−p)·Σ c²/n over the tasks and
// their stages, the variance of the estimate times N².
func (t *Trial) Run(ps []float64, pilot []int, random *seed.Stream) (float64, error) {
	t.stages.Restart()
	t.posterior.Restart()
	passes := pilot
	if pilot == nil {
		passes = t.draw(ps, random)
	}
	for {
		if err := t.stages.Observe(passes); err != nil {
			return 0, err
		}
		if t.stages.Done() {
			return t.variance(ps), nil
		}
		if err := t.posterior.Observe(t.stages.Sizes(), passes); err != nil {
			return 0, err
		}
		t.posterior.Scores(t.scores)
		if err := t.stages.Decide(t.scores); err != nil {
			return 0, err
		}
		if t.stages.Left() == 0 && !t.Whole {
			return t.variance(ps), nil
		}
		passes = t.draw(ps, random)
	}
}

// Estimate is the mean that the last evaluation has found, if it was Whole.
func (t *Trial) Estimate() float64 { return t.stages.Mean() }

// variance is Σ p(1−p)·Σ c²/n.
func (t *Trial) variance(ps []float64) float64 {
	sum := 0.0
	for i, s := range t.stages.Shrinkage() {
		sum += ps[i] * (1 - ps[i]) * s
	}
	return sum
}

// draw draws the passes of the stage under way. Each task has a stream of its own, so
// that tasks of other probabilities meet the same numbers.
func (t *Trial) draw(ps []float64, random *seed.Stream) []int {
	stage := random.Fork()
	for i, n := range t.stages.Sizes() {
		own := stage.At(uint64(i))
		t.passes[i] = pilot.Binomial(n, ps[i], &own)
	}
	return t.passes
}
