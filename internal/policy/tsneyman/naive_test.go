package tsneyman

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/internal/policy/seed"
)

// TestNaiveAndFastTrajectoriesAlike compares whole trajectories: the mean number
// of rollouts of every task and the mean squared error, each with its standard
// error, on outcomes of their own. Per 1200 trajectories a mean number of
// rollouts has a standard error of 1%, the squared error one of 6%: this test is
// about what goes wrong between steps; for the law of a step there are sharper
// ones. With -tsneyman.scale 100 the errors are a tenth of that.
func TestNaiveAndFastTrajectoriesAlike(t *testing.T) {
	const alpha, warm, budget = 0.07, 2, 12
	p := probabilities(t, "aime24__model=qwen3_5_4b")[:12]
	trajectories := 1200 * *scale
	o, s, v := NewOutcomes(p), NewSampler(alpha), newNaive(alpha)
	var fast, slow []moments
	random := seed.Root(22).Stream()
	for k := range uint64(trajectories) {
		o.Begin(random.At(4 * k))
		s.Begin(o, warm, random.At(4*k+1))
		s.Advance(budget * len(p))
		fast = record(fast, p, s.Rollouts(), s.successes)
		o.Begin(random.At(4*k + 2))
		v.begin(o, warm, random.At(4*k+3))
		for range (budget - warm) * len(p) {
			v.step()
		}
		slow = record(slow, p, v.rollouts, v.successes)
	}
	for i := range fast {
		f, fe := fast[i].mean()
		n, ne := slow[i].mean()
		if z := (f - n) / math.Hypot(fe, ne); math.Abs(z) > 4.5 {
			t.Errorf("quantity %d (rollouts by task, then the squared error): %v ± %v, naive %v ± %v", i, f, fe, n, ne)
		}
	}
	f, fe := fast[len(p)].mean()
	n, ne := slow[len(p)].mean()
	t.Logf("mean squared error %.6f ± %.6f, naive %.6f ± %.6f", f, fe, n, ne)
}

type moments struct{ n, sum, squares float64 }

func (m *moments) add(x float64) { m.n, m.sum, m.squares = m.n+1, m.sum+x, m.squares+x*x }

// mean is the mean with its standard error.
func (m moments) mean() (mean, se float64) {
	mean = m.sum / m.n
	return mean, math.Sqrt(max(0, m.squares/m.n-mean*mean)/m.n) + 1e-12
}

func record(to []moments, p []float64, rollouts, successes []int32) []moments {
	if to == nil {
		to = make([]moments, len(p)+1)
	}
	e := 0.0
	for i, n := range rollouts {
		to[i].add(float64(n))
		e += (float64(successes[i])/float64(n) - p[i]) / float64(len(p))
	}
	to[len(p)].add(e * e)
	return to
}

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
