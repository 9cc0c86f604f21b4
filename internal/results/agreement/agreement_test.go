package agreement

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		name                    string
		measured, predicted, se float64
		difference, z           float64
		want                    Verdict
	}{
		{"the tolerance itself", 100, 95, 0.1, 0.05, 50, Agrees},
		{"beyond it, by noise", 100, 94, 2.5, 0.06, 2.4, Within},
		{"beyond both", 100, 92, 2.5, 0.08, 3.2, Differs},
		{"too long a prediction", 100, 108, 2.5, -0.08, -3.2, Differs},
		{"a single run, near", 100, 104, math.NaN(), -0.04, math.NaN(), Agrees},
		{"a single run, far", 100, 110, math.NaN(), -0.1, math.NaN(), Differs},
		{"the same, exactly", 5, 5, 0, 0, 0, Agrees},
	} {
		got := Time(c.measured, c.predicted, c.se)
		if !near(*got.Difference, c.difference*c.measured) || got.SEs != nil && !near(got.Z, c.z) || got.Verdict != c.want {
			t.Errorf("%s: %+v; want %v, z = %v, %s", c.name, got, c.difference, c.z, c.want)
		}
	}
}

func TestMeans(t *testing.T) {
	s := Sample{Runs: 16, Mean: 0.5, Variance: 0.0016} // standard error 0.01
	for _, c := range []struct {
		runs  int
		truth Estimate
		z     float64
		want  Verdict
	}{
		{16, Estimate{0.4701, 0}, 2.99, Within},
		{16, Estimate{0.469, 0}, 3.1, Differs},
		{16, Estimate{0.531, 0}, -3.1, Differs},
		{16, Estimate{0.469, 0.01}, 3.1 / math.Sqrt2, Within},
		{9, Estimate{0.1, 0}, 30, TooFew},
		{1, Estimate{0.1, 0}, math.NaN(), TooFew},
	} {
		s.Runs = c.runs
		if got := Mean(s, c.truth); !near(got.Z, c.z) || got.Verdict != c.want {
			t.Errorf("%d runs against %v: %+v; want z = %v, %s", c.runs, c.truth, got, c.z, c.want)
		}
	}
}

func TestSharesOfAProcessor(t *testing.T) {
	for share, want := range map[float64]Verdict{0: Agrees, 0.0499: Agrees, 0.05: Differs, 0.2: Differs, math.NaN(): Differs} {
		if got := CPU(share); got.Verdict != want {
			t.Errorf("a share of %v: %s, want %s", share, got.Verdict, want)
		}
	}
}

// TestLogMomentsAreThoseOfChiSquare holds the sums against integrals over the
// density of χ².
func TestLogMomentsAreThoseOfChiSquare(t *testing.T) {
	for _, k := range []int{1, 2, 3, 10, 59, 118} {
		half := float64(k) / 2
		logGamma, _ := math.Lgamma(half)
		var mean, square, whole float64
		const step = 1e-3
		for y := -60.0; y < 12; y += step { // y = ln(x/k), of the density of x
			x := math.Exp(y) * float64(k)
			p := math.Exp(half*math.Log(x/2)-x/2-logGamma) * step
			whole, mean, square = whole+p, mean+p*y, square+p*y*y
		}
		gotMean, gotVariance := logMoments(k)
		if math.Abs(whole-1) > 1e-9 || math.Abs(gotMean-mean) > 1e-7 || math.Abs(gotVariance-(square-mean*mean)) > 1e-7 {
			t.Errorf("k = %d: mean %v and variance %v, by integration %v and %v (of %v)", k, gotMean, gotVariance, mean, square-mean*mean, whole)
		}
	}
}

func TestSamples(t *testing.T) {
	if got := NewSample([]float64{1, 2, 6}); got != (Sample{3, 3, 7}) {
		t.Errorf("1, 2, 6: %+v", got)
	}
	if got := NewSample([]float64{4}); got != (Sample{1, 4, 0}) {
		t.Errorf("a single one: %+v", got)
	}
}

