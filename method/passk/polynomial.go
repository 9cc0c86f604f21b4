package passk

// polynomial is the coefficients of p^0, p^1 and so on.
type polynomial []float64

// add adds the variance that a stage of n rollouts adds to the estimate, as a function of
// p: Var[Σ a·U_i·p^d] over the parts that take i and leave d, with the mean Σ A_r·p^r.
func (v polynomial) add(parts []part, ahead []float64, n int) {
	for _, x := range parts {
		for _, y := range parts {
			low := max(0, x.taken+y.taken-n)
			for c, chance := range overlaps(x.taken, y.taken, n, low) {
				v[x.left+y.left+x.taken+y.taken-low-c] += x.weight * y.weight * chance
			}
		}
	}
	for r, a := range ahead {
		for s, b := range ahead {
			v[r+s] -= a * b
		}
	}
}

// overlaps is the chances that a set of i and a set of j of n rollouts have c in common,
// from c = low, the least that they can.
func overlaps(i, j, n, low int) []float64 {
	chances := make([]float64, min(i, j)-low+1)
	chance, sum := 1.0, 0.0
	for k := range chances {
		chances[k] = chance
		sum += chance
		c := low + k
		chance *= float64(i-c) * float64(j-c) / (float64(c+1) * float64(n-i-j+c+1))
	}
	for k := range chances {
		chances[k] /= sum
	}
	return chances
}

// expect is the expectation of the polynomial by those of the powers of p.
func (v polynomial) expect(powers []float64) float64 {
	sum := 0.0
	for d, coefficient := range v {
		sum += coefficient * powers[d]
	}
	return sum
}

// at is the polynomial's value.
func (v polynomial) at(p float64) float64 {
	sum := 0.0
	for d := len(v) - 1; d >= 0; d-- {
		sum = sum*p + v[d]
	}
	return sum
}
