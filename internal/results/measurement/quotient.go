package measurement

import "math"

// Term is a number of a setting that is summed.
type Term func(Setting) float64

// Quotient is a cost over many settings: numbers are summed over the settings first and
// divided once, so that settings weigh as much as they cost (paper, Appendix B.5). The sums
// of several terms add up.
func Quotient(settings []Setting, below Term, above ...Term) float64 {
	sum := total(settings, above[0])
	for _, t := range above[1:] {
		sum.add(total(settings, t).total())
	}
	return sum.total() / total(settings, below).total()
}

func total(settings []Setting, t Term) (all sum) {
	for _, s := range settings {
		all.add(t(s))
	}
	return all
}

// sum adds with compensation, by Neumaier's method: the error does not grow
// with the number of terms.
type sum struct{ value, lost float64 }

func (s *sum) add(v float64) {
	t := s.value + v
	if math.Abs(s.value) >= math.Abs(v) {
		s.lost += (s.value - t) + v
	} else {
		s.lost += (v - t) + s.value
	}
	s.value = t
}

func (s sum) total() float64 { return s.value + s.lost }

// Spread is the standard deviation of a statistic over repeats of the suite, and the
// standard error of their mean. With fewer than two repeats there is none, and both are NaN.
func Spread(repeats []float64) (sd, se float64) {
	n := float64(len(repeats))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	var total, squares sum
	for _, v := range repeats {
		total.add(v)
	}
	mean := total.total() / n
	for _, v := range repeats {
		squares.add((v - mean) * (v - mean))
	}
	sd = math.Sqrt(squares.total() / (n - 1))
	return sd, sd / math.Sqrt(n)
}
