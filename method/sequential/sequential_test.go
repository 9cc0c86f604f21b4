package sequential_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/method/sequential"
)

// A test at a quarter, at half and at all of its data, which may be wrong in 5% of the cases
// and spends this with the square of the data.
func ExampleBounds() {
	var b sequential.Bounds
	last := 0.0
	for _, t := range []float64{0.25, 0.5, 1} {
		bound, _, err := b.Next(math.Sqrt(last/t), 0.05*t*t)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.3f at %g\n", bound, t)
		last = t
	}
	// Output:
	// 2.734 at 0.25
	// 2.302 at 0.5
	// 1.704 at 1
}

// The spending functions of Lan and DeMets (1983).
func obrienFleming(all, t float64) float64 {
	return 2 * distuv.UnitNormal.Survival(-distuv.UnitNormal.Quantile(all/2)/math.Sqrt(t))
}

func pocock(all, t float64) float64 { return all * math.Log(1+(math.E-1)*t) }

// TestPublishedBounds holds bounds to those of R's gsDesign and ldbounds at five looks and at
// .5, .75 and 1 (documentation of gsdmvn 0.1), and of SeqBounds.jl at .25, .5, .75 and 1, whose
// grid is good to some 5 of the last digit.
func TestPublishedBounds(t *testing.T) {
	fifths := []float64{0.2, 0.4, 0.6, 0.8, 1}
	for name, tt := range map[string]struct {
		spend       func(all, t float64) float64
		all         float64
		times, want []float64
		off         float64
	}{
		"O'Brien-Fleming":        {obrienFleming, 0.025, fifths, []float64{4.8769, 3.3570, 2.6803, 2.2898, 2.0310}, 1e-4},
		"Pocock":                 {pocock, 0.025, fifths, []float64{2.4380, 2.4268, 2.4101, 2.3966, 2.3859}, 2e-4},
		"O'Brien-Fleming, late":  {obrienFleming, 0.025, []float64{0.5, 0.75, 1}, []float64{2.962588, 2.359018, 2.014084}, 1e-5},
		"O'Brien-Fleming, at 5%": {obrienFleming, 0.05, []float64{0.25, 0.5, 0.75, 1}, []float64{3.74955, 2.53993, 2.01604, 1.72014}, 6e-5},
	} {
		var b sequential.Bounds
		last := 0.0
		for k, time := range tt.times {
			got, rate, err := b.Next(math.Sqrt(last/time), tt.spend(tt.all, time))
			if err != nil || math.Abs(got-tt.want[k]) > tt.off || math.Abs(rate-distuv.UnitNormal.Survival(got)) > 1e-15 {
				t.Errorf("%s: %.5f at %v, want %v (%v)", name, got, time, tt.want[k], err)
			}
			last = time
		}
	}
}

// TestBoundsAreCrossedAsOftenAsStated draws tests with weights that are not the best ones, and
// looks that follow each other closely.
func TestBoundsAreCrossedAsOftenAsStated(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, correlations := range [][]float64{{0, 0.3, 0.95, 0, 0.6}, {0, 0.99, 0.9, 0.999, 0.999}} {
		var b sequential.Bounds
		var bounds, spent []float64
		for k, r := range correlations {
			spent = append(spent, 0.04*float64(k+1))
			u, _, err := b.Next(r, spent[k])
			if err != nil {
				t.Fatal(err)
			}
			bounds = append(bounds, u)
		}
		const trials = 200_000
		crossed := make([]float64, len(bounds))
		for range trials {
			z := 0.0
			for k, r := range correlations {
				if z = r*z + math.Sqrt(1-r*r)*random.NormFloat64(); z > bounds[k] {
					for later := k; later < len(crossed); later++ {
						crossed[later] += 1. / trials
					}
					break
				}
			}
		}
		for k, p := range spent { // five standard errors: one of all in 170,000 by chance
			if math.Abs(crossed[k]-p) > 5*math.Sqrt(p*(1-p)/trials) {
				t.Errorf("%v: %v crossed by look %d, want %v", correlations, crossed[k], k, p)
			}
		}
	}
}

func TestBoundsThatAreNone(t *testing.T) {
	var b sequential.Bounds
	if u, _, err := b.Next(math.NaN(), 0.025); err != nil || math.Abs(u-1.959963985) > 1e-9 {
		t.Errorf("%v at the first look (%v)", u, err)
	}
	for _, spent := range []float64{0.025, 0.02, 1, math.NaN()} {
		if _, _, err := b.Next(0.5, spent); err == nil {
			t.Errorf("an error of %v after 0.025", spent)
		}
	}
	for _, correlation := range []float64{-0.1, 1, math.NaN()} {
		if _, _, err := b.Next(correlation, 0.03); err == nil {
			t.Errorf("a correlation of %v", correlation)
		}
	}
}
