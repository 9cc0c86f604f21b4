//go:build drill

package evaluations_test

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/method/estimate"
)

// falseAlarms is the probability with which unbiased estimates fail for bias.
const falseAlarms = 0.01

// stats sums up evaluations of the same tasks by the same policy and budget, whose mean
// is known.
type stats struct {
	n      int
	missed int // intervals that lie wholly below the truth, or above

	away    float64 // Σ of estimate − truth
	squares float64 // Σ of its squares
	fourths float64 // Σ of its fourth powers
	stated  float64 // Σ of squared standard errors
	length  float64 // Σ of the intervals' lengths
}

// add adds an evaluation of tasks whose mean is truth.
func (s *stats) add(m estimate.Mean, truth float64) {
	s.n++
	s.missed += one(m.High < truth || m.Low > truth)
	square := (m.Value - truth) * (m.Value - truth)
	s.away += m.Value - truth
	s.squares += square
	s.fourths += square * square
	s.stated += m.StandardError * m.StandardError
	s.length += m.High - m.Low
}

// coverage is the share of intervals that hold the truth.
func (s *stats) coverage() float64 { return 1 - float64(s.missed)/float64(s.n) }

// bias is the mean error of the estimates.
func (s *stats) bias() float64 { return s.away / float64(s.n) }

// biasError is the standard error of bias.
func (s *stats) biasError() float64 {
	return math.Sqrt(max(0, s.squares/float64(s.n)-s.bias()*s.bias()) / float64(s.n-1))
}

// meanSquare is the mean squared error with its standard error. The bias is part of it,
// as the truth is known.
func (s *stats) meanSquare() (mean, se float64) {
	mean = s.squares / float64(s.n)
	return mean, math.Sqrt(max(0, s.fourths/float64(s.n)-mean*mean) / float64(s.n-1))
}

// calibration is the root of the stated variance over the mean squared error: 1 where
// standard errors are right.
func (s *stats) calibration() float64 { return math.Sqrt(s.stated / s.squares) }

// meanLength is the mean length of the intervals.
func (s *stats) meanLength() float64 { return s.length / float64(s.n) }

// shareError is the standard error of a share that is found in n draws.
func shareError(share float64, n int) float64 { return math.Sqrt(share * (1 - share) / float64(n)) }

// tooMany reports whether so many of n are more than a share of them, except by the chance
// that a normal number is above three standard deviations.
func tooMany(k, n int, share float64) bool {
	return k > 0 && distuv.Binomial{N: float64(n), P: share}.Survival(float64(k-1)) < distuv.UnitNormal.Survival(3)
}

// bonferroni is what the largest of n standard normal numbers, without their signs,
// exceeds with the probability of a false alarm at most.
func bonferroni(n int) float64 {
	return distuv.UnitNormal.Quantile(1 - falseAlarms/2/float64(max(1, n)))
}

// bonferroniOfMeans is bonferroni for means of so many draws, over their standard errors.
func bonferroniOfMeans(n, draws int) float64 {
	student := distuv.StudentsT{Sigma: 1, Nu: float64(draws - 1)}
	return student.Quantile(1 - falseAlarms/2/float64(n))
}

// median is the median of some numbers.
func median(xs []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(xs)), len(xs)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// meanOf is the mean of some numbers with its standard error.
func meanOf(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// one is 1 for true and 0 for false.
func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
