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

// ResolvingEach is the standard error that each of two alike, independent
// evaluations needs for their difference to have that of Resolving.
func ResolvingEach(difference float64) float64 { return Resolving(difference) / math.Sqrt2 }

// Resolved is the inverse of Resolving: the true difference that is found four
// times in five under this standard error of a difference.
func Resolved(standardError float64) float64 { return standardError / Resolving(1) }

// ResolvedByEach is the inverse of ResolvingEach.
func ResolvedByEach(standardError float64) float64 { return Resolved(standardError * math.Sqrt2) }

// Budgets are the rollouts per task at which the two evaluations behind d would
// find a true difference other than 0 four times in five, at least 2 each. given
// are the budgets that they had. Both grow by the same factor, the inverse ratio of
// the variances: no more is needed, since the allocation gets better with the
// budget.
func (d Difference) Budgets(given [2]int, difference float64) [2]int {
	factor := math.Pow(d.StandardError/Resolving(difference), 2)
	for i, b := range given {
		given[i] = max(2, int(math.Ceil(factor*float64(b))))
	}
	return given
}
