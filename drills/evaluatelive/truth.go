package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"speceval/drills/evaluated"
	"speceval/internal/profile"
)

// truth is what the estimates are held to.
type truth struct {
	profile     profile.Profile
	predictions evaluated.Predictions
}

// readTruth reads the profile and the replay of it.
func readTruth(o options) (*truth, error) {
	all, err := profile.Read(o.profiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w\nthere is no profile to hold evaluations to: make it by `make live`, which takes an hour and more, or name its file by -profiles", err)
	}
	if err != nil {
		return nil, err
	}
	t := &truth{}
	for _, p := range all {
		if p.Benchmark == o.benchmark && p.Model == o.model {
			t.profile = p
		}
	}
	if t.profile.Benchmark == "" {
		return nil, fmt.Errorf("%s has no profile of %s and %s: make it by `make live`", o.profiles, o.benchmark, o.model)
	}
	t.predictions, err = evaluated.ReadPredictions(o.replayed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w\nthe profile has not been replayed: run `make live`, or name the output folder of its replay by -replayed", err)
	}
	return t, err
}

// unit is the variance of Uniform's estimate at a budget (paper, Section 3).
func (t *truth) unit(budget int) float64 {
	n := float64(t.profile.N())
	return t.profile.VarianceSum() / (n * n * float64(budget))
}

// variance is that of the profile's own mean about the model's.
func (t *truth) variance() float64 { return t.unit(t.profile.TestedK) }

// biasScore is the bias of estimates in standard errors, of which the profile's is
// a part.
func (t *truth) biasScore(of *evaluated.Tally) float64 {
	return of.Bias() / math.Hypot(of.Bias()/of.BiasScore(), math.Sqrt(t.variance()))
}

// ratio is the variance of estimates relative to Uniform's with its standard error:
// their mean squared error less what is the profile's.
func (t *truth) ratio(of *evaluated.Tally, budget int) (ratio, se float64) {
	square, se := of.MeanSquare()
	return (square - t.variance()) / t.unit(budget), se / t.unit(budget)
}
