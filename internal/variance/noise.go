package variance

import (
	"maps"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/policy"
)

// GainZ is the normal quantile of the paper's criterion of a gain (Appendix C.1),
// and of its 95% intervals.
const GainZ = 1.96

// MeanRatio is the mean over profiles of ratios of one policy at one budget,
// the entry of Table 1, with the standard error of both its noises.
func MeanRatio(designs Schedules, ratios []Ratio) (agreement.Estimate, error) {
	n := float64(len(ratios))
	var sum float64
	ones := make([]float64, len(ratios))
	for i, r := range ratios {
		sum += r.VarianceRatio
		ones[i] = 1
	}
	e, err := SumErrors(designs, ratios, ones)
	return agreement.Estimate{Value: sum / n, SE: e.Total / n}, err
}

// SumError is the standard error of a weighted sum of ratios, and its parts.
type SumError struct {
	Replay, Design float64
	Total          float64 // of both
	Slopes         []Slope // what Design is made of, by task count
}

// Slope is by how much a sum changes when the stage weight that the profiles with
// one task count share is one standard error larger.
type Slope struct {
	NTasks int32
	Change float64
}

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
func SumErrors(designs Schedules, ratios []Ratio, weights []float64) (e SumError, err error) {
	slope := map[int32]float64{} // by task count: Σ g_j · d ratio_j/dw · se_w
	var replay2, design2 float64
	for j, r := range ratios {
		g := weights[j]
		replay2 += g * g * r.RatioSE * r.RatioSE
		noise, err := designNoise(designs, r)
		if err != nil {
			return SumError{}, err
		}
		slope[r.NTasks] += g * noise
	}
	total := replay2
	for _, n := range slices.Sorted(maps.Keys(slope)) {
		design2 += slope[n] * slope[n]
		total += slope[n] * slope[n]
		e.Slopes = append(e.Slopes, Slope{n, slope[n]})
	}
	e.Replay, e.Design, e.Total = math.Sqrt(replay2), math.Sqrt(design2), math.Sqrt(total)
	return e, nil
}

// designNoise is d ratio/dw · se_w: the signed change of a ratio when its
// design's stage weight is one standard error larger. A policy with donors has a
// design for each profile, which is as it is: the ratio is that of this design.
func designNoise(designs Schedules, r Ratio) (float64, error) {
	if r.M == nil || r.W == nil || r.Donors != policy.None.Name {
		return 0, nil
	}
	d, err := designs.behind(r)
	if err != nil {
		return 0, err
	}
	b, m, w := float64(r.Budget), float64(*r.M), *r.W
	if w == 1 {
		return 0, nil // the continuation has no weight to change
	}
	c := (r.VarianceRatio/b - w*w/m) / ((1 - w) * (1 - w))
	return 2 * b * (w/m - (1-w)*c) * WeightSE(d), nil
}

// WeightSE is the Monte Carlo standard error of a design's stage weight, from
// that of its risk b·w/m.
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
