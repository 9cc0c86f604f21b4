package main

import (
	"speceval/drills/evaluated"
	"speceval/internal/profile"
)

// tally sums up evaluations of one profile by one plan.
type tally struct {
	profile profile.Profile
	plan    plan
	evaluated.Tally
}

// ratio is the mean squared error over the variance of Uniform at the same budget,
// which is known, with its standard error.
func (t *tally) ratio() (ratio, se float64) {
	n := float64(t.profile.N())
	unit := t.profile.VarianceSum() / (n * n * float64(t.plan.budget))
	square, error := t.MeanSquare()
	return square / unit, error / unit
}

// certain is the share of tasks that pass at most one time in fifty or fail at
// most one time in fifty.
func certain(p profile.Profile) float64 {
	n := 0
	for i := range p.N() {
		if q := p.P(i); min(q, 1-q) <= 0.02 {
			n++
		}
	}
	return float64(n) / float64(p.N())
}

// effective is the number of tasks that matter to the error: as many of equal
// variance would share it like these, (Σ v)² / Σ v².
func effective(p profile.Profile) float64 {
	squares := 0.0
	for i := range p.N() {
		v := p.P(i) * (1 - p.P(i))
		squares += v * v
	}
	return p.VarianceSum() * p.VarianceSum() / squares
}
