package variance

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
)

// GainZ is the normal quantile of the paper's criterion of a gain (Appendix C.1),
// and of its 95% intervals.
const GainZ = 1.96

// Causes are the errors of a weighted sum of ratios, by replay, by design and by both.
type Causes struct{ Replay, Design, Total float64 }

// SumErrors is the standard errors of Σ g_j·ratio_j over profiles j, for ratios of
// one policy at one budget and weights g_j.
//
// Replay: profiles draw independently, so the variance is Σ g_j²·se_j².
//
// Design: the stage weight w was estimated too, and ratio_j depends on it.
// With C_j the continuation mass of profile j over its total variance,
//
//	ratio_j = b·(w²/m + (1−w)²·C_j),
//	d ratio_j / dw = 2b·(w/m − (1−w)·C_j).
//
// At the optimum the risk is b·w/m (Eq. 12), hence se_w = se_risk·m/b. The
// profiles with the same task count share one design: their derivatives add
// up before they are squared, those of different task counts afterwards.
// A policy without a pilot, the Oracle, is exact.
func SumErrors(designs Schedules, ratios []Ratio, weights []float64) (e Causes, err error) {
	slope := map[int32]float64{} // by task count: Σ g_j · d ratio_j/dw · se_w
	var replay2, design2 float64
	for j, r := range ratios {
		g := weights[j]
		replay2 += g * g * r.RatioSE * r.RatioSE
		noise, err := designNoise(designs, r)
		if err != nil {
			return Causes{}, err
		}
		slope[r.NTasks] += g * noise
	}
	total := replay2
	for _, n := range slices.Sorted(maps.Keys(slope)) {
		design2 += slope[n] * slope[n]
		total += slope[n] * slope[n]
	}
	e.Replay, e.Design, e.Total = math.Sqrt(replay2), math.Sqrt(design2), math.Sqrt(total)
	return e, nil
}

// designNoise is d ratio/dw · se_w: the signed change of a ratio when its design's stage
// weight is one standard error larger. It is 0 for a policy with donors: its ratio is the
// ratio of its profile's own design.
func designNoise(designs Schedules, r Ratio) (float64, error) {
	if r.M == nil || r.W == nil || r.Donors != policy.None.Name {
		return 0, nil
	}
	d, err := designs.Selected(r.Key(), r.NTasks, r.Budget, r.Alpha)
	if err != nil {
		return 0, err
	}
	if *r.M != d.M { // the two files are not of one run
		return 0, fmt.Errorf("%s on %s at budget %d was not replayed under the stored design; run the replay stage again",
			r.Key(), r.Profile(), r.Budget)
	}
	b, m, w := float64(r.Budget), float64(*r.M), *r.W
	if w == 1 {
		return 0, nil // the continuation has no weight to change
	}
	c := (r.VarianceRatio/b - w*w/m) / ((1 - w) * (1 - w))
	return 2 * b * (w/m - (1-w)*c) * WeightSE(d), nil
}

// WeightSE is the Monte Carlo standard error of a design's stage weight, from the error of
// its risk b·w/m.
func WeightSE(d Design) float64 {
	return d.RiskSE * float64(d.M) / float64(d.Budget)
}

// TotalSE is the standard error of one profile's ratio, replay and design.
func TotalSE(designs Schedules, r Ratio) (float64, error) {
	noise, err := designNoise(designs, r)
	return math.Hypot(r.RatioSE, noise), err
}

// StrengthMean is the mean ratio of IBN at one strength, with the standard
// error of its replay.
func StrengthMean(candidates []Ratio, budget int32, alpha float64) (agreement.Estimate, bool) {
	var sum, square, n float64
	for _, r := range candidates {
		if r.Policy == policy.IBN.Name && r.Budget == budget && AlphaOf(r.Alpha) == alpha {
			sum, square, n = sum+r.VarianceRatio, square+r.RatioSE*r.RatioSE, n+1
		}
	}
	if n == 0 {
		return agreement.Estimate{}, false
	}
	return agreement.Estimate{Value: sum / n, SE: math.Sqrt(square) / n}, true
}

// RiskAt is the risk of a design's pilot size at another stage weight w. The
// optimal weight w* gives the continuation mass C = w*/((1−w*)·m), and then
// the risk is b·(w²/m + (1−w)²·C) (paper, Eq. 11).
func (d Design) RiskAt(w float64) float64 {
	b, m := float64(d.Budget), float64(d.M)
	c := d.W / ((1 - d.W) * m)
	return b * (w*w/m + (1-w)*(1-w)*c)
}

