package profile

import (
	"math"
	"slices"
)

// law is the probability distribution of a count: p[i] is the probability of
// from+i. What is less than negligible times the most probable is left out.
type law struct {
	from int
	p    []float64
}

const negligible = 1e-20

// shared is the law of how many of s passes belong to the first file, if of n1
// and n2 rollouts each is as likely to be among the passes as any other: the
// hypergeometric distribution. It follows from the recurrence
//
//	p(a+1) / p(a) = (s−a)(n1−a) / ((a+1)(n2−s+a+1))
//
// in both directions from the most probable count.
func shared(n1, n2, s int) law {
	least, most := max(0, s-n2), min(s, n1)
	mode := int(float64(s+1) * (float64(n1+1) / float64(n1+n2+2)))
	mode = min(max(mode, least), most)
	ratio := func(a int) float64 {
		return float64(s-a) * float64(n1-a) / (float64(a+1) * float64(n2-s+a+1))
	}
	var below []float64
	from := mode
	for value := 1.0; from > least; from-- {
		if value /= ratio(from - 1); value < negligible {
			break
		}
		below = append(below, value)
	}
	slices.Reverse(below)
	p := append(below, 1)
	for a, value := mode, 1.0; a < most; a++ {
		if value *= ratio(a); value < negligible {
			break
		}
		p = append(p, value)
	}
	return law{from, p}.normalized()
}

// sharedVariance is the variance of that law.
func sharedVariance(n1, n2, s int) float64 {
	n := float64(n1 + n2)
	return float64(n1) * float64(n2) * float64(s) * (n - float64(s)) / (n * n * max(n-1, 1))
}

func (l law) normalized() law {
	sum := 0.0
	for _, p := range l.p {
		sum += p
	}
	for i := range l.p {
		l.p[i] /= sum
	}
	return l
}

// plus is the law of the sum of independent counts.
func (l law) plus(other law) law {
	p := make([]float64, len(l.p)+len(other.p)-1)
	for i, a := range l.p {
		for j, b := range other.p {
			p[i+j] += float64(a * b) // the conversion forbids a fused multiply-add
		}
	}
	most := slices.Max(p)
	first, last := 0, len(p)
	for p[first] < negligible*most {
		first++
	}
	for p[last-1] < negligible*most {
		last--
	}
	return law{l.from + other.from + first, p[first:last]}
}

// sum is the law of the sum of all, halves first: laws of the same width are
// quickest to add.
func sum(laws []law) law {
	switch len(laws) {
	case 0:
		return law{0, []float64{1}}
	case 1:
		return laws[0]
	}
	half := len(laws) / 2
	return sum(laws[:half]).plus(sum(laws[half:]))
}

// surprise is the two-sided p-value of a count: twice the probability of what
// is at least as far on its side. Under the law it is below any x with a
// probability of at most x.
func (l law) surprise(count int) float64 {
	below, above := 0.0, 0.0
	for i, p := range l.p {
		if l.from+i <= count {
			below += p
		}
	}
	for i := len(l.p) - 1; i >= 0; i-- { // the small ones first
		if l.from+i >= count {
			above += l.p[i]
		}
	}
	return min(1, 2*min(below, above))
}

// normalSurprise is the same of a normal law, where a count stands for the half
// on its either side.
func normalSurprise(count, mean, variance float64) float64 {
	away := max(0, math.Abs(count-mean)-0.5)
	return math.Erfc(away / math.Sqrt(2*variance))
}
