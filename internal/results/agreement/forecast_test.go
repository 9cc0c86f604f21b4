package agreement

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDifferencesHaveTheNoiseOfBothRuns(t *testing.T) {
	c := Compare(Estimate{0.8760, 0.001}, 0.872, 3, 0)
	if want := math.Sqrt2 * 0.001; math.Abs(*c.SE-want) > 1e-15 {
		t.Errorf("standard error %v, want %v", *c.SE, want)
	}
	if want := (0.004 - 0.0005) / (math.Sqrt2 * 0.001); math.Abs(*c.SEs-want) > 1e-9 {
		t.Errorf("%v standard errors beyond rounding, want %v", *c.SEs, want)
	}
}

// TestCRPSIsTheIntegral holds the closed form against the integral of the squared
// distance of the distribution functions.
func TestCRPSIsTheIntegral(t *testing.T) {
	for _, c := range []struct{ mean, sd, observed float64 }{{0, 1, 0}, {0.25, 0.026, 0.337}, {3, 2, -1}, {-1, 0.5, -0.9}} {
		const step = 1e-4
		integral := 0.0
		for x := c.mean - 12*c.sd; x < c.mean+12*c.sd; x += step * c.sd {
			f := normal((x - c.mean) / c.sd)
			if x >= c.observed {
				f--
			}
			integral += f * f * step * c.sd
		}
		if got := (Forecast{c.mean, c.sd}).CRPS(c.observed); math.Abs(got-integral) > 1e-3*c.sd {
			t.Errorf("%+v: %v, by integration %v", c, got, integral)
		}
	}
	if got := (Forecast{1, 0}).CRPS(0.25); got != 0.75 {
		t.Errorf("without deviation: %v", got)
	}
	if narrow := (Forecast{1, 1e-9}).CRPS(0.25); math.Abs(narrow-0.75) > 1e-8 {
		t.Errorf("with nearly none: %v", narrow)
	}
}

func TestForecasts(t *testing.T) {
	sd := 0.02
	f := NewForecast(0.30, sd, 4)
	if want := 0.02 * math.Sqrt(1.25); math.Abs(f.SD-want) > 1e-15 {
		t.Errorf("s.d. %v, want %v", f.SD, want)
	}
	naive := Forecast{Mean: 0.1}
	for _, c := range []struct {
		forecast Forecast
		paper    float64
		want     Verdict
	}{
		{f, 0.3447, Near},
		{f, 0.3448, Differs},
		{f, 0.2552, Differs},
		{Forecast{0, 0}, 0, Near},
		{Forecast{0, 0}, 0.01, Differs},     // zero is no accepted value
		{Forecast{0.0007, 0.0001}, 0, Near}, // prints alike
		{NewForecast(0.3, math.NaN(), 1), 0.9, Shown},
	} {
		decimals := 4
		if c.paper == 0 && c.forecast.Mean > 0 {
			decimals = 2
		}
		got := Foretold(c.forecast, naive, c.paper, decimals).As(Predicted)
		if got.Verdict != c.want {
			t.Errorf("%+v of %v: %s, want %s", c.forecast, c.paper, got.Verdict, c.want)
		}
		if (got.Score == nil) != (c.want == Shown) || *got.Naive != 0.1 {
			t.Errorf("%+v: score %v", c, got.Score)
		}
	}
	all := Comparisons{Foretold(f, naive, 0.4, 4).As(Predicted), Foretold(f, naive, 0.4, 4).As(InFit)}
	if s := all.Score(); s.Cells != 1 || math.Abs(s.Naive-0.3) > 1e-12 || s.CRPS >= s.Naive {
		t.Errorf("score %+v", s)
	}
}

func TestOnlySomeClassesDecide(t *testing.T) {
	for _, class := range Classes {
		wrong := Comparisons{Compare(Estimate{2, 0}, 1, 0, 0).As(class), Lacking(1, 0, "").As(class)}
		decides := class == Computed || class == Reaggregated || class == Measured
		if wrong.Passed() == decides || class.Decides() != decides {
			t.Errorf("%s: passed %t", class, wrong.Passed())
		}
	}
	one := 1.0
	cells := Comparisons{
		Compare(Estimate{1, 0}, 1, 0, 0).As(Computed), Compare(Estimate{1, 0}, 1, 0, 0).As(Reaggregated), Lacking(1, 0, "").As(Reaggregated),
		Foretold(Forecast{1, 0.1}, Forecast{0, 0}, 1.1, 1).As(Predicted), Foretold(Forecast{1, 0.1}, Forecast{0, 0}, 1.3, 1).As(Predicted),
		Beside(1, 1, 0).Shown("seen").As(InFit), Beside(1, 1, 0).Shown("").As(Measured),
		{Class: Measured, Live: true, Obtained: &one, Verdict: Agrees}, {Class: Copied, Verdict: NotRun},
	}
	want := "computed 1 of 1 agree; re-aggregated 1 of 2 agree; predicted 2: 1 within 2 s.d., 1 differs, score 15.20 points, naive fleet 120.00; fitted 1; " +
		"measured 1 of 1 agree with their predictions; 1 of stages that have not run"
	if got := cells.Tally(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	once := Comparisons{Foretold(NewForecast(1, math.NaN(), 1), Forecast{}, 2, 0).As(Predicted)}
	if got, want := once.Tally(), "predicted 1, not judged: the suite was executed once"; got != want {
		t.Errorf("%s", got)
	}
}

// TestCountsOfChance holds the tail against draws, and the verdict against the tail.
func TestCountsOfChance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p := make([]float64, 60)
	for i := range p {
		p[i] = float64(i) / 200
	}
	const draws = 200_000
	seen := make([]float64, len(p)+1)
	for range draws {
		n := 0
		for _, q := range p {
			if random.Float64() < q {
				n++
			}
		}
		for k := range n + 1 {
			seen[k]++
		}
	}
	for k, n := range seen {
		if got, want := atLeast(k, p), n/draws; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/draws)+3e-5 {
			t.Errorf("P(%d or more) = %v, drawn %v", k, got, want)
		}
	}
	for count, want := range map[int]Verdict{0: Agrees, 8: Agrees, 9: Within, 15: Within, 17: Within, 19: Differs, 60: Differs, 61: Differs} {
		if got := Counted(count, p); got.Verdict != want {
			t.Errorf("%d of %.2f expected: %s (%s), want %s", count, *got.Paper, got.Verdict, got.Note, want)
		}
	}
	if got := Counted(1, []float64{0}); got.Verdict != Differs || got.SEs != nil {
		t.Errorf("an impossible one: %+v", got)
	}
}

func TestSentences(t *testing.T) {
	two, half := 2.0, 0.5
	for want, c := range map[string]Comparison{
		"paper: 0.87; difference +0.05 ± 0.0014: differs (beyond rounding and tolerance by 31.82 standard errors; more than 3 are no noise)": Compare(Estimate{0.92, 0.001}, 0.87, 2, 0),
		"paper: HBN: shown (beside the paper's, which it need not equal)":                                                                    {PaperName: "HBN", Verdict: Shown},
		"predicted: 2: agrees (no further than the 0.5 that are 5% of the measured time)":                                                    {Live: true, Predicted: &two, Tolerance: &half, Verdict: Agrees},
		"verdict: shown (fitted)": {Live: true, Verdict: Shown, Note: "fitted"},
	} {
		if got := c.Sentence(); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}
