package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"speceval/drills/evaluated"
	"speceval/internal/profile"
)

// truth is what the estimates are compared with.
type truth struct {
	profile     profile.Profile
	predictions map[prediction]evaluated.Prediction
}

// prediction is what a prediction is for. Kills do not change it.
type prediction struct {
	policy string
	budget int
}

// readTruth reads the profile of the model and that of the donor, and predicts the
// variance of the arms.
func readTruth(ctx context.Context, o options) (*truth, error) {
	own, err := readProfile(o.truthFile(), o.benchmark, o.model)
	if err != nil {
		return nil, err
	}
	t := &truth{profile: own, predictions: map[prediction]evaluated.Prediction{}}
	replay := evaluated.Replay{Profile: own, Draws: o.draws, Seed: designSeed}
	if slices.ContainsFunc(o.arms, func(a arm) bool { return a.prior }) {
		donor, err := readProfile(o.shipped, o.benchmark, o.donor)
		if err != nil {
			return nil, err
		}
		replay.Donors = []profile.Profile{donor}
	}
	for _, a := range o.arms {
		for _, budget := range budgets {
			at := prediction{a.policy, budget}
			if _, known := t.predictions[at]; known || o.counts[budget] == 0 {
				continue
			}
			if t.predictions[at], err = replay.Predict(ctx, a.policy, budget); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// designSeed is that of the designs of speceval evaluate.
const designSeed = 42

// truthFile is the file with the profile that is the truth: the one that was asked for,
// that of `make live`, or the one that ships.
func (o options) truthFile() string {
	if o.profiles != "" {
		return o.profiles
	}
	own := filepath.Join(o.out, "score", "profiles.parquet")
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		return o.shipped
	}
	return own
}

// readProfile reads one profile of a file.
func readProfile(path, benchmark, model string) (profile.Profile, error) {
	all, err := profile.Read(path)
	if err != nil {
		return profile.Profile{}, err
	}
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Benchmark == benchmark && p.Model == model })
	if i < 0 {
		return profile.Profile{}, fmt.Errorf("%s has no profile of %s and %s", path, benchmark, model)
	}
	return all[i], nil
}

// of is the prediction for an arm at a budget.
func (t *truth) of(a arm, budget int) evaluated.Prediction {
	return t.predictions[prediction{a.policy, budget}]
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
	return of.Bias() / math.Hypot(of.BiasError(), math.Sqrt(t.variance()))
}

// ratio is the variance of estimates relative to Uniform's with its standard error:
// their mean squared error less what is the profile's.
func (t *truth) ratio(of *evaluated.Tally, budget int) (ratio, se float64) {
	square, se := of.MeanSquare()
	return (square - t.variance()) / t.unit(budget), se / t.unit(budget)
}

// pooled is the bias of all arms and budgets together, each by the inverse of its
// variance, in standard errors. The profile's error is the same in all of them.
func (t *truth) pooled(tallies []*evaluated.Tally) (bias, score float64) {
	weights, sum := 0.0, 0.0
	for _, of := range tallies {
		se := of.BiasError()
		weights, sum = weights+1/(se*se), sum+of.Bias()/(se*se)
	}
	bias = sum / weights
	return bias, bias / math.Sqrt(1/weights+t.variance())
}
