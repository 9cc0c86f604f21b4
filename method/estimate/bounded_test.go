package estimate_test

import (
	"errors"
	"math"
	"testing"

	"speceval/method/estimate"
)

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

func TestDifferencesAndSuites(t *testing.T) {
	a := estimate.Mean{Value: 0.6, StandardError: 0.03, Low: 0.54, High: 0.66}
	b := estimate.Mean{Value: 0.5, StandardError: 0.04, Low: 0.42, High: 0.58}
	plain, bounded := a.Minus(b), a.Bounded().Minus(b.Bounded())
	if math.Abs(plain.Low-bounded.Low) > 1e-12 || math.Abs(plain.High-bounded.High) > 1e-12 || plain.Value != bounded.Value || plain.StandardError != bounded.StandardError {
		t.Errorf("%+v at every rate, %+v at one", bounded, plain)
	}
	suite, err := estimate.Combine([]float64{3, 1}, []estimate.Bounded{a.Bounded(), b.Bounded()})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(suite.Value-0.575) > 1e-15 || math.Abs(suite.StandardError-math.Hypot(0.75*0.03, 0.25*0.04)) > 1e-15 || math.Abs(suite.Low-0.575+math.Hypot(0.75*0.06, 0.25*0.08)) > 1e-9 {
		t.Errorf("%+v", suite)
	}
	alone, err := estimate.Combine([]float64{5}, []estimate.Bounded{a.Bounded()})
	if err != nil || math.Abs(alone.Low-a.Low) > 1e-12 || math.Abs(alone.High-a.High) > 1e-12 || alone.Value != a.Value {
		t.Errorf("%+v alone, %v", alone, err)
	}
	for _, weights := range [][]float64{nil, {1}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := estimate.Combine(weights, []estimate.Bounded{a.Bounded(), b.Bounded()}); err == nil {
			t.Errorf("a suite with the weights %v", weights)
		}
	}
	if _, err := estimate.Combine(nil, nil); err == nil {
		t.Error("a suite of nothing")
	}
}