func TestRatios(t *testing.T) {
	halves := func(predicted Estimate) (Estimate, Comparison) {
		return Ratio(Sample{61, 0, 0.5}, Sample{61, 0, 1}, predicted)
	}
	r, _ := halves(Estimate{0.5, 0})
	logSE := r.SE / r.Value
	if !near(r.Value, 0.5) || math.Abs(logSE-math.Sqrt(4.0/59)) > 1e-3 {
		t.Errorf("one half of 60 degrees of freedom each: %+v", r)
	}
	for _, c := range []struct {
		predicted Estimate
		want      Verdict
	}{
		{Estimate{0.5, 0}, Within},
		{Estimate{0.5 * math.Exp(2.99*logSE), 0}, Within},
		{Estimate{0.5 * math.Exp(3.01*logSE), 0}, Differs},
		{Estimate{0.5 / math.Exp(3.01*logSE), 0}, Differs},
		{Estimate{0.5 / math.Exp(3.01*logSE), 0.1}, Within},
	} {
		if _, got := halves(c.predicted); got.Verdict != c.want {
			t.Errorf("against %v: %+v, want %s", c.predicted, got, c.want)
		}
	}
	if _, got := Ratio(Sample{9, 0, 100}, Sample{60, 0, 1}, Estimate{1, 0}); got.Verdict != TooFew {
		t.Errorf("nine runs: %+v", got)
	}
	for _, none := range [][2]Sample{{{1, 0, 0}, {60, 0, 1}}, {{60, 0, 1}, {1, 0, 0}}, {{60, 0, 0}, {60, 0, 1}}, {{60, 0, 1}, {60, 0, 0}}} {
		if _, got := Ratio(none[0], none[1], Estimate{1, 0}); got.Obtained != nil || got.Verdict != TooFew {
			t.Errorf("%+v: %+v", none, got)
		}
	}
}

// TestFalseAlarms draws evaluations as they are made, means of rollouts with
// the pass probabilities of a profile, 60 runs of each of two kinds. z must have
// mean 0 and variance 1 within 4 standard errors of 2,000 draws, a false alarm of
// this test in 1 of 8,000; verdicts may differ in 0.3% of the draws, by 4 standard
// errors 0.79%.
func TestFalseAlarms(t *testing.T) {
	const draws, runs, tasks, rollouts, ratio = 2000, 60, 64, 8, 0.75
	random := rand.New(rand.NewPCG(1, 2))
	sigma := 0.0
	for i := range tasks {
		p := (float64(i) + 0.5) / tasks
		sigma += p * (1 - p)
	}
	sigma = math.Sqrt(sigma/rollouts) / tasks
	uniform := func() []float64 {
		out := make([]float64, runs)
		for r := range out {
			passes := 0
			for i := range tasks {
				for range rollouts {
					if random.Float64() < (float64(i)+0.5)/tasks {
						passes++
					}
				}
			}
			out[r] = float64(passes) / tasks / rollouts
		}
		return out
	}
	normal := func() Sample {
		out := make([]float64, runs)
		for r := range out {
			out[r] = 0.5 + math.Sqrt(ratio)*sigma*random.NormFloat64()
		}
		return NewSample(out)
	}
	var sums, squares [2]float64
	var alarms [2]int
	for range draws {
		u := NewSample(uniform())
		_, one := Ratio(normal(), u, Estimate{ratio, 0})
		for i, d := range []Comparison{one, Mean(u, Estimate{0.5, 0})} {
			sums[i] += d.Z
			squares[i] += d.Z * d.Z
			if d.Verdict == Differs {
				alarms[i]++
			}
		}
	}
	for i, what := range []string{"ratio", "mean"} {
		mean := sums[i] / draws
		variance := squares[i]/draws - mean*mean
		freedom := 1 + 2.0/runs // Student's z of a mean is a little wider
		if math.Abs(mean) > 4/math.Sqrt(draws) || math.Abs(variance/freedom-1) > 4*math.Sqrt(2.2/draws)+0.01 || float64(alarms[i])/draws > 0.0079 {
			t.Errorf("%s: z has mean %.3f and variance %.3f, %d false alarms in %d", what, mean, variance, alarms[i], draws)
		}
	}
}

func near(got, want float64) bool {
	return math.IsNaN(want) && math.IsNaN(got) || math.Abs(got-want) <= 1e-9*(1+math.Abs(want))
}
