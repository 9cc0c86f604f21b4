package variance

import (
	"fmt"
	"math"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
)

// PairedRow is a policy held against HBN at a budget, over the profiles that
// both were replayed on.
type PairedRow struct {
	Budget        int32
	Policy        *policy.Policy
	Profiles      int
	Difference    agreement.Estimate // the mean over profiles, which err independently
	IndependentSE float64            // of that mean, if the two had draws of their own
	Better, Worse int                // profiles on which HBN's ratio is the lower, or the higher, beyond noise
	Lower         int                // and on which it is the lower, by however little
	Between       *Interval          // of the mean, by other benchmarks; nil with a single one
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
			row, others := PairedRow{Budget: b, Policy: p}, Pick(ratios, p, b)
			var values []float64
			var shared, own float64 // sums of squared errors
			for _, r := range others {
				d, ok := differences[r.Entry()]
				h, both := hbn[r.Profile()]
				if p.Sequential != nil {
					d.Difference, d.DifferenceSE, ok = r.VarianceRatio-h.VarianceRatio, math.Hypot(r.RatioSE, h.RatioSE), true
				}
				if !both || !ok {
					continue
				}
				values = append(values, d.Difference)
				row.Difference.Value += d.Difference
				shared += d.DifferenceSE * d.DifferenceSE
				own += r.RatioSE*r.RatioSE + h.RatioSE*h.RatioSE
				switch noise := GainZ * d.DifferenceSE; {
				case d.Difference > noise:
					row.Better++
				case -d.Difference > noise:
					row.Worse++
				}
				if d.Difference > 0 {
					row.Lower++
				}
			}
			if row.Profiles = len(values); row.Profiles == 0 {
				continue
			}
			if row.Profiles != len(others) || row.Profiles != len(hbn) {
				return nil, fmt.Errorf("%s: %s has %d differences to HBN at budget %d, but %d ratios; run the replay stage again",
					DifferencesFile, p.Key(), row.Profiles, b, len(others))
			}
			n := float64(row.Profiles)
			row.Difference.Value /= n
			row.Difference.SE, row.IndependentSE = math.Sqrt(shared)/n, math.Sqrt(own)/n
			draws = draws.For(others)
			row.Between = draws.Interval(values)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// EquivalentBudget is ⌊b/r⌋, the largest whole budget at which Uniform has no
// less variance than HBN at budget b with variance ratio r. The quotient is rounded to the nearest
// float64 first, so that 0.8 gives 10 rather than 9 rollouts for 8. A ratio that is no positive
// number, or so small that the result leaves 32 bits, is an error.
func EquivalentBudget(budget int32, ratio float64) (int32, error) {
	whole := math.Floor(float64(budget) / ratio)
	switch {
	case !(ratio > 0) || math.IsInf(ratio, 1):
		return 0, fmt.Errorf("variance ratio %v is not a positive number", ratio)
	case whole > math.MaxInt32:
		return 0, fmt.Errorf("variance ratio %v makes budget %d larger than can be executed", ratio, budget)
	}
	return int32(whole), nil
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
