package estimate_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"speceval/method/estimate"
)

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
		beside, err := g.NeedsBeside(0.6*se, 0.8)
		if err != nil || math.Abs(math.Hypot(beside, 0.6*se)-se) > 1e-15 {
			t.Errorf("beside %v the evaluation needs %v for %v (%v)", 0.6*se, beside, se, err)
		}
		if _, err := g.NeedsBeside(se, 0.8); err == nil || !strings.Contains(err.Error(), "extend the baseline") {
			t.Errorf("beside %v: %v", se, err)
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
		_, beside := g.NeedsBeside(0.01, 0.8)
		for _, err := range []error{err, power, needs, beside} {
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
