package variance

import (
	"fmt"
	"math"

	"speceval/internal/policy"
)

// PairedRow is a policy held against HBN at a budget, over the profiles that
// both were replayed on.
type PairedRow struct {
	Budget  int32
	Policy  *policy.Policy
	Apart   bool // the two have draws of their own
	Entries []PairedEntry
	Between *Interval // of the mean difference, by other benchmarks; nil with a single one
}

// PairedEntry is the difference on a profile.
type PairedEntry struct {
	Difference
	Other, HBN Ratio
}

// apart is the difference of ratios that have draws of their own.
func apart(other, hbn Ratio) PairedEntry {
	e := PairedEntry{Other: other, HBN: hbn}
	e.Difference = Difference{
		Benchmark: other.Benchmark, Model: other.Model, NTasks: other.NTasks, Budget: other.Budget,
		Policy: other.Policy, Donors: other.Donors, Alpha: other.Alpha,
		Difference: other.VarianceRatio - hbn.VarianceRatio, DifferenceSE: e.Independent(),
	}
	return e
}

// Independent is the standard error if the two had draws of their own.
func (e PairedEntry) Independent() float64 { return math.Hypot(e.Other.RatioSE, e.HBN.RatioSE) }

// InErrors is the difference in its standard errors, as large as can be where it
// is exact.
func (e PairedEntry) InErrors() float64 {
	z := e.Difference.Difference / e.DifferenceSE
	switch {
	case Finite(z):
		return z
	case e.Difference.Difference == 0:
		return 0
	}
	return math.Copysign(math.MaxFloat64, e.Difference.Difference)
}

// PairedRows are all policies but HBN at every budget, as far as their
// differences are stored; sequential ones have draws of their own. A file that lacks
// some profiles of a policy is an error: a mean over fewer profiles would look like
// another difference.
func PairedRows(ratios []Ratio, differences Differences) ([]PairedRow, error) {
	var rows []PairedRow
	var draws Benchmarks
	for _, b := range Budgets(ratios) {
		hbn := map[string]Ratio{}
		for _, r := range Pick(ratios, policy.HBN, b) {
			hbn[r.Profile()] = r
		}
		for _, p := range policy.All {
			if p == policy.HBN {
				continue
			}
			row, others := PairedRow{Budget: b, Policy: p, Apart: p.Sequential != nil}, Pick(ratios, p, b)
			for _, r := range others {
				d, ok := differences[EntryOf(r)]
				switch h, both := hbn[r.Profile()]; {
				case both && row.Apart:
					row.Entries = append(row.Entries, apart(r, h))
				case both && ok:
					row.Entries = append(row.Entries, PairedEntry{d, r, h})
				}
			}
			found := len(row.Entries)
			if found == 0 {
				continue
			}
			if found != len(others) || found != len(hbn) {
				return nil, fmt.Errorf("%s: %s has %d differences to HBN at budget %d, but %d ratios; run the replay stage again",
					DifferencesFile, p.Key(), found, b, len(others))
			}
			draws = draws.For(others)
			row.Between = draws.Interval(row.values())
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Mean is the mean over profiles.
func (r PairedRow) Mean(of func(PairedEntry) float64) float64 {
	sum := 0.0
	for _, e := range r.Entries {
		sum += of(e)
	}
	return sum / float64(len(r.Entries))
}

// values are the differences, profile by profile.
func (r PairedRow) values() (all []float64) {
	for _, e := range r.Entries {
		all = append(all, e.Difference.Difference)
	}
	return all
}

// Lower counts the profiles on which HBN's ratio is the lower, by however little.
func (r PairedRow) Lower() (n int) {
	for _, d := range r.values() {
		if d > 0 {
			n++
		}
	}
	return n
}

// RMS is the error of a mean over profiles that err independently.
func (r PairedRow) RMS(of func(PairedEntry) float64) float64 {
	sum := 0.0
	for _, e := range r.Entries {
		sum += of(e) * of(e)
	}
	return math.Sqrt(sum) / float64(len(r.Entries))
}

// Beyond counts the profiles on which HBN's ratio is the lower beyond noise (sign
// +1), or the higher (−1).
func (r PairedRow) Beyond(sign float64) (n int) {
	for _, e := range r.Entries {
		if sign*e.Difference.Difference > GainZ*e.DifferenceSE {
			n++
		}
	}
	return n
}

// IndependentSE is the error that draws of their own would leave.
func (r PairedRow) IndependentSE() float64 {
	sum := 0.0
	for _, e := range r.Entries {
		sum += e.Other.RatioSE*e.Other.RatioSE + e.HBN.RatioSE*e.HBN.RatioSE
	}
	return math.Sqrt(sum) / float64(len(r.Entries))
}
