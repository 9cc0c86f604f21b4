package estimate

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Bounded is an estimate with confidence bounds at every error rate: of a mean, or of
// the difference of two.
type Bounded struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval

	bounds func(rate float64) (low, high float64)
}

// everyday is the error rate of either bound of a 95% interval.
const everyday = 0.025

func newBounded(value, standardError float64, bounds func(rate float64) (low, high float64)) Bounded {
	b := Bounded{Value: value, StandardError: standardError, bounds: bounds}
	b.Low, b.High = bounds(everyday)
	return b
}

// Bounds are the lower and the upper confidence bound, each with the given error rate
// of its own, more than 0 and less than 1/2: Low and High at 0.025.
func (b Bounded) Bounds(rate float64) (low, high float64) { return b.bounds(rate) }

// Share is an estimate of a share, in [0, 1], that was found with a variance. Its bounds
// are Wilson's for as many draws as have this variance where the share is as expected,
// which is not 0 or 1, by a posterior for instance.
func Share(value, expected, variance float64) Bounded {
	draws := expected * (1 - expected) / variance
	return newBounded(value, math.Sqrt(variance), func(rate float64) (low, high float64) {
		return score(value, draws, -distuv.UnitNormal.Quantile(rate))
	})
}

// Minus is the difference of two independent estimates. Its bounds join theirs as
// Newcombe's do (Statistics in Medicine 17, 1998, method 10).
func (b Bounded) Minus(other Bounded) Bounded {
	return newBounded(b.Value-other.Value, math.Hypot(b.StandardError, other.StandardError), func(rate float64) (low, high float64) {
		return minus(b, other, 0, rate)
	})
}

// minus is the bounds of b − other, whose errors have a correlation (Zou and Donner,
// Statistics in Medicine 27, 2008; Newcombe's where it is 0).
func minus(b, other Bounded, correlation, rate float64) (low, high float64) {
	ownLow, ownHigh := b.Bounds(rate)
	otherLow, otherHigh := other.Bounds(rate)
	join := func(x, y float64) float64 { return math.Sqrt(max(0, x*x+y*y-2*correlation*x*y)) }
	value := b.Value - other.Value
	return value - join(b.Value-ownLow, otherHigh-other.Value), value + join(ownHigh-b.Value, other.Value-otherLow)
}

// Combine is the weighted mean of independent estimates: of a suite of benchmarks, by
// the weights that they have in it. Its bounds join theirs as those of a difference do.
// It is an error if there is no part, or if a weight is not a positive number.
func Combine(weights []float64, parts []Bounded) (Bounded, error) {
	if len(parts) == 0 || len(weights) != len(parts) {
		return Bounded{}, fmt.Errorf("%d weights of %d estimates: want one of each", len(weights), len(parts))
	}
	sum := 0.0
	for _, w := range weights {
		if !(w > 0 && w <= math.MaxFloat64) {
			return Bounded{}, fmt.Errorf("a weight of %v: want a number above 0", w)
		}
		sum += w
	}
	value, variance := 0.0, 0.0
	for k, p := range parts {
		w := weights[k] / sum
		value += w * p.Value
		variance += w * w * p.StandardError * p.StandardError
	}
	return newBounded(value, math.Sqrt(variance), func(rate float64) (low, high float64) {
		below, above := 0.0, 0.0
		for k, p := range parts {
			l, h := p.Bounds(rate)
			w := weights[k] / sum
			below += math.Pow(w*(p.Value-l), 2)
			above += math.Pow(w*(h-p.Value), 2)
		}
		return value - math.Sqrt(below), value + math.Sqrt(above)
	}), nil
}

// Bounded is the mean with bounds at every error rate. They are Wilson's, each for as
// many draws as its end of the 95% interval stands for, which may therefore be any: one
// of a stored baseline, or none where all three numbers are the same.
func (m Mean) Bounded() Bounded {
	b := newBounded(m.Value, m.StandardError, func(rate float64) (low, high float64) {
		z := -distuv.UnitNormal.Quantile(rate)
		low, _ = score(m.Value, draws(m.Value, m.Low), z)
		_, high = score(m.Value, draws(m.Value, m.High), z)
		return low, high
	})
	b.Low, b.High = m.Low, m.High
	return b
}

// ErrNoInterval means that a value is outside of its interval, or that the interval
// is not within 0 and 1.
var ErrNoInterval = errors.New("a mean and its 95% interval must be numbers between 0 and 1, the mean within the interval")

// Stored is a mean that has been written down. Without an interval, low and high being
// the value, it counts as known exactly. An error is ErrNoInterval.
func Stored(value, standardError, low, high float64) (Mean, error) {
	if !(0 <= low && low <= value && value <= high && high <= 1 && standardError >= 0 && standardError <= 1) {
		return Mean{}, fmt.Errorf("%v ± %v, %v to %v: %w", value, standardError, low, high, ErrNoInterval)
	}
	return Mean{Value: value, StandardError: standardError, Low: low, High: high}, nil
}

// draws is the number of draws of which Wilson's 95% interval about a share has a
// given end: there the share is a standard normal's 97.5% quantile of errors away.
func draws(share, end float64) float64 {
	if share == end {
		return math.Inf(1)
	}
	return quantile * quantile * end * (1 - end) / ((share - end) * (share - end))
}

// score is Wilson's interval about the share of so many draws, no whole number, that
// were of one kind, z errors to each side.
func score(share, draws, z float64) (low, high float64) {
	if math.IsInf(draws, 1) {
		return share, share
	}
	center := (draws*share + z*z/2) / (draws + z*z)
	half := z * math.Sqrt(draws*share*(1-share)+z*z/4) / (draws + z*z)
	return min(share, max(0, center-half)), max(share, min(1, center+half))
}
