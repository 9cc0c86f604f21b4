// Package sequential has the bounds of a one-sided test that looks at an estimate several
// times while it grows, and is wrong with a given probability over all looks together.
//
// The standardized estimates Z_1, Z_2, … at the looks are jointly normal, of mean 0 and
// variance 1 at the edge of the hypothesis. Look k rejects it if Z_k > u_k. The error is
// spent over the looks (Lan and DeMets, Biometrika 70, 1983): u_k is the number by which
//
//	P(Z_1 ≤ u_1, …, Z_{k−1} ≤ u_{k−1}, Z_k > u_k)
//
// is the part of the error that look k may have. When the looks are made, and how many they
// will be, may follow from anything but the estimates.
//
// The probability is found by integrating from look to look (Armitage, McPherson and Rowe,
// Journal of the Royal Statistical Society A 132, 1969): Z_k depends on what was before
// through Z_{k−1} alone, by their correlation ρ. This is so of sums of independent parts,
// and of an estimate whose next value is W of the last one and 1−W of fresh data, for any W
// that was fixed before them: then ρ = W·√(Var_{k−1}/Var_k), by which W = Var_k/Var_{k−1},
// the best one, gives the usual √(Var_k/Var_{k−1}).
package sequential

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// Bounds are the bounds of a test, look by look. The zero value is before the first.
type Bounds struct {
	spent float64

	// The law of the look before the last where none has rejected: points, and the
	// probability at each. None before the first look.
	points, mass []float64

	correlation, bound float64 // of the last look
}

// far is the number of standard errors beyond which nothing lies, 10^−15 on either side, and
// tolerance the one to which bounds are found.
const (
	far       = 8
	tolerance = 1e-10
)

// Next is the bound u of the next look, and the rate at which this look alone is above it,
// 1−Φ(u). Its Z has the given correlation with the last one's, from 0 to less than 1 and not
// read at the first look. spent is the error of all looks so far together, this one included.
// It is an error if spent is not more than it was or not below 1, or if the correlation is
// none.
func (b *Bounds) Next(correlation, spent float64) (bound, rate float64, err error) {
	if !(spent > b.spent && spent < 1) {
		return 0, 0, fmt.Errorf("sequential: an error of %v after %v: want more, and less than 1", spent, b.spent)
	}
	if b.points == nil {
		b.points, b.mass = []float64{0}, []float64{1}
		b.bound, b.spent = -distuv.UnitNormal.Quantile(spent), spent
		return b.bound, spent, nil
	}
	if !(correlation >= 0 && correlation < 1) {
		return 0, 0, fmt.Errorf("sequential: a correlation of %v: want 0 to less than 1", correlation)
	}
	b.proceed(math.Min(rest(b.correlation), rest(correlation)))
	b.correlation, b.bound, b.spent = correlation, b.solve(correlation, spent-b.spent), spent
	return b.bound, distuv.UnitNormal.Survival(b.bound), nil
}

// rest is the standard error of a look, given the one that it has a correlation with.
func rest(correlation float64) float64 { return math.Sqrt(1 - correlation*correlation) }

// solve is the bound that is crossed with a probability, by Newton's method for its logarithm.
func (b *Bounds) solve(correlation, probability float64) float64 {
	rest := rest(correlation)
	low, high, bound := -2*float64(far), 5*float64(far), -distuv.UnitNormal.Quantile(probability)
	for high-low > tolerance {
		crossed, density := 0.0, 0.0
		for i, z := range b.points {
			x := (bound - correlation*z) / rest
			crossed += b.mass[i] * distuv.UnitNormal.Survival(x)
			density += b.mass[i] * distuv.UnitNormal.Prob(x) / rest
		}
		if crossed > probability {
			low = bound
		} else {
			high = bound
		}
		step := crossed * math.Log(crossed/probability) / density
		if math.Abs(step) < tolerance {
			break
		}
		if bound += step; !(low < bound && bound < high) {
			bound = (low + high) / 2
		}
	}
	return bound
}

// proceed makes the law of the look before the last that of the last one, up to its bound, at
// points that are dense for a normal law of the given standard error.
func (b *Bounds) proceed(narrowest float64) {
	bound, rest := math.Min(far, b.bound), rest(b.correlation)
	n := max(32, int(2*(bound+far)/narrowest))
	points, mass := make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(points, mass, -far, bound)
	for k, z := range points {
		density := 0.0
		for i, last := range b.points {
			density += b.mass[i] * distuv.UnitNormal.Prob((z-b.correlation*last)/rest)
		}
		mass[k] *= density / rest
	}
	b.points, b.mass = points, mass
}
