package agreement

import (
	"fmt"
	"math"
	"slices"
)

// Deviations is how many standard deviations of a forecast are chance: were the
// deviation known, one forecast in twenty would miss by more. By the spread of 8
// suites, one in twelve does.
const Deviations = 2

// Forecast is the prediction of a number that is observed once: a normal
// distribution. The deviation is NaN where it is not known.
type Forecast struct{ Mean, SD float64 }

// NewForecast foretells a further execution of a suite by the mean of those that
// were made and the standard deviation of one of them, NaN where that is not known:
// SD combines the deviation of one execution with the Monte Carlo error of the mean.
func NewForecast(mean, sd float64, executions int) Forecast {
	return Forecast{mean, sd * math.Sqrt(1+1/float64(executions))}
}

// CRPS is the continuous ranked probability score of the forecast for the observed
// number, in its unit: a proper score, of which less is better. Of a forecast
// without deviation it is the absolute difference.
func (f Forecast) CRPS(observed float64) float64 {
	if f.SD == 0 {
		return math.Abs(observed - f.Mean)
	}
	z := (observed - f.Mean) / f.SD
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return f.SD * (float64(z*(2*normal(z)-1)) + 2*density - 1/math.Sqrt(math.Pi))
}

// normal is the distribution function of the standard normal law.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// Foretold compares a forecast, and the forecast of a naive fleet, with the
// published number. The difference is judged by the forecast's own deviation, and by
// no tolerance. Without a deviation it is shown alone.
func Foretold(f, naive Forecast, paper float64, decimals int) Comparison {
	c := Beside(f.Mean, paper, decimals)
	c.Naive = &naive.Mean
	if math.IsNaN(f.SD) || math.IsNaN(naive.SD) {
		c.Verdict, c.Note = Shown, "the suite was executed once: its deviation is not known"
		return c
	}
	c.Score, c.NaiveScore, c.SE = new(f.CRPS(paper)), new(naive.CRPS(paper)), &f.SD
	c.Verdict = Near
	if f.SD > 0 {
		c.SEs = new(math.Abs(*c.Difference) / f.SD)
	}
	if beyond := BeyondRounding(f.Mean, paper, decimals); beyond > 0 && math.Abs(*c.Difference) > Deviations*f.SD {
		c.Verdict = Differs
	}
	c.Note = points(*c.Difference) + " points; naive fleet " + points(naive.Mean-paper)
	return c
}

// Seen makes a forecast one of a number that its fit has seen: it is shown with its
// distance, and neither judged nor scored.
func (c Comparison) Seen() Comparison {
	c.Naive, c.Score, c.NaiveScore = nil, nil, nil
	return c.Shown(points(*c.Difference) + " points; the fit of the fleet has seen it")
}

// points is a difference of fractions in percentage points.
func points(v float64) string {
	return rounded(new(100*v), 2, "+").Exact()
}

// Score is how good the forecasts of some cells are: the mean of their CRPS, and
// that of the naive fleet's.
type Score struct {
	Cells int     `json:"cells"`
	CRPS  float64 `json:"crps"`
	Naive float64 `json:"naive_crps"`
}

// Score is that of the predicted cells among these; its Cells is 0 where there are
// none.
func (all Comparisons) Score() (s Score) {
	for _, c := range all {
		if c.Class == Predicted && c.Score != nil {
			s.Cells++
			s.CRPS += *c.Score
			s.Naive += *c.NaiveScore
		}
	}
	if s.Cells > 0 {
		s.CRPS /= float64(s.Cells)
		s.Naive /= float64(s.Cells)
	}
	return s
}

// Rare is a probability below which chance is no explanation of a count: that of a
// normal number more than Sigmas standard deviations above its mean.
const Rare = 0.00135

