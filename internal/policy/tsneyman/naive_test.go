package tsneyman

import (
	"math"
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
	o, s, v := NewOutcomes(p), NewSampler(alpha), &naive{alpha: alpha}
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

// naive steps as the paper says: a draw from every task's posterior, at every step. It is
// what the sampler is held against.
type naive struct {
	alpha     float64
	outcomes  *Outcomes
	random    seed.Stream
	rollouts  []int32
	successes []int32
}

// begin and step do what the sampler's do.
func (v *naive) begin(o *Outcomes, warm int, random seed.Stream) {
	v.outcomes, v.random = o, random
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
	next, best := 0, math.Inf(-1)
	for i, n := range v.rollouts {
		s := v.successes[i]
		score := logVariance(v.alpha+float64(s), v.alpha+float64(n-s), &v.random) - math.Log(float64(n)*float64(n+1))
		if score > best {
			next, best = i, score
		}
	}
	if v.outcomes.Pass(next, int(v.rollouts[next])) {
		v.successes[next]++
	}
	v.rollouts[next]++
}
