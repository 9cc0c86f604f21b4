package evaluated_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"speceval/drills/evaluated"
)

// TestTallyOfKnownErrors tallies 4,000 normal estimates whose standard error and
// bias are known; the numbers must be right within 5 of their standard errors.
func TestTallyOfKnownErrors(t *testing.T) {
	const n, se, bias = 4000, 0.1, 0.02
	random := rand.New(rand.NewPCG(1, 2))
	var good, biased evaluated.Tally
	for range n {
		x := se * random.NormFloat64()
		good.Add(evaluated.Outcome{Estimate: 0.5 + x, StandardError: se, Low: 0.5 + x - 1.96*se, High: 0.5 + x + 1.96*se}, 0.5)
		biased.Add(evaluated.Outcome{Estimate: 0.5 + x + bias, StandardError: se / 2, Low: 0.5, High: 0.7}, 0.5)
	}
	if sd := math.Sqrt(good.CoverageVariance()); math.Abs(good.Coverage()-0.95) > 5*sd || math.Abs(sd-evaluated.ShareError(0.95, n)) > 0.1*sd {
		t.Errorf("coverage %v ± %v", good.Coverage(), sd)
	}
	if math.Abs(good.BiasScore()) > 5 || math.Abs(biased.BiasScore()-bias/(se/math.Sqrt(n))) > 5 || math.Abs(biased.Bias()-bias) > 5*se/math.Sqrt(n) {
		t.Errorf("bias %v and %v (%v)", good.BiasScore(), biased.BiasScore(), biased.Bias())
	}
	square, error := good.MeanSquare()
	if want := se * se * math.Sqrt(2.0/n); math.Abs(square-se*se) > 5*want || math.Abs(error-want) > 0.2*want {
		t.Errorf("mean square %v ± %v, want %v ± %v", square, error, se*se, want)
	}
	if score := evaluated.VarianceScore(square, se*se, 0, n); math.Abs(score-(square-se*se)/(se*se*math.Sqrt(2.0/n))) > 1e-9 {
		t.Errorf("score %v", score)
	}
	if c := biased.Calibration(); math.Abs(good.Calibration()-1) > 0.06 || math.Abs(c-0.5/math.Sqrt(1+bias*bias/se/se)) > 0.03 {
		t.Errorf("calibrations %v and %v", good.Calibration(), c)
	}
	if math.Abs(good.Length()-3.92*se) > 1e-9 {
		t.Errorf("length %v", good.Length())
	}
}

func TestIntervalsMissOnEitherSide(t *testing.T) {
	var tally evaluated.Tally
	for _, o := range []evaluated.Outcome{{Low: 0.1, High: 0.2}, {Low: 0.4, High: 0.5}, {Low: 0.6, High: 0.7}, {Low: 0.7, High: 0.8}} {
		tally.Add(o, 0.5)
	}
	if tally.MissedLow() != 0.25 || tally.MissedHigh() != 0.5 || tally.Coverage() != 0.25 {
		t.Errorf("%+v", tally)
	}
}

func TestQuotients(t *testing.T) {
	if q, se := evaluated.Quotient(3, 0.3, 2, 0.1); q != 1.5 || math.Abs(se-1.5*math.Sqrt(0.01+0.0025)) > 1e-12 {
		t.Errorf("%v ± %v", q, se)
	}
}
