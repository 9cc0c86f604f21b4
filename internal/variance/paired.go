package variance

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"speceval/internal/agreement"
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

// Independent is the standard error if the two had draws of their own.
func (e PairedEntry) Independent() float64 { return math.Hypot(e.Other.RatioSE, e.HBN.RatioSE) }

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
				d, ok := differences[r.Entry()]
				switch h, both := hbn[r.Profile()]; {
				case both && row.Apart:
					e := PairedEntry{Difference{Subject: r.Subject, Difference: r.VarianceRatio - h.VarianceRatio}, r, h}
					e.DifferenceSE = e.Independent()
					row.Entries = append(row.Entries, e)
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

// EquivalentBudget is ⌊b/r⌋, the largest whole budget at which Uniform has no
// less variance than HBN at budget b with variance ratio r. The division is
// exact, of r as the shortest decimal that stands for it, so that a ratio such
// as 0.8 gives 10 rather than 9 rollouts for 8. A ratio that is no positive
// number, or so small that the result leaves 32 bits, is an error.
func EquivalentBudget(budget int32, ratio float64) (int32, error) {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(ratio, 'g', -1, 64))
	if !ok || r.Sign() <= 0 {
		return 0, fmt.Errorf("variance ratio %v is not a positive number", ratio)
	}
	exact := new(big.Rat).Quo(new(big.Rat).SetInt64(int64(budget)), r)
	whole := new(big.Int).Quo(exact.Num(), exact.Denom())
	if !whole.IsInt64() || whole.Int64() > math.MaxInt32 {
		return 0, fmt.Errorf("variance ratio %v makes budget %d larger than can be executed", ratio, budget)
	}
	return int32(whole.Int64()), nil
}

// Equivalent is the Uniform budget that HBN's variance on a profile is worth.
type Equivalent struct {
	Ratio
	Worth   agreement.Estimate // b/r
	Rounded int32              // ⌊b/r⌋
}

// Another is the probability that another replay of the same size gives another
// whole budget: its b/r is off ours by the noise of both, √2 times ours.
func (e Equivalent) Another() float64 {
	sd := math.Sqrt2 * e.Worth.SE
	if sd == 0 {
		return 0
	}
	beyond := func(distance float64) float64 { return math.Erfc(distance/sd/math.Sqrt2) / 2 }
	whole := float64(e.Rounded)
	return beyond(whole+1-e.Worth.Value) + beyond(e.Worth.Value-whole)
}

// Equivalents are the equivalents of every profile and budget, in stored order.
func Equivalents(designs Schedules, ratios []Ratio) ([]Equivalent, error) {
	var all []Equivalent
	for _, r := range ratios {
		if r.Policy != policy.HBN.Name {
			continue
		}
		se, err := TotalSE(designs, r)
		if err != nil {
			return nil, err
		}
		e := Equivalent{Ratio: r}
		if e.Rounded, err = EquivalentBudget(r.Budget, r.VarianceRatio); err != nil {
			return nil, fmt.Errorf("%s: %s at budget %d: %w", RatiosFile, r.Profile(), r.Budget, err)
		}
		slope := float64(r.Budget) / (r.VarianceRatio * r.VarianceRatio) // of b/r in r, without its sign
		e.Worth = agreement.Estimate{Value: float64(r.Budget) / r.VarianceRatio, SE: slope * se}
		all = append(all, e)
	}
	return all, nil
}

// MeanEquivalent is the mean of b/r over profiles, weighted by their tasks.
func MeanEquivalent(hbn []Ratio) float64 {
	var tasks, sum float64
	for _, r := range hbn {
		tasks += float64(r.NTasks)
		sum += float64(r.NTasks) * float64(r.Budget) / r.VarianceRatio
	}
	return sum / tasks
}

// EquivalentErrors are the Monte Carlo standard errors of the average b/r and of
// the average ⌊b/r⌋, weighted by tasks.
//
// Continuous: d(N·b/r)/dr = −N·b/r², for replay and design noise alike.
//
// Rounded: noise of sd s in b/r makes ⌊b/r⌋ jump by one in a share of runs
// that does not depend on where b/r is, on average. Two replays differ by
// √2·s·√(2/π) in the mean absolute value, which is the variance of the
// jump, and half of it is each one's: s/√π. What moves all of them at once,
// the noise of a shared design, is in the continuous error.
func EquivalentErrors(designs Schedules, ratios []Ratio) (continuous, rounded float64, err error) {
	weights := make([]float64, len(ratios))
	var tasks, jumps float64
	for i, r := range ratios {
		n := float64(r.NTasks)
		slope := float64(r.Budget) / (r.VarianceRatio * r.VarianceRatio)
		se, err := TotalSE(designs, r)
		if err != nil {
			return 0, 0, err
		}
		weights[i] = n * slope
		tasks += n
		jumps += n * n * slope * se / math.SqrtPi
	}
	e, err := SumErrors(designs, ratios, weights)
	return e.Total / tasks, math.Hypot(e.Total, math.Sqrt(jumps)) / tasks, err
}
