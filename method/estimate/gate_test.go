package estimate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/method/estimate"
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

// What a second evaluation at twice the budget would come to, by what the first has
// found.
func ExamplePredict() {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	observed, passed := []int{8, 8, 8, 8, 8, 8}, []int{8, 8, 4, 0, 0, 8}
	earlier, err := prior.Update(observed, passed)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := estimate.Predict(prior, earlier.Mixture(), estimate.Plan{Budget: 16, Pilots: 6, Weight: 0.35}, 1000, rand.NewPCG(1, 2))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, by Uniform %.3f\n", f.StandardError, f.Uniform)
	// Output: 0.021, by Uniform 0.023
}

// Two models on the same tasks, and whether they were told apart.
func ExampleMean_Minus() {
	a := estimate.Mean{Value: 0.62, StandardError: 0.012, Low: 0.596, High: 0.643}
	b := estimate.Mean{Value: 0.58, StandardError: 0.011, Low: 0.558, High: 0.601}
	d := a.Minus(b)
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
	planner := estimate.Planner{Tasks: 100, Seed: 1}
	e, err := planner.Least(context.Background(), estimate.ResolvingEach(0.03))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d rollouts per task, %d of them in the pilot: a standard error of %.4f\n", e.Budget, e.Pilots, e.StandardError)
	fmt.Printf("Uniform needs %d\n", e.UniformBudget)
	// Output:
	// 14 rollouts per task, 5 of them in the pilot: a standard error of 0.0075
	// Uniform needs 15
}

// found is a difference with a standard error of 0.01 on its way to a normal one: of
// means near one half with narrow intervals.
func found(t testing.TB, difference, se float64) estimate.Bounded {
	t.Helper()
	each := se / math.Sqrt2
	mean := func(value float64) estimate.Bounded {
		low, high := textbook(value, value*(1-value)/each/each, 1.959963984540054)
		m, err := estimate.Stored(value, each, low, high)
		if err != nil {
			t.Fatal(err)
		}
		return m.Bounded()
	}
	return mean(0.5 + difference/2).Minus(mean(0.5 - difference/2))
}

func judge(t testing.TB, g estimate.Gate, d estimate.Bounded) estimate.Verdict {
	t.Helper()
	v, err := g.Judge(d)
	if err != nil {
		t.Fatal(err)
	}
	return v
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
		v := judge(t, estimate.Gate{Margin: 0.02}, found(t, tt.difference, 0.01))
		if v.Outcome != tt.want || v.Sign != tt.sign || v.Rate != 0.05 || v.Look != 1 || v.Looks != 1 {
			t.Errorf("%v: %+v, want %v and %d", tt.difference, v, tt.want, tt.sign)
		}
		if math.Abs(v.Low-tt.difference+z*0.01) > 1e-4 || math.Abs(v.High-tt.difference-z*0.01) > 1e-4 {
			t.Errorf("%v: bounds %v and %v", tt.difference, v.Low, v.High)
		}
	}
	// A tight evaluation can show both: below the baseline, and within the margin.
	if v := judge(t, estimate.Gate{Margin: 0.02}, found(t, -0.008, 0.002)); v.Outcome != estimate.NoWorse || v.Sign != -1 {
		t.Errorf("%+v", v)
	}
	if estimate.Worse.String() != "worse" || estimate.NoWorse.String() != "no worse" || estimate.Undecided.String() != "undecided" {
		t.Error("outcomes have other names")
	}
}

