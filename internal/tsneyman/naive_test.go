package tsneyman

import (
	"math"
	"math/rand/v2"

	"speceval/internal/seed"
)

// naive steps as the paper says: a draw from every task's posterior, at every
// step. It is what the sampler is held against, in law and in cost, and so is
// written with care: gamma variables by Marsaglia and Tsang's squeeze, whose
// constants are kept by shape, normal and exponential numbers from ziggurats,
// and no logarithm unless the squeeze fails.
type naive struct {
	alpha     float64
	outcomes  *Outcomes
	stream    *seed.Stream
	random    *rand.Rand
	shapes    []shape // of alpha + k, by k
	rollouts  []int32
	successes []int32
	tilt      float64 // task 0 counts as if its score were this much larger; for tests of tests
}

// shape is a gamma law, with the constants of the method.
type shape struct {
	d, c  float64
	boost float64 // below shape 1: 1/shape, and d and c are those of shape+1
}

func newNaive(alpha float64) *naive {
	stream := new(seed.Stream)
	return &naive{alpha: alpha, stream: stream, random: rand.New(stream)}
}

func (v *naive) shape(k int32) shape {
	for int(k) >= len(v.shapes) {
		a, boost := v.alpha+float64(len(v.shapes)), 0.0
		if a < 1 {
			a, boost = a+1, 1/a
		}
		d := a - 1.0/3
		v.shapes = append(v.shapes, shape{d, 1 / math.Sqrt(9*d), boost})
	}
	return v.shapes[k]
}

// gamma draws a number and what its logarithm lacks.
func (v *naive) gamma(s shape) (g, boost float64) {
	for {
		x := v.random.NormFloat64()
		w := 1 + s.c*x
		if w <= 0 {
			continue
		}
		w = w * w * w
		u, x2 := v.stream.Float64(), x*x
		if u < 1-0.0331*x2*x2 || math.Log(u) < 0.5*x2+s.d*(1-w+math.Log(w)) {
			if s.boost > 0 {
				boost = -v.random.ExpFloat64() * s.boost
			}
			return s.d * w, boost
		}
	}
}

// select draws the index of the next task. Scores that underflow to 0 are
// compared by their logarithms, if no score is above 0.
func (v *naive) choose() int {
	best, selected := 0.0, 0
	bestLog := math.Inf(-1)
	for i, n := range v.rollouts {
		s := v.successes[i]
		g, gBoost := v.gamma(v.shape(s))
		h, hBoost := v.gamma(v.shape(n - s))
		boost := gBoost + hBoost
		score := g * h / ((g + h) * (g + h) * float64(n) * float64(n+1))
		if boost != 0 { // one side is as good as empty: of that, g or h stays small beside the other
			score = boosted(g, h, gBoost, hBoost) / (float64(n) * float64(n+1))
		}
		if i == 0 && v.tilt != 0 {
			score *= 1 + v.tilt
		}
		if score > best {
			best, selected = score, i
		}
		if best == 0 {
			if l := math.Log(g*h/(float64(n)*float64(n+1))) + boost - 2*math.Log(max(g*math.Exp(gBoost), h*math.Exp(hBoost))); l > bestLog {
				bestLog, selected = l, i
			}
		}
	}
	return selected
}

func boosted(g, h, gBoost, hBoost float64) float64 {
	if gBoost != 0 {
		g *= math.Exp(gBoost)
	}
	if hBoost != 0 {
		h *= math.Exp(hBoost)
	}
	return g * h / ((g + h) * (g + h))
}

// begin and advance are those of the sampler.
func (v *naive) begin(o *Outcomes, warm int, random seed.Stream) {
	v.outcomes, *v.stream = o, random
	v.rollouts, v.successes = v.rollouts[:0], v.successes[:0]
	for i := range o.Tasks() {
		passes := int32(0)
		for j := range warm {
			if o.Pass(i, j) {
				passes++
			}
		}
		v.rollouts, v.successes = append(v.rollouts, int32(warm)), append(v.successes, passes)
	}
}

func (v *naive) step() {
	i := v.choose()
	if v.outcomes.Pass(i, int(v.rollouts[i])) {
		v.successes[i]++
	}
	v.rollouts[i]++
}
