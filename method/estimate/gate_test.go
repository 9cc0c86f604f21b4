package estimate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/method/estimate"
	"speceval/method/informed"
	"speceval/method/neyman"
)

// Ten tasks after a pilot of 4 rollouts each, and continuations of which the one that
// the model is unsure of had most: 8 rollouts on average.
func ExampleOf() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	const weight = 0.4 // of the pilot
	unsure := estimate.Task{Stages: []estimate.Stage{estimate.Binary(4, 2, weight), estimate.Binary(22, 12, 1-weight)}}
	tasks := []estimate.Task{unsure}
	for range 9 {
		tasks = append(tasks, estimate.Task{Stages: []estimate.Stage{estimate.Binary(4, 4, weight), estimate.Binary(2, 2, 1-weight)}})
	}
	mean, err := estimate.Of(prior, tasks)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f ± %.3f, 95%% interval %.3f to %.3f\n", mean.Value, mean.StandardError, mean.Low, mean.High)
	u := mean.Uniform
	fmt.Printf("Uniform needs %.1f rollouts per task for this error, %.1f to %.1f\n", u.Value, u.Low, u.High)
	if u.Verdict(8) == 0 {
		fmt.Println("whether that is more than the 8 that were spent cannot be said")
	}
	// Output:
	// 0.953 ± 0.018, 95% interval 0.901 to 0.978
	// Uniform needs 14.5 rollouts per task for this error, 4.8 to 43.7
	// whether that is more than the 8 that were spent cannot be said
}

// Two models on the same tasks, and whether they were told apart.
func ExampleBounded_Minus() {
	a := estimate.Mean{Value: 0.62, StandardError: 0.012, Low: 0.596, High: 0.643}
	b := estimate.Mean{Value: 0.58, StandardError: 0.011, Low: 0.558, High: 0.601}
	d := a.Bounded().Minus(b.Bounded())
	fmt.Printf("%.3f ± %.3f, 95%% interval %.3f to %.3f\n", d.Value, d.StandardError, d.Low, d.High)
	fmt.Printf("such errors find a difference of %.3f four times in five\n", estimate.Resolved(d.StandardError))
	budgets := d.Budgets([2]int{8, 16}, 0.03)
	fmt.Printf("one of 0.03 takes %d and %d rollouts per task, where it was 8 and 16\n", budgets[0], budgets[1])
	// Output:
	// 0.040 ± 0.016, 95% interval 0.008 to 0.072
	// such errors find a difference of 0.046 four times in five
	// one of 0.03 takes 19 and 37 rollouts per task, where it was 8 and 16
}

