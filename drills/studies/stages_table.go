package studies

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"speceval/internal/policy"
)

// noise is how many standard errors of a difference are no more than chance.
const noise = 1.96

// row is one design's means over the profiles.
type row struct {
	stages               int
	variance             float64 // the mean over profiles, over Uniform's
	waiting, speculating float64 // over Uniform's time, from sums over profiles

	// products are of variance and time with speculation, over Uniform's, by profile:
	// what a second is worth, all profiles alike in weight. worth, of which the mean is
	// the quotient of sums, is the time of a Uniform with the same variance over the
	// time taken, as Table 10 has it: profiles weigh as much as they take.
	products, worth []float64
}

// measures are what designs are compared by, and whether much is good.
var measures = []struct {
	name string
	of   func(row) []float64
	much bool
}{
	{"variance × time", func(r row) []float64 { return r.products }, false},
	{"equivalent time / time", func(r row) []float64 { return r.worth }, true},
}

// quotients are numbers with the mean Σa/Σb, whose spread is that of the quotient.
func quotients(a, b []float64) (all []float64) {
	q, below := average(a)/average(b), average(b)
	for i := range a {
		all = append(all, q+(a[i]-q*b[i])/below)
	}
	return all
}

// rows are the designs of a budget, by stages.
func (s *stagesStudy) rows(results []result, known *policy.Donors, budget int, w worker) (all []row) {
	for _, c := range s.cells(known, budget) {
		own := row{stages: c.stages}
		var uniform float64
		var worth, taken []float64
		for _, r := range results {
			t, variance := r.times[timedCell{c, w}], r.variance[c]
			uniform, own.variance = uniform+t.uniform, own.variance+variance
			own.waiting, own.speculating = own.waiting+t.waiting, own.speculating+t.speculating
			own.products = append(own.products, variance*t.speculating/t.uniform)
			worth, taken = append(worth, t.uniform/variance), append(taken, t.speculating)
		}
		own.variance, own.waiting, own.speculating = own.variance/float64(len(results)), own.waiting/uniform, own.speculating/uniform
		own.worth = quotients(worth, taken)
		all = append(all, own)
	}
	return all
}

// best is the row with the best mean of a measure, and the stages of the others that
// are worse by no more than chance.
func best(rows []row, of func(row) []float64, much bool) (first row, alike []int) {
	sign := 1.0
	if much {
		sign = -1
	}
	first = rows[0]
	for _, r := range rows {
		if sign*average(of(r)) < sign*average(of(first)) {
			first = r
		}
	}
	for _, r := range rows {
		var behind []float64
		for i, v := range of(r) {
			behind = append(behind, sign*(v-of(first)[i]))
		}
		if r.stages != first.stages && average(behind) <= noise*standardError(behind) {
			alike = append(alike, r.stages)
		}
	}
	return first, alike
}

// standardError is that of the mean of some numbers.
func standardError(values []float64) float64 {
	m, squares, n := average(values), 0.0, float64(len(values))
	for _, v := range values {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares / max(1, n-1) / n)
}

// report prints the tables and says what is wrong with them, if anything.
func (s *stagesStudy) report(out io.Writer, results []result) error {
	var faults []error
	heads := ""
	for k := 2; k <= s.most; k++ {
		heads += fmt.Sprintf(" %d |", k)
	}
	for _, w := range s.workers {
		for _, known := range knows {
			fmt.Fprintf(out, "\n%d places, donors: %s\n\n| b | |%s best | as good |\n|---:|---|%s---:|---|\n",
				w.places(), known.Name, heads, strings.Repeat("---:|", s.most-1))
			for _, b := range s.budgets {
				rows := s.rows(results, known, b, w)
				s.lines(out, b, rows)
				faults = append(faults, consistent(rows, fmt.Sprintf("%d places, b = %d, donors %s", w.places(), b, known.Name)))
			}
		}
	}
	return errors.Join(faults...)
}

// lines print what was found at a budget.
func (s *stagesStudy) lines(out io.Writer, budget int, rows []row) {
	line := func(name string, of func(row) float64, more string) {
		var cells []string
		for _, r := range rows {
			cells = append(cells, fmt.Sprintf("%.3f", of(r)))
		}
		fmt.Fprintf(out, "| %d | %s | %s | %s |\n", budget, name, strings.Join(cells, " | "), more)
	}
	line("variance", func(r row) float64 { return r.variance }, "|")
	line("time, waiting", func(r row) float64 { return r.waiting }, "|")
	line("time", func(r row) float64 { return r.speculating }, "|")
	for _, m := range measures {
		first, alike := best(rows, m.of, m.much)
		line(m.name, func(r row) float64 { return average(m.of(r)) }, fmt.Sprintf("%d | %s", first.stages, strings.Trim(fmt.Sprint(alike), "[]")))
	}
}

// consistent says what is wrong with rows, if anything.
func consistent(rows []row, where string) error {
	last := rows[len(rows)-1]
	waiting, speculating := 0.0, 0.0
	for _, r := range rows {
		waiting, speculating = waiting+r.waiting, speculating+r.speculating
	}
	switch {
	case last.variance > rows[0].variance:
		return fmt.Errorf("%s: the variance of %d stages is %.3f, of %d stages %.3f", where, last.stages, last.variance, rows[0].stages, rows[0].variance)
	case speculating > waiting:
		return fmt.Errorf("%s: speculation takes %.3f of Uniform's time, waiting %.3f", where, speculating/float64(len(rows)), waiting/float64(len(rows)))
	}
	return nil
}
