package pilot

import "math"

// Totals is the distribution of a number of successes. The zero value is ready
// to be set.
type Totals struct {
	cdf []float64 // P(total ≤ s); the last is +Inf, so that inversion ends
}

// BetaBinomial sets t to the distribution of the total of rollouts outcomes
// whose success probability has a Beta(a, b) prior, a, b > 0: the same as that
// of a Pólya urn started with a and b. It follows from the ratio P(s+1)/P(s), outward
// from the total nearest the mean, where nothing can underflow to zero that matters.
func (t *Totals) BetaBinomial(rollouts int, a, b float64) {
	if len(t.cdf) != rollouts+1 {
		t.cdf = make([]float64, rollouts+1)
	}
	n := float64(rollouts)
	ratio := func(s float64) float64 { return (n - s) * (a + s) / ((s + 1) * (b + (n - s - 1))) }
	start := min(rollouts, int(a/(a+b)*n+0.5))
	t.cdf[start] = 1
	for s := start; s < rollouts; s++ {
		t.cdf[s+1] = t.cdf[s] * ratio(float64(s))
	}
	for s := start; s > 0; s-- {
		t.cdf[s-1] = t.cdf[s] / ratio(float64(s-1))
	}
	sum := 0.0
	for s, p := range t.cdf {
		sum += p
		t.cdf[s] = sum
	}
	for s := range t.cdf {
		t.cdf[s] /= sum
	}
	t.cdf[rollouts] = math.Inf(1)
}

// Folded turns the distribution of a total S that is symmetric about the
// middle into the law of min(S, rollouts − S).
func (t Totals) Folded() Totals {
	rollouts := len(t.cdf) - 1
	folded := make([]float64, rollouts/2+1)
	for s := range folded {
		folded[s] = 2 * t.cdf[s]
	}
	folded[len(folded)-1] = math.Inf(1)
	return Totals{folded}
}

// Probability is the probability of a total.
func (t Totals) Probability(s int) float64 {
	p := min(t.cdf[s], 1)
	if s > 0 {
		p -= t.cdf[s-1]
	}
	return p
}

// Invert returns the smallest total s with u < P(total ≤ s), u in [0, 1).
func (t Totals) Invert(u float64) int {
	low, n := 0, len(t.cdf)
	for n > 1 {
		half := n / 2
		if t.cdf[low+half-1] <= u {
			low += half
		}
		n -= half
	}
	return low
}

// InvertFrom is Invert by steps from a total that is believed to be near.
func (t Totals) InvertFrom(u float64, near int) int {
	for t.cdf[near] <= u {
		near++
	}
	for near > 0 && u < t.cdf[near-1] {
		near--
	}
	return near
}