// The least budget for a benchmark of 100 tasks at which two models that differ by
// 0.03 are resolved, before any rollout.
func ExamplePlanner_Least() {
	prior, err := informed.New(100, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	planner := estimate.Planner{Prior: prior, Seed: 1}
	e, err := planner.Least(context.Background(), estimate.Resolving(0.03)/math.Sqrt2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rollouts per task, %d of them in the pilot: a standard error of %.4f\n", e.Budget, e.Pilots, e.StandardError)
	fmt.Printf("Uniform needs %d\n", e.UniformBudget)
	// Output:
	// 14 rollouts per task, 3 of them in the pilot: a standard error of 0.0074
	// Uniform needs 16
}

// found is a difference with a standard error of 0.01 on its way to a normal one: of
// means near one half with narrow intervals.
func found(difference, se float64) estimate.Bounded {
	each := se / math.Sqrt2
	mean := func(value float64) estimate.Bounded {
		low, high := textbook(value, value*(1-value)/each/each, 1.959963984540054)
		m := must(estimate.Stored(value, each, low, high))
		return m.Bounded()
	}
	return mean(0.5 + difference/2).Minus(mean(0.5 - difference/2))
}

// once asks a gate at its only look.
func once(margin float64, d estimate.Bounded) estimate.Verdict {
	return must((&estimate.Gate{Margin: margin}).Judge(estimate.Look{Difference: d, Time: 1}))
}

func TestGatesAreOneSided(t *testing.T) {
	const z = 1.6448536269514722
	for _, tt := range []struct {
		difference float64
		want       estimate.Outcome
		sign       int
	}{
		{0.03, estimate.NoWorse, 1}, {0.0, estimate.NoWorse, 0}, {-0.0033, estimate.NoWorse, 0}, {-0.0038, estimate.Undecided, 0},
		{-0.018, estimate.Undecided, -1}, {-0.036, estimate.Undecided, -1}, {-0.037, estimate.Worse, -1}, {-0.2, estimate.Worse, -1},
	} {
		v := once(0.02, found(tt.difference, 0.01))
		if v.Outcome != tt.want || v.Sign != tt.sign || v.Rate != 0.05 || v.Futile || math.Abs(v.Power-0.6388) > 1e-3 {
			t.Errorf("%v: %+v, want %v and %d", tt.difference, v, tt.want, tt.sign)
		}
		if math.Abs(v.Low-tt.difference+z*0.01) > 1e-4 || math.Abs(v.High-tt.difference-z*0.01) > 1e-4 {
			t.Errorf("%v: bounds %v and %v", tt.difference, v.Low, v.High)
		}
	}
	// A tight evaluation can show both: below the baseline, and within the margin.
	if v := once(0.02, found(-0.008, 0.002)); v.Outcome != estimate.NoWorse || v.Sign != -1 {
		t.Errorf("%+v", v)
	}
	if estimate.Worse.String() != "worse" || estimate.NoWorse.String() != "no worse" || estimate.Undecided.String() != "undecided" {
		t.Error("outcomes have other names")
	}
}

// sequence is a gate at five looks from a third on, with a standard error of 0.01 in the
// end: of a model whose every estimate keeps part of the last one, and of a baseline that has
// its share in the variance.
type sequence struct {
	kept, baseline float64 // kept 0: the best weight of each look
}

// counts is what became of gates.
type counts struct {
	passed, failed, futile, lost float64 // lost: futile ones that would have passed later
	spent                        float64 // of the largest budget
}

// run lets gates go on to their end, also after they have become futile, for models that are
// better than the baseline by so many margins.
func (s sequence) run(t *testing.T, margin, better float64, random *rand.Rand) (c counts) {
	t.Helper()
	const looks = 6
	total := 0.01 * 0.01
	always := s.baseline * total
	variance := func(k int) float64 { return (total - always) * looks / float64(k) }
	for range trials {
		gate, baseline := estimate.Gate{Margin: margin, Looks: 5}, math.Sqrt(always)*random.NormFloat64()
		own, before, futile, spent := 0.0, 0.0, false, 1.0
		at := 0.0
		for k := 2; k <= looks; k++ {
			l := estimate.Look{Time: float64(k) / looks, Ahead: float64(k) / looks}
			fresh := variance(1)
			if k == 2 {
				own = variance(2)
				at = better*margin + math.Sqrt(own)*random.NormFloat64()
			} else {
				if before, l.Kept = own, s.kept; s.kept == 0 {
					l.Kept = float64(k-1) / float64(k)
				}
				own = l.Kept*l.Kept*before + (1-l.Kept)*(1-l.Kept)*fresh
				at = l.Kept*at + (1-l.Kept)*(better*margin+math.Sqrt(fresh)*random.NormFloat64())
			}
			l.Own, l.Before, l.Difference = own, before, found(at-baseline, math.Sqrt(own+always))
			v := must(gate.Judge(l))
			if done := v.Outcome != estimate.Undecided; (done || v.Futile) && !futile {
				spent = l.Time
			}
			if v.Outcome == estimate.NoWorse {
				c.passed += 1.0 / trials
				if futile {
					c.lost += 1.0 / trials
				}
			} else if v.Outcome == estimate.Worse {
				c.failed += 1.0 / trials
			}
			if futile = futile || v.Futile; v.Outcome != estimate.Undecided {
				break
			}
		}
		c.spent += spent / float64(trials)
		if futile {
			c.futile += 1.0 / trials
		}
	}
	return c
}

// trials is how many gates are drawn. within allows for four standard errors of a share p of
// them: where the law is as stated, one test in 16,000 fails by chance.
const trials = 1500

func within(share, p float64) bool { return math.Abs(share-p) < 4*math.Sqrt(p*(1-p)/trials) }

// TestLooksShareTheErrorRate draws models at the margin. All of the error is spent, whatever
// the weights of the looks and the share of the baseline, and futile gates change nothing.
func TestLooksShareTheErrorRate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, s := range []sequence{{}, {kept: 0.8}, {kept: 0.8, baseline: 0.5}, {baseline: 0.8}} {
		c := s.run(t, 0.025, -1, random)
		if !within(c.passed, 0.05) || !within(c.failed, 0.05) {
			t.Errorf("%+v: %.3f pass and %.3f are worse, want 0.05 each", s, c.passed, c.failed)
		}
	}
}

// TestGatesStopEarly has the margin that a gate with one look passes models in 80% of the
// cases by, with a budget that is larger by 1/0.97.
func TestGatesStopEarly(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 4))
	margin := 2.4864749 * 0.01 / math.Sqrt(0.97)
	good := sequence{}.run(t, margin, 0, random)
	if kept := good.passed - good.lost; !within(kept, 0.8) || good.lost > 0.0105 || good.spent > 0.83 {
		t.Errorf("%+v: models as good as the baseline", good)
	}
	if bad := (sequence{}).run(t, margin, -1, random); bad.spent > 0.83 || bad.futile < 0.7 {
		t.Errorf("%+v: models at the margin", bad)
	}
	// Where nearly nothing passes, models that do not are not called futile for it.
	if poor := (sequence{}).run(t, margin/2, 0, random); poor.lost > 0.015 {
		t.Errorf("%+v: models of which few pass", poor)
	}
}

