package tsneyman

import (
	"math"
	"testing"

	"speceval/internal/seed"
)

// TestNaiveAndFastSelectAlike is a two-sample chi-square of the selected task
// between draws of every posterior and the race.
func TestNaiveAndFastSelectAlike(t *testing.T) {
	for k, c := range []struct {
		profile string
		alpha   float64
		budget  int
	}{{"aime24__model=qwen3_5_4b", 0.01, 24}, {"aime24__model=qwen3_5_4b", 1, 8}, {"math_100__model=qwen3_5_4b", 0.07, 4}} {
		random := seed.Root(21).Index(k).Stream()
		n, passes := reached(t, c.profile, c.alpha, c.budget, random.At(0))
		s, v := at(c.alpha, n, passes, random.At(1)), newNaive(c.alpha)
		v.rollouts, v.successes, *v.stream = n, passes, random.At(2)
		slow, fast := 10_000**scale, 80_000**scale
		counts := make([]float64, len(n))
		for range slow {
			counts[v.choose()]++
		}
		x, terms := 0.0, -1.0
		for i, f := range draws(s, fast) {
			pooled := (counts[i] + float64(f)) / float64(slow+fast)
			if pooled*float64(slow) < 10 {
				continue
			}
			d := counts[i]/float64(slow) - float64(f)/float64(fast)
			x, terms = x+d*d/(pooled*(1/float64(slow)+1/float64(fast))), terms+1
		}
		if z := (x - terms) / math.Sqrt(2*terms); z > 5 {
			t.Errorf("%v: chi-square %.1f of %.0f degrees of freedom", c, x, terms)
		}
	}
}

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
		fast = record(fast, p, s.Rollouts(), s.Successes())
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
