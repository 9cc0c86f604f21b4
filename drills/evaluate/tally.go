package main

import (
	"fmt"
	"math"

	"speceval/drills/evaluated"
	"speceval/internal/profile"
	"speceval/method/estimate"
)

// tally sums up evaluations of one profile by one plan.
type tally struct {
	profile profile.Profile
	rewards rewards
	others  []profile.Profile // of the same tasks: what policies may know
	plan    plan
	number  int // of evaluations to draw
	evaluated.Tally
	equivalents equivalents
}

// equivalents sums up what evaluations say that Uniform would have needed.
type equivalents struct {
	number, covered       int
	away                  float64 // sum of the logs of what is said over the truth
	losses, claims, wrong int     // evaluations that Uniform would have beaten; gains that were claimed; both
}

// add counts what one evaluation says, of which the truth is known.
func (e *equivalents) add(said estimate.Equivalent, truth, budget float64) {
	e.number++
	e.away += math.Log(said.Value / truth)
	if said.Low <= truth*(1+1e-9) && truth <= said.High*(1+1e-9) {
		e.covered++
	}
	loss, claim := truth < budget*(1-1e-9), said.Verdict(budget) > 0
	if loss {
		e.losses++
	}
	if claim {
		e.claims++
	}
	if loss && claim {
		e.wrong++
	}
}

// join adds those of another tally.
func (e *equivalents) join(o equivalents) {
	e.number, e.covered, e.away = e.number+o.number, e.covered+o.covered, e.away+o.away
	e.losses, e.claims, e.wrong = e.losses+o.losses, e.claims+o.claims, e.wrong+o.wrong
}

// coverage is the share of intervals that have the truth in them.
func (e *equivalents) coverage() float64 { return float64(e.covered) / float64(max(1, e.number)) }

// cells are those of a table. Uniform is its own equivalent.
func (e *equivalents) cells(policy string) string {
	if policy == uniform {
		return "| | |"
	}
	n := float64(e.number)
	return fmt.Sprintf("%.1f%% | %+.1f%% | %.0f%% | %.1f%% of %d", 100*e.coverage(), 100*e.away/n, 100*float64(e.claims)/n, 100*float64(e.wrong)/float64(max(1, e.losses)), e.losses)
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
