package evaluated

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/evaluation"
	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// Forecast draws evaluations of a profile whose pass rates are taken for the truth, under
// the setup of an evaluation that the program has made: its design, its donors, what it
// stops by. If it extends another one, that is drawn as well.
type Forecast struct {
	Profile   profile.Profile
	Setup     *evaluation.Setup
	Extended  *evaluation.Setup // that of Setup.Extends; nil if there is none
	Reference *neyman.Prior
	Draws     int
	Seed      uint64
}

// Predict is the mean over draws of Σ p(1−p)·Σ c²/n, the variance of an estimate given
// the rollouts that decided on it, relative to Uniform's with as many rollouts on
// average.
func (f Forecast) Predict(ctx context.Context) (Prediction, error) {
	d := f.Setup.Design
	p := Prediction{Pilots: d.Pilots, Weight: d.Weight}
	if f.Setup.Policy == Uniform {
		p.Ratio, p.Spent = 1, float64(f.Setup.Budget)
		return p, nil
	}
	rules, err := rulesOf(f.Setup, f.Reference)
	if err != nil {
		return p, err
	}
	var before func(*seed.Stream) ([][]estimate.Stage, error)
	if f.Setup.Extends != nil {
		if before, err = f.before(); err != nil {
			return p, err
		}
	}
	streams := seed.Root(f.Seed).Child("forecast").Child(f.Profile.Name()).Stream()
	sum, squares, spent := 0.0, 0.0, 0
	for draw := range f.Draws {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		random := streams.At(uint64(draw))
		var past [][]estimate.Stage
		if before != nil {
			if past, err = before(&random); err != nil {
				return p, err
			}
		}
		o, err := f.draw(rules, past, &random)
		if err != nil {
			return p, err
		}
		sum, squares, spent = sum+o.variance, squares+o.variance*o.variance, spent+o.rollouts
	}
	n, tasks := float64(f.Draws), float64(f.Profile.N())
	p.Spent = float64(spent) / n / tasks
	unit := f.Profile.VarianceSum() / p.Spent
	mean := sum / n
	p.Ratio, p.SE = mean/unit, math.Sqrt(max(0, squares/n-mean*mean)/(n-1))/unit
	return p, nil
}

// before draws evaluations that are extended.
func (f Forecast) before() (func(*seed.Stream) ([][]estimate.Stage, error), error) {
	if f.Extended == nil {
		return nil, fmt.Errorf("%s extends an evaluation of which no setup is there", f.Setup.Name())
	}
	rules, err := rulesOf(f.Extended, f.Reference)
	return func(random *seed.Stream) ([][]estimate.Stage, error) {
		o, err := f.draw(rules, nil, random)
		return o.stages, err
	}, err
}

// drawn is an evaluation that was drawn.
type drawn struct {
	stages   [][]estimate.Stage // by task, those of what it extends left out
	rollouts int                // those of what it extends, too
	variance float64            // Σ p(1−p)·Σ c²/n
}

// draw draws an evaluation under some rules, after the stages of another one if it
// extends that.
func (f Forecast) draw(r *rules, past [][]estimate.Stage, random *seed.Stream) (drawn, error) {
	o := drawn{stages: make([][]estimate.Stage, f.Profile.N())}
	for _, stages := range past {
		for _, s := range stages {
			o.rollouts += s.Rollouts
		}
	}
	d, err := r.begin(past)
	passes := make([]int, f.Profile.N())
	for done := false; err == nil && !done; {
		weights := d.stages.Weights()
		for i, n := range d.stages.Sizes() {
			passes[i] = 0
			if n > 0 {
				passes[i] = pilot.Binomial(n, f.Profile.P(i), random)
				o.rollouts += n
				o.stages[i] = append(o.stages[i], estimate.Binary(n, passes[i], weights[i]))
			}
		}
		done, err = d.next(passes)
	}
	if err != nil {
		return o, err
	}
	for i, shrinkage := range d.stages.Shrinkage() {
		p := f.Profile.P(i)
		o.variance += p * (1 - p) * shrinkage
	}
	return o, nil
}
