package replay

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// smoothing says how candidates are ranked: each by its own trajectories, or by a
// curve through those of all.
type smoothing bool

const (
	each   smoothing = false
	smooth smoothing = true
)

// tsRanking compares the candidates of a budget. The mean of each is a linear
// combination of what was seen of all.
type tsRanking struct {
	candidates []tsCandidateAt
	profiles   [][]tsProfile // of each candidate
	weights    [][]float64   // of each candidate, by candidate
}

// rank compares candidates, smoothly or not.
//
// The MSE is a smooth function of the prior strength, and changes little and
// smoothly with the warm start: within nearTheBest of the least, a cubic curve in
// log α, which each further warm start shifts and tilts, is fitted to what was
// seen, by least squares.
func (s tsSearch) rank(candidates []tsCandidateAt, using smoothing) tsRanking {
	r := tsRanking{candidates: candidates}
	for k, c := range candidates {
		r.profiles = append(r.profiles, s.profiles[c])
		r.weights = append(r.weights, make([]float64, len(candidates)))
		r.weights[k][k] = 1
	}
	if using == smooth {
		r.fit()
	}
	return r
}

// nearTheBest is how much more than the least an MSE may be, relative to
// Uniform's, for its candidate to be on the curve.
const nearTheBest = 0.02

// fit replaces the weights of candidates near the best by those of a curve. It
// leaves them if there are fewer than two candidates for each of its parameters.
func (r *tsRanking) fit() {
	least := math.Inf(1)
	for k := range r.candidates {
		least = min(least, r.mean(k))
	}
	var on []int
	var warm []int32
	for k, c := range r.candidates {
		if r.mean(k) <= least+nearTheBest {
			on = append(on, k)
			if !slices.Contains(warm, c.M0) {
				warm = append(warm, c.M0)
			}
		}
	}
	columns := 4 + 2*(len(warm)-1)
	if len(on) < 2*columns {
		return
	}
	x := mat.NewDense(len(on), columns, nil)
	for row, k := range on {
		c := r.candidates[k]
		l := math.Log(c.Alpha)
		at := []float64{1, l, l * l, l * l * l}
		for _, m0 := range warm[1:] {
			if c.M0 == m0 {
				at = append(at, 1, l)
			} else {
				at = append(at, 0, 0)
			}
		}
		x.SetRow(row, at)
	}
	var qr mat.QR
	qr.Factorize(x)
	unit := mat.NewDense(len(on), len(on), nil)
	for k := range on {
		unit.Set(k, k, 1)
	}
	var inverse, hat mat.Dense
	if err := qr.SolveTo(&inverse, false, unit); err != nil {
		return // of too few prior strengths for a curve
	}
	hat.Mul(x, &inverse)
	for row, k := range on {
		r.weights[k] = make([]float64, len(r.candidates))
		for col, j := range on {
			r.weights[k][j] = hat.At(row, col)
		}
	}
}

// mean is that of a candidate over the profiles.
func (r tsRanking) mean(k int) float64 { return r.combined(r.weights[k]).value }

// excess is by how much the mean of candidate k is above that of another, with the
// standard error of the difference.
func (r tsRanking) excess(k, other int) tsError {
	weights := slices.Clone(r.weights[k])
	for j, w := range r.weights[other] {
		weights[j] -= w
	}
	return r.combined(weights)
}

// combined is a linear combination of the candidates' means. Batches of the same
// number have the same outcomes, so that its error is seen in their spread.
func (r tsRanking) combined(weights []float64) tsError {
	sum, squares := 0.0, 0.0
	for p, first := range r.profiles[0] {
		batches := len(first.batches)
		var total, square float64
		for b := range batches {
			value := 0.0
			for k, w := range weights {
				if w != 0 {
					value += w * r.profiles[k][p].batches[b]
				}
			}
			total += value
			square += value * value
		}
		n := float64(batches)
		sum += total / n
		squares += max(square/n-total/n*total/n, 0) / max(n-1, 1)
	}
	n := float64(len(r.profiles[0]))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
