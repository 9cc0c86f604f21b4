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
	Entries []PairedEntry
}

// PairedEntry is the difference on a profile.
type PairedEntry struct {
	Difference
	Other, HBN Ratio
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
// differences are stored. A file that lacks some profiles of a policy is an
// error: a mean over fewer profiles would look like another difference.
func PairedRows(ratios []Ratio, differences Differences) ([]PairedRow, error) {
	var rows []PairedRow
	for _, b := range Budgets(ratios) {
		hbn := map[string]Ratio{}
		for _, r := range Pick(ratios, policy.HBN, b) {
			hbn[r.Profile()] = r
		}
		for _, p := range policy.All {
			if p == policy.HBN {
				continue
			}
			row, others := PairedRow{Budget: b, Policy: p}, Pick(ratios, p, b)
			for _, r := range others {
				d, ok := differences[EntryOf(r)]
				if h, both := hbn[r.Profile()]; ok && both {
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