// Counted judges a count of events that have these probabilities, independently of
// one another. It differs if as many or more come by chance with a probability
// below Rare; fewer than expected agree.
func Counted(count int, probabilities []float64) Comparison {
	var expected, variance float64
	for _, p := range probabilities {
		expected += p
		variance += p * (1 - p)
	}
	c := Beside(float64(count), expected, 1)
	if sd := math.Sqrt(variance); sd > 0 {
		c.SE, c.SEs = &sd, new(*c.Difference/sd)
	}
	chance := atLeast(count, probabilities)
	switch {
	case float64(count) <= expected:
		c.Verdict = Agrees
	case chance >= Rare:
		c.Verdict = Within
	default:
		c.Verdict = Differs
	}
	c.Note = fmt.Sprintf("expected by the noise of both replays; so many or more by chance: %.2g", chance)
	return c
}

// atLeast is the probability that a number or more of independent events happen.
func atLeast(count int, probabilities []float64) float64 {
	law := make([]float64, len(probabilities)+1) // of the number of events among those so far
	law[0] = 1
	for i, p := range probabilities {
		for k := i + 1; k > 0; k-- {
			law[k] = float64(law[k]*(1-p)) + float64(law[k-1]*p)
		}
		law[0] *= 1 - p
	}
	tail := 0.0
	for _, p := range slices.Backward(law[min(count, len(law)):]) {
		tail += p
	}
	return tail
}

// Sample describes a number that was measured repeatedly.
type Sample struct {
	Runs     int
	Mean     float64
	Variance float64 // about their own mean, unbiased; 0 of a single run
}

// NewSample is the sample of some values, at least one.
func NewSample(values []float64) Sample {
	s := Sample{Runs: len(values)}
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= float64(s.Runs)
	if s.Runs < 2 {
		return s
	}
	for _, v := range values {
		s.Variance += float64((v - s.Mean) * (v - s.Mean)) // the conversion forbids a fused multiply-add
	}
	s.Variance /= float64(s.Runs - 1)
	return s
}

// Ratio is the variance of a sample over the variance of another, with its standard error by
// the delta method, and its comparison with a predicted ratio above zero. It is NaN, of too few
// runs, where one of the variances is zero or has no degree of freedom.
//
// Of estimates that are nearly normal, as means over many rollouts are, a variance
// on k degrees of freedom is σ²χ²_k/k, and its logarithm has the mean ln σ² +
// ψ(k/2) − ln(k/2) and the variance ψ'(k/2), about 2/k, whatever σ is. The logarithm of the
// ratio, less what these means add to it, is far nearer to normal than the ratio itself: the
// comparison is on its scale.
func Ratio(a, b Sample, predicted Estimate) (Estimate, Comparison) {
	if a.Runs < 2 || b.Runs < 2 || !(a.Variance > 0) || !(b.Variance > 0) {
		nan := math.NaN()
		return Estimate{nan, nan}, Against(nan, predicted.Value, nan, nan, 3).of(0)
	}
	mean, square := logMoments(a.Runs - 1)
	otherMean, otherSquare := logMoments(b.Runs - 1)
	r, se := a.Variance/b.Variance, math.Sqrt(square+otherSquare) // of the logarithm
	ratio := Estimate{r, r * se}
	z := (math.Log(r) - (mean - otherMean) - math.Log(predicted.Value)) / math.Hypot(se, predicted.SE/predicted.Value)
	return ratio, Against(r, predicted.Value, math.Hypot(ratio.SE, predicted.SE), z, 3).of(min(a.Runs, b.Runs))
}

// logMoments are the mean and the variance of ln(χ²_k/k): ψ(k/2) − ln(k/2) and
// ψ'(k/2), which are finite sums where k is whole.
func logMoments(k int) (mean, variance float64) {
	const euler = 0.57721566490153286060651209008240243
	x, digamma, trigamma := 1.0, -euler, math.Pi*math.Pi/6
	if k%2 == 1 {
		x, digamma, trigamma = 0.5, -euler-2*math.Ln2, math.Pi*math.Pi/2
	}
	for ; x < float64(k)/2; x++ {
		digamma += 1 / x
		trigamma -= 1 / float64(x*x)
	}
	return digamma - math.Log(float64(k)/2), trigamma
}
