package main

import (
	"math"
	"time"

	"speceval/internal/fleet/workload"
)

// parameter is a number that is fitted, on a scale on which it is free, and
// what it is believed to be.
type parameter[T any] struct {
	name  string
	prior normal
	step  float64 // for derivatives
	most  float64 // change at a time
	get   func(*T) float64
	set   func(*T, float64)
}

// believed is what a value costs for being off what it is believed to be.
func (q parameter[T]) believed(t *T) float64 {
	z := (q.get(t) - q.prior.mean) / q.prior.deviation
	return z * z
}

// held is the deviation of what is as good as given.
const held = 1e-3

// timingParameters are those of a model, believed to be near where they start.
func timingParameters(m workload.Model) []parameter[workload.Model] {
	base := 0.3
	if m.ThinkingTokens > 0 {
		base = held // see likeliestBase
	}
	p := []parameter[workload.Model]{
		scale("base", base, 0.02, 0.2, func(m *workload.Model) (float64, func(float64)) { return span(&m.Timing.Base) }),
		scale("sequence", 0.5, 0.05, 0.3, func(m *workload.Model) (float64, func(float64)) { return span(&m.Timing.Sequence) }),
		scale("context", 0.7, 0.1, 0.3, func(m *workload.Model) (float64, func(float64)) { return span(&m.Timing.Context) }),
	}
	if m.ThinkingTokens > 0 {
		p = append(p, scale("late", 1, 0.2, 0.5, func(m *workload.Model) (float64, func(float64)) { return span(&m.Timing.Late) }))
	} else {
		p = append(p,
			scale("prompt", 0.5, 0.1, 0.3, func(m *workload.Model) (float64, func(float64)) { return span(&m.Timing.Prompt) }),
			scale("handling", 0.05, 0.03, 0.1, func(m *workload.Model) (float64, func(float64)) {
				return m.Handling, func(v float64) { m.Handling = v }
			}))
	}
	for i := range p {
		p[i].prior.mean = p[i].get(&m)
	}
	return p
}

// shapeParameters are those of a profile. What they are believed to be is their
// mean over the model's profiles, which the search keeps up to date.
func shapeParameters(m workload.Model) []parameter[workload.Lengths] {
	p := []parameter[workload.Lengths]{
		scale("spread", 0.4, 0.1, 0.3, func(l *workload.Lengths) (float64, func(float64)) {
			return l.Spread, func(v float64) { l.Spread = math.Max(0.1, math.Min(2, v)) }
		}),
	}
	p = append(p,
		plain("hard", hardPrior, func(l *workload.Lengths) *float64 { return &l.Hard }),
		plain("noisy", noisyPrior, func(l *workload.Lengths) *float64 { return &l.Noisy }))
	if m.ThinkingTokens > 0 {
		p = append(p, parameter[workload.Lengths]{
			name: "endless", prior: normal{0, endlessDeviation}, step: 0.3, most: 1,
			get: func(l *workload.Lengths) float64 { return math.Log(l.Endless / (1 - l.Endless)) },
			set: func(l *workload.Lengths, x float64) { l.Endless = 1 / (1 + math.Exp(-clamp(x, 5))) },
		})
	}
	return p
}

// endlessDeviation is by how much the log odds of going on endlessly differ
// between profiles.
const endlessDeviation = 1.8

// scale is a positive parameter, on the scale of its logarithm.
func scale[T any](name string, deviation, step, most float64, at func(*T) (float64, func(float64))) parameter[T] {
	return parameter[T]{
		name: name, prior: normal{0, deviation}, step: step, most: most,
		get: func(t *T) float64 { v, _ := at(t); return math.Log(v) },
		set: func(t *T, x float64) { _, set := at(t); set(math.Exp(x)) },
	}
}

// plain is a parameter on its own scale.
func plain[T any](name string, prior normal, at func(*T) *float64) parameter[T] {
	return parameter[T]{
		name: name, prior: prior, step: 0.15, most: 1,
		get: func(t *T) float64 { return *at(t) },
		set: func(t *T, x float64) { *at(t) = clamp(x, 4) },
	}
}

// span is a duration as a number, and how to set it.
func span(d *time.Duration) (float64, func(float64)) {
	return float64(*d), func(v float64) { *d = time.Duration(math.Round(v)) }
}