// Standing is how a policy stands at one budget: its mean ratio over profiles, the entry of
// Table 1, with the standard error of both its noises, and how its gains spread.
type Standing struct {
	agreement.Estimate
	Policy  *policy.Policy
	Budget  int32
	Ratios  []Ratio
	Gaining int // profiles on which it gains
	Worst   Ratio
	Between *Interval // of the mean, by other benchmarks; nil with a single one
}

// Spreads are the standings of a policy at every budget, without the errors of the means.
func Spreads(ratios []Ratio, of *policy.Policy) (all []Standing) {
	for _, b := range Budgets(ratios) {
		s := Standing{Policy: of, Budget: b, Ratios: Pick(ratios, of, b)}
		for _, r := range s.Ratios {
			s.Value += r.VarianceRatio
			if Gains(r) {
				s.Gaining++
			}
			if s.Worst.Policy == "" || r.VarianceRatio > s.Worst.VarianceRatio {
				s.Worst = r
			}
		}
		if n := len(s.Ratios); n > 0 {
			s.Value /= float64(n)
			all = append(all, s)
		}
	}
	return all
}

// Gains reports the paper's criterion of a gain: below Uniform by 1.96 standard errors, and by more
// than rounding, since a policy that divides evenly has Uniform's variance.
func Gains(r Ratio) bool { return r.VarianceRatio+GainZ*r.RatioSE < 1-1e-12 }

// Standings are the standings of every policy that was replayed, by budget. All must cover the
// same number of profiles, each under one prior strength: a mean over fewer profiles than
// another's would look like a gain.
func Standings(designs Schedules, ratios []Ratio) (all []Standing, err error) {
	var draws Benchmarks
	covered := map[int32]int{} // profiles, by budget
	for _, p := range policy.All {
		for _, s := range Spreads(ratios, p) {
			n := len(s.Ratios)
			if covered[s.Budget] = cmp.Or(covered[s.Budget], n); n != covered[s.Budget] {
				return nil, fmt.Errorf("ratios: %s covers %d profiles at budget %d where others cover %d; run the replay stage again",
					p.Key(), n, s.Budget, covered[s.Budget])
			}
			e, err := SumErrors(designs, s.Ratios, slices.Repeat([]float64{1}, n))
			if err != nil {
				return nil, err
			}
			s.SE = e.Total / float64(n)
			var values []float64
			for _, r := range s.Ratios {
				if values = append(values, r.VarianceRatio); AlphaOf(r.Alpha) != AlphaOf(s.Worst.Alpha) {
					return nil, fmt.Errorf("ratios: %s has more than one selected alpha at budget %d", p.Key(), s.Budget)
				}
			}
			draws = draws.For(s.Ratios)
			s.Between = draws.Interval(values)
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b Standing) int { return cmp.Compare(a.Budget, b.Budget) })
	return all, nil
}

// Envelope compares HBN with the best candidate of TS-Neyman at a budget, in hindsight.
type Envelope struct {
	Best       Search
	HBN        Standing
	Candidates []Search // at the budget
	Ties       []Search // other candidates that are no worse beyond noise
}

// Delta is TS-Neyman's mean MSE less HBN's, with its Monte Carlo error.
func (e Envelope) Delta() agreement.Estimate {
	return agreement.Estimate{Value: e.Best.MSE - e.HBN.Value, SE: math.Hypot(e.Best.MSESE, e.HBN.SE)}
}

// Envelopes are the envelopes of the budgets at which a candidate was selected.
func Envelopes(standings []Standing, search []Search) (all []Envelope) {
	for _, s := range standings {
		e := Envelope{HBN: s, Candidates: keep(search, func(c Search) bool { return c.Budget == s.Budget })}
		best := slices.IndexFunc(e.Candidates, func(c Search) bool { return c.Selected })
		if best < 0 || s.Policy != policy.HBN {
			continue
		}
		e.Best = e.Candidates[best]
		e.Ties = keep(e.Candidates, func(c Search) bool { return !c.Selected && c.Excess <= agreement.Sigmas*c.ExcessSE })
		all = append(all, e)
	}
	return all
}
