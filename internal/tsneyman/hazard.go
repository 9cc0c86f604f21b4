package tsneyman

import "math"

// most bounds a hazard. An exponential number exceeds it once in 10^26 draws.
const most = 60

// posterior is Beta(a, b) of a success probability p, with what hazard needs.
type posterior struct {
	a, b, logBeta float64
	logGain       float64 // log n(n+1)
}

// newPosterior is the posterior after n rollouts of which less passed, or as
// many failed: p(1−p) has the same law.
func newPosterior(alpha float64, n, less int32) posterior {
	a, b := alpha+float64(less), alpha+float64(n-less)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return posterior{a, b, la + lb - lab, math.Log(float64(n) * float64(n+1))}
}

// density holds what the law of the score has at x = 2^−depth: with y =
// x·n(n+1) = q(1−q), q ≤ 1/2, the densities of logit p at q and at 1−q, and
// root = 1−2q, by which the depth changes with the logit.
type density struct {
	q, near, far, root float64
}

func (p *posterior) at(depth float64) density {
	log4y := p.logGain - depth*math.Ln2 + 2*math.Ln2
	if log4y > 0 {
		log4y = 0
	}
	root := math.Sqrt(-math.Expm1(log4y))
	half := math.Log1p(root)
	logQ, logRest := log4y-math.Ln2-half, half-math.Ln2
	return density{
		math.Exp(logQ),
		math.Exp(p.a*logQ + p.b*logRest - p.logBeta),
		math.Exp(p.b*logQ + p.a*logRest - p.logBeta),
		root,
	}
}

// hazard is −log F(x) in 1/unit, where F is the distribution function of the
// score p(1−p)/(n(n+1)):
//
//	F(x) = P(p ≤ q) + P(p ≥ 1−q) = I_q(a, b) + I_q(b, a)
func (p *posterior) hazard(d density) uint64 {
	if d.root == 0 {
		return 0
	}
	below := 0.0
	if d.q < (p.a+1)/(p.a+p.b+2) {
		below = d.near / p.a * fractionBeta(p.a, p.b, d.q)
	} else {
		below = 1 - d.near/p.b*fractionBeta(p.b, p.a, 1-d.q)
	}
	if d.far > 1e-18*below {
		below += d.far / p.b * fractionBeta(p.b, p.a, d.q)
	}
	h := -math.Log(below)
	switch {
	case h > 0 && h < most:
		return uint64(h*unit + 0.5)
	case h <= 0:
		return 0
	}
	return most * unit
}

// fractionBeta is the continued fraction in
// I_x(a, b) = x^a (1−x)^b / (a B(a, b)) · fraction
// (Abramowitz and Stegun 26.5.8, by the modified Lentz method).
func fractionBeta(a, b, x float64) float64 {
	const tiny, epsilon = 1e-300, 1e-14 // a hazard's unit is 10^−11
	c, d := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(d) < tiny {
		d = tiny
	}
	d = 1 / d
	h := d
	for m := 1.0; m < 1e5; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/(1+even*d), 1+even/c
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/(1+odd*d), 1+odd/c
		step := d * c
		h *= step
		if math.Abs(step-1) < epsilon {
			break
		}
	}
	return h
}