func TestGatesThatAreNone(t *testing.T) {
	look := estimate.Look{Difference: found(0, 0.01), Time: 1}
	for _, margin := range []float64{-0.1, 1, math.NaN()} {
		if _, err := (&estimate.Gate{Margin: margin}).Judge(look); err == nil || !strings.Contains(err.Error(), "a gate with a margin of") {
			t.Errorf("%v: %v", margin, err)
		}
	}
	for _, time := range []float64{0, -1, 1.1, math.NaN()} {
		look.Time = time
		if _, err := (&estimate.Gate{}).Judge(look); err == nil || !strings.Contains(err.Error(), "a look at") {
			t.Errorf("%v: %v", time, err)
		}
	}
	look.Time = 1
	g := estimate.Gate{Margin: 0.02}
	for _, want := range []bool{true, false} {
		if _, err := g.Judge(look); (err == nil) != want {
			t.Errorf("a look at the same time as the one before: %v", err)
		}
	}
	exact := estimate.Mean{Value: 0.5, Low: 0.5, High: 0.5}.Bounded()
	if v := once(0.02, exact.Minus(exact)); v.Power != 1 || v.Outcome != estimate.NoWorse {
		t.Errorf("without an error %+v", v)
	}
	if v := once(0, exact.Minus(exact)); math.Abs(v.Power-0.05) > 1e-9 {
		t.Errorf("without an error and a margin %+v", v)
	}
}

// textbook is Wilson's interval for a share of n draws.
func textbook(share, n, z float64) (low, high float64) {
	center := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return center - half, center + half
}

// TestBoundsAreWilsonsAtEveryRate finds the bounds at other rates from the ends of the
// 95% interval alone.
func TestBoundsAreWilsonsAtEveryRate(t *testing.T) {
	for _, share := range []float64{0.003, 0.2, 0.5, 0.97} {
		for _, n := range []float64{3, 40, 1000} {
			low, high := textbook(share, n, 1.959963984540054)
			m := must(estimate.Stored(share, 0.01, low, high))
			b := m.Bounded()
			for rate, z := range map[float64]float64{0.025: 1.959963984540054, 0.05: 1.6448536269514722, 0.001: 3.0902323061678132} {
				low, high := textbook(share, n, z)
				if l, h := b.Bounds(rate); math.Abs(l-low) > 1e-12 || math.Abs(h-high) > 1e-12 {
					t.Errorf("%v of %v at %v: %v to %v, want %v to %v", share, n, rate, l, h, low, high)
				}
			}
			if b.Value != share || b.StandardError != 0.01 || b.Low != low || b.High != high {
				t.Errorf("%+v", b)
			}
		}
	}
}

// A bare number is known exactly, an interval that ends at its value does not end beyond
// it, and one that says nothing says nothing at any rate.
func TestBoundsOfOddIntervals(t *testing.T) {
	for _, tt := range []struct{ low, value, high, wantLow, wantHigh float64 }{
		{0.7, 0.7, 0.7, 0.7, 0.7}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {0, 0.5, 1, 0, 1}, {0, 0.2, 0.2, 0, 0.2},
	} {
		m := must(estimate.Stored(tt.value, 0, tt.low, tt.high))
		if l, h := m.Bounded().Bounds(0.01); l != tt.wantLow || h != tt.wantHigh {
			t.Errorf("%+v: %v to %v", tt, l, h)
		}
	}
	for _, bad := range [][4]float64{{0.5, 0.1, 0.6, 0.7}, {0.5, 0.1, -0.1, 0.7}, {0.5, 0.1, 0.4, 1.2}, {math.NaN(), 0, 0, 1}, {0.5, math.NaN(), 0, 1}, {0.5, -1, 0, 1}, {0.5, 0, 0.1, 0.4}} {
		if m, err := estimate.Stored(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("%v: %+v, %v", bad, m, err)
		}
	}
}

func TestDifferencesAtEveryRate(t *testing.T) {
	a := estimate.Mean{Value: 0.6, StandardError: 0.03, Low: 0.54, High: 0.66}
	b := estimate.Mean{Value: 0.5, StandardError: 0.04, Low: 0.42, High: 0.58}
	d := a.Bounded().Minus(b.Bounded())
	if math.Abs(d.Value-0.1) > 1e-15 || math.Abs(d.StandardError-0.05) > 1e-15 || math.Abs(d.Low) > 1e-12 || math.Abs(d.High-0.2) > 1e-12 {
		t.Errorf("%+v", d)
	}
	if e := b.Bounded().Minus(a.Bounded()); e.Value != -d.Value || math.Abs(e.Low+d.High) > 1e-15 || math.Abs(e.High+d.Low) > 1e-15 {
		t.Errorf("the other way round %+v", e)
	}
	if low, high := d.Bounds(0.025); math.Abs(low-d.Low) > 1e-12 || math.Abs(high-d.High) > 1e-12 {
		t.Errorf("%+v, and at its rate %v to %v", d, low, high)
	}
}
