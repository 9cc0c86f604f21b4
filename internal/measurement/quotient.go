package measurement

import "math"

// Term is a number of a setting: what is summed, and what it is called and
// stored as, where it is summed with a weight.
type Term struct {
	Name  string
	Of    func(Setting) float64
	Shown func(Setting) float64 // nil: as summed
}

// shown is the stored number behind the summand.
func (t Term) shown(s Setting) float64 {
	if t.Shown != nil {
		return t.Shown(s)
	}
	return t.Of(s)
}

// Quotient is a cost over many settings: numbers are summed over the settings first
// and divided once, so that settings weigh as much as they cost (paper,
// Appendix B.5).
type Quotient struct {
	Above  []Term // their sums add up
	Below  Term
	Change bool // less one: the change relative to Below

	Less *Quotient // which is subtracted; nil: nothing
	Over *Quotient // by which it is divided; nil: nothing
}

// Value is the quotient over the settings.
func (q *Quotient) Value(settings []Setting) float64 {
	var above sum
	for k, t := range q.Above {
		total := total(settings, t)
		if k == 0 {
			above = total
			continue
		}
		above.add(total.total())
	}
	below := total(settings, q.Below)
	v := above.total() / below.total()
	if q.Change {
		v--
	}
	if q.Less != nil {
		v -= q.Less.Value(settings)
	}
	if q.Over != nil {
		v /= q.Over.Value(settings)
	}
	return v
}

func total(settings []Setting, t Term) (all sum) {
	for _, s := range settings {
		all.add(t.Of(s))
	}
	return all
}

// Share is what a setting adds to the value over all of them: the shares of the
// settings add up to it.
func (q *Quotient) Share(s Setting, all []Setting) float64 {
	below := total(all, q.Below)
	share := q.above(s)
	if q.Change {
		share -= q.Below.Of(s)
	}
	share /= below.total()
	if q.Less != nil {
		share -= q.Less.Share(s, all)
	}
	if q.Over != nil {
		share /= q.Over.Value(all)
	}
	return share
}

func (q *Quotient) above(s Setting) (v float64) {
	for _, t := range q.Above {
		v += t.Of(s)
	}
	return v
}

// Terms are the numbers that the quotient is made of.
func (q *Quotient) Terms() []Term {
	terms := append([]Term(nil), q.Above...)
	if q.Less != nil {
		terms = append(terms, q.Less.Above...)
	}
	if q.Over != nil {
		terms = append(terms, q.Over.Above...)
	}
	return append(terms, q.Below)
}

// Names are what the numbers of Numbers are.
func (q *Quotient) Names() (names []string) {
	for _, t := range q.Terms() {
		names = append(names, t.Name)
	}
	return names
}

// Numbers are the stored numbers of a setting that the quotient is made of.
func (q *Quotient) Numbers(s Setting) (numbers []float64) {
	for _, t := range q.Terms() {
		numbers = append(numbers, t.shown(s))
	}
	return numbers
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

func (s *sum) total() float64 { return s.value + s.lost }

// Spread is the standard deviation of a statistic over repeats of the suite,
// and its standard error, that of their mean. With fewer than two repeats
// there is none, and both are NaN.
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
