//go:build drill

package evaluations_test

import (
	"fmt"

	"speceval/drills/drill"
	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// prediction is the variance of a policy's estimates relative to Uniform's.
type prediction struct {
	Ratio float64 // mean over draws
	SE    float64 // its Monte Carlo standard error; 0 of Uniform, which is 1 by definition
	Spent float64 // rollouts per task, mean over draws: the budget unless the evaluation stops by what it finds
}

// String is the ratio with its error.
func (p prediction) String() string {
	if p.SE == 0 {
		return fmt.Sprintf("%.0f", p.Ratio)
	}
	return fmt.Sprintf("%.3f ± %.4f", p.Ratio, p.SE)
}

// forecast draws evaluations of a profile whose pass rates are taken for the truth, under
// the setup of an evaluation: its design, its donors, its rule to stop. If it extends
// another one, that is drawn as well.
type forecast struct {
	*drill.Lab
	profile   profile.Profile
	setup     *evaluation.Setup
	extended  *evaluation.Setup // nil unless the setup extends another one
	reference *neyman.Prior
	draws     int
	seed      uint64
}

// predict is the mean over draws of Σ p(1−p)·Σ c²/n, the variance of an estimate given
// the rollouts that decided on it, relative to Uniform's with as many rollouts on average
// (paper, Section 4.1, of which informed and staged policies are the general case).
func (f forecast) predict() prediction {
	f.Helper()
	if f.setup.Policy == uniform {
		return prediction{Ratio: 1, Spent: float64(f.setup.Budget)}
	}
	own := rulesOf(f.Lab, f.setup, f.reference)
	var earlier *rules
	if f.extended != nil {
		earlier = rulesOf(f.Lab, f.extended, f.reference)
	}
	streams := seed.Root(f.seed).Child("forecast").Child(f.profile.Name()).Stream()
	var variances, spent []float64
	for draw := range f.draws {
		random := streams.At(uint64(draw))
		var past [][]estimate.Stage
		before := 0
		if earlier != nil {
			past, before, _ = f.draw(earlier, nil, &random)
		}
		_, rollouts, variance := f.draw(own, past, &random)
		variances = append(variances, variance)
		spent = append(spent, float64(before+rollouts)/float64(f.profile.N()))
	}
	mean, se := meanOf(variances)
	perTask, _ := meanOf(spent)
	unit := f.profile.VarianceSum() / perTask
	return prediction{Ratio: mean / unit, SE: se / unit, Spent: perTask}
}

// draw draws an evaluation under some rules, after the stages of the evaluation that it
// extends; nil: none. It returns its own stages by task, their rollouts, and
// Σ p(1−p)·Σ c²/n.
func (f forecast) draw(r *rules, past [][]estimate.Stage, random *seed.Stream) (stages [][]estimate.Stage, rollouts int, variance float64) {
	stages = make([][]estimate.Stage, f.profile.N())
	d := r.begin(past)
	for done := false; !done; {
		passes := make([]int, f.profile.N())
		weights := d.stages.Weights()
		for i, n := range d.stages.Sizes() {
			if n > 0 {
				passes[i] = pilot.Binomial(n, f.profile.P(i), random)
				rollouts += n
				stages[i] = append(stages[i], estimate.Binary(n, passes[i], weights[i]))
			}
		}
		done = d.next(passes)
	}
	for i, shrinkage := range d.stages.Shrinkage() {
		p := f.profile.P(i)
		variance += p * (1 - p) * shrinkage
	}
	return stages, rollouts, variance
}
