package estimate

import "math"

// Difference is that of two benchmark means, of independent evaluations.
type Difference struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval
}

// Minus is the difference m − other. The interval joins those of the two as
// Newcombe's does (Statistics in Medicine 17, 1998, method 10).
func (m Mean) Minus(other Mean) Difference {
	d := Difference{Value: m.Value - other.Value, StandardError: math.Hypot(m.StandardError, other.StandardError)}
	d.Low = d.Value - math.Hypot(m.Value-m.Low, other.High-other.Value)
	d.High = d.Value + math.Hypot(m.High-m.Value, other.Value-other.Low)
	return d
}

// power is that of tests that are planned: 80%, a quantile of the standard normal.
const power = 0.8416212335729143

// Resolving is the standard error at which a true difference is found by a
// two-sided test at 5% four times in five. Of a difference of two evaluations it
// is that of both together.
func Resolving(difference float64) float64 { return math.Abs(difference) / (quantile + power) }