// TestLooksShareTheErrorRate adds the rates of all looks up, and lets correlated looks
// go wrong as often as they can.
func TestLooksShareTheErrorRate(t *testing.T) {
	for looks := 1; looks <= 20; looks++ {
		sum, last := 0.0, 0.0
		for look := 1; look <= looks; look++ {
			v := judge(t, estimate.Gate{Margin: 0.1, Look: look, Looks: looks}, found(t, 0, 0.01))
			if look > 1 && math.Abs(v.Rate-2*last) > 1e-15 {
				t.Errorf("look %d of %d has the rate %v after %v", look, looks, v.Rate, last)
			}
			last = v.Rate
			sum += v.Rate
		}
		if math.Abs(sum-estimate.GateRate) > 1e-15 {
			t.Errorf("%d looks have %v together", looks, sum)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	const trials, looks, margin = 20_000, 4, 0.03
	for _, kept := range []float64{0, 0.5, 0.9} { // the weight of the old rollouts
		wrong := 0
		for range trials {
			se, at := 0.02, -margin+0.02*random.NormFloat64()
			for look := 1; look <= looks; look++ {
				if judge(t, estimate.Gate{Margin: margin, Look: look, Looks: looks}, found(t, at, se)).Outcome == estimate.NoWorse {
					wrong++
					break
				}
				fresh := 0.02 / math.Pow(2, float64(look)/2) // twice the rollouts
				at = kept*at + (1-kept)*(-margin+fresh*random.NormFloat64())
				se = math.Hypot(kept*se, (1-kept)*fresh)
			}
		}
		if share := float64(wrong) / trials; share > 0.05+4*math.Sqrt(0.05*0.95/trials) {
			t.Errorf("old rollouts weigh %v: %v of the looks are wrong", kept, share)
		}
	}
}

// TestPowerIsWhatHappens draws differences of equal models.
func TestPowerIsWhatHappens(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 4))
	for _, g := range []estimate.Gate{{Margin: 0.02}, {Margin: 0.02, Look: 2, Looks: 3}} {
		se, err := g.Needs(0.8)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := g.Power(se); err != nil || math.Abs(p-0.8) > 1e-12 {
			t.Errorf("power %v at the error that has 0.8 (%v)", p, err)
		}
		const trials = 20_000
		passed := 0
		for range trials {
			if judge(t, g, found(t, se*random.NormFloat64(), se)).Outcome == estimate.NoWorse {
				passed++
			}
		}
		if share := float64(passed) / trials; math.Abs(share-0.8) > 4*math.Sqrt(0.16/trials) {
			t.Errorf("%+v: %v pass", g, share)
		}
	}
}

func TestGatesThatAreNone(t *testing.T) {
	for want, g := range map[string]estimate.Gate{
		"a margin of -0.1": {Margin: -0.1}, "a margin of 1:": {Margin: 1}, "a margin of NaN": {Margin: math.NaN()},
		"0 looks": {Look: 1}, "21 looks": {Look: 1, Looks: 21}, "look 0 of 2": {Looks: 2}, "look 3 of 2": {Look: 3, Looks: 2},
	} {
		_, err := g.Judge(found(t, 0, 0.01))
		_, power := g.Power(0.1)
		_, needs := g.Needs(0.8)
		for _, err := range []error{err, power, needs} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", g, err, want)
			}
		}
	}
	g := estimate.Gate{Margin: 0.02}
	for _, power := range []float64{0, 0.05, 1, math.NaN()} {
		if _, err := g.Needs(power); err == nil {
			t.Errorf("a power of %v", power)
		}
	}
	if _, err := g.Power(-1); err == nil {
		t.Error("a standard error of -1")
	}
	if p, err := g.Power(0); err != nil || p != 1 {
		t.Errorf("without an error %v pass (%v)", p, err)
	}
	if p, err := (estimate.Gate{}).Power(0); err != nil || math.Abs(p-0.05) > 1e-12 {
		t.Errorf("without an error and a margin %v pass (%v)", p, err)
	}
	if _, err := (estimate.Gate{}).Needs(0.8); err == nil {
		t.Error("a margin of 0 is planned for")
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
			m, err := estimate.Stored(share, 0.01, low, high)
			if err != nil {
				t.Fatal(err)
			}
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
		m, err := estimate.Stored(tt.value, 0, tt.low, tt.high)
		if err != nil {
			t.Fatal(err)
		}
		if l, h := m.Bounded().Bounds(0.01); l != tt.wantLow || h != tt.wantHigh {
			t.Errorf("%+v: %v to %v", tt, l, h)
		}
	}
	for _, bad := range [][4]float64{{0.5, 0.1, 0.6, 0.7}, {0.5, 0.1, -0.1, 0.7}, {0.5, 0.1, 0.4, 1.2}, {math.NaN(), 0, 0, 1}, {0.5, math.NaN(), 0, 1}, {0.5, -1, 0, 1}, {0.5, 0, 0.1, 0.4}} {
		if m, err := estimate.Stored(bad[0], bad[1], bad[2], bad[3]); !errors.Is(err, estimate.ErrNoInterval) {
			t.Errorf("%v: %+v, %v", bad, m, err)
		}
	}
}

func TestDifferencesAtEveryRate(t *testing.T) {
	a := estimate.Mean{Value: 0.6, StandardError: 0.03, Low: 0.54, High: 0.66}
	b := estimate.Mean{Value: 0.5, StandardError: 0.04, Low: 0.42, High: 0.58}
	plain, bounded := a.Minus(b), a.Bounded().Minus(b.Bounded())
	if math.Abs(plain.Low-bounded.Low) > 1e-12 || math.Abs(plain.High-bounded.High) > 1e-12 || plain.Value != bounded.Value || plain.StandardError != bounded.StandardError {
		t.Errorf("%+v at every rate, %+v at one", bounded, plain)
	}
}
