package variance

import (
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

// Spread is how a policy's gains spread over profiles at one budget.
type Spread struct {
	Budget  int32
	Ratios  []Ratio
	Gaining int // ratio + 1.96 standard errors below 1
	Worst   Ratio
}

// NewSpread is the spread of the ratios of a policy at a budget, of at least one.
func NewSpread(budget int32, ratios []Ratio) Spread {
	s := Spread{Budget: budget, Ratios: ratios, Worst: ratios[0]}
	for _, r := range ratios {
		if Gains(r) {
			s.Gaining++
		}
		if r.VarianceRatio > s.Worst.VarianceRatio {
			s.Worst = r
		}
	}
	return s
}

// Spreads computes the spread of HBN's ratios at every budget.
func Spreads(ratios []Ratio) (all []Spread) {
	for _, b := range Budgets(ratios) {
		if hbn := Pick(ratios, policy.HBN, b); len(hbn) > 0 {
			all = append(all, NewSpread(b, hbn))
		}
	}
	return all
}

// Gains reports the paper's criterion of a gain: below Uniform by 1.96 standard errors, and by more
// than rounding, since a policy that divides evenly has Uniform's variance.
func Gains(r Ratio) bool { return r.VarianceRatio+GainZ*r.RatioSE < 1-1e-12 }

// Standing is the mean ratio of a policy at a budget, with its spread.
type Standing struct {
	Mean
	Spread  Spread
	Between *Interval // of the mean, by other benchmarks; nil with a single one
}

// Standings are the standings of every policy that was replayed, by budget.
func Standings(designs Schedules, ratios []Ratio) (all []Standing, err error) {
	var draws Benchmarks
	for _, b := range Budgets(ratios) {
		for _, p := range policy.All {
			m, err := NewMean(designs, ratios, p, b)
			if err != nil {
				return nil, err
			}
			if len(m.Ratios) == 0 {
				continue
			}
			var values []float64
			for _, r := range m.Ratios {
				values = append(values, r.VarianceRatio)
			}
			draws = draws.For(m.Ratios)
			all = append(all, Standing{m, NewSpread(b, m.Ratios), draws.Interval(values)})
		}
	}
	return all, nil
}

// Mean is the mean over profiles of the ratios of one policy at one budget, the entry of
// Table 1, with the standard error of both its noises.
type Mean struct {
	agreement.Estimate
	Policy *policy.Policy
	Ratios []Ratio
}

// NewMean is the mean of a policy's ratios, of no ratios where it was not replayed.
func NewMean(designs Schedules, ratios []Ratio, of *policy.Policy, budget int32) (Mean, error) {
	m := Mean{Policy: of, Ratios: Pick(ratios, of, budget)}
	n, sum := float64(len(m.Ratios)), 0.0
	if n == 0 {
		return m, nil
	}
	for _, r := range m.Ratios {
		sum += r.VarianceRatio
	}
	e, err := SumErrors(designs, m.Ratios, slices.Repeat([]float64{1}, len(m.Ratios)))
	m.Estimate = agreement.Estimate{Value: sum / n, SE: e.Total / n}
	return m, err
}

// Weights make a sum over the profiles their mean.
func (m Mean) Weights() []float64 {
	return slices.Repeat([]float64{1 / float64(len(m.Ratios))}, len(m.Ratios))
}

// Means are the means of several policies at one budget.
type Means struct {
	Budget   int32
	Profiles int
	Of       map[*policy.Policy]Mean // a policy that was not replayed is absent
	Alpha    *float64                // the selected prior strength of the one that has it
}

// NewMeans are the means at every budget. Every policy of a budget must cover the
// same number of profiles, and one prior strength: a mean over fewer profiles than
// its neighbour's would look like a gain.
func NewMeans(designs Schedules, ratios []Ratio, policies []*policy.Policy) (all []Means, err error) {
	for _, b := range Budgets(ratios) {
		row := Means{Budget: b, Of: map[*policy.Policy]Mean{}}
		for _, p := range policies {
			m, err := NewMean(designs, ratios, p, b)
			if err != nil {
				return nil, err
			}
			n := len(m.Ratios)
			if n == 0 {
				continue
			}
			if row.Profiles == 0 {
				row.Profiles = n
			}
			if n != row.Profiles {
				return nil, fmt.Errorf("ratios: %s covers %d profiles at budget %d where others cover %d; run the replay stage again",
					p.Key(), n, b, row.Profiles)
			}
			if row.Of[p] = m; p.Strength {
				row.Alpha = m.Ratios[0].Alpha
				if slices.ContainsFunc(m.Ratios, func(r Ratio) bool { return AlphaOf(r.Alpha) != AlphaOf(row.Alpha) }) {
					return nil, fmt.Errorf("ratios: %s has more than one selected alpha at budget %d", p.Key(), b)
				}
			}
		}
		all = append(all, row)
	}
	return all, nil
}

// Best is the feasible policy with the least mean, nil if none was replayed.
func (m Means) Best() (best *policy.Policy) {
	for _, p := range policy.All {
		e, ok := m.Of[p]
		if b, have := m.Of[best]; ok && !p.Clairvoyant && (!have || e.Value < b.Value) {
			best = p
		}
	}
	return best
}

// Envelope compares HBN with the best candidate of TS-Neyman at a budget, in hindsight.
type Envelope struct {
	Best       Search
	HBN        Mean
	Candidates []Search // at the budget
	Ties       []Search // other candidates that are no worse beyond noise
}

// Delta is TS-Neyman's mean MSE less HBN's, with its Monte Carlo error.
func (e Envelope) Delta() agreement.Estimate {
	return agreement.Estimate{Value: e.Best.MSE - e.HBN.Value, SE: math.Hypot(e.Best.MSESE, e.HBN.SE)}
}

// Envelopes are the envelopes of the budgets at which a candidate was selected.
func Envelopes(designs Schedules, ratios []Ratio, search []Search) (all []Envelope, err error) {
	for _, b := range Budgets(ratios) {
		e := Envelope{Candidates: keep(search, func(s Search) bool { return s.Budget == b })}
		if e.HBN, err = NewMean(designs, ratios, policy.HBN, b); err != nil {
			return nil, err
		}
		best := slices.IndexFunc(e.Candidates, func(s Search) bool { return s.Selected })
		if best < 0 || len(e.HBN.Ratios) == 0 {
			continue
		}
		e.Best = e.Candidates[best]
		e.Ties = keep(e.Candidates, func(s Search) bool { return !s.Selected && s.Excess <= agreement.Sigmas*s.ExcessSE })
		all = append(all, e)
	}
	return all, nil
}
