package agreement

import "math"

// Sample is what is known of a number that was measured repeatedly.
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

// Pool is the common variance of samples that each have a mean of their own: the
// mean of their variances, weighted by degrees of freedom, with the number of
// these.
func Pool(samples ...Sample) (variance float64, freedom int) {
	for _, s := range samples {
		variance += float64(s.Variance * float64(s.Runs-1))
		freedom += s.Runs - 1
	}
	return variance / float64(freedom), freedom
}

// Ratio is a measured ratio of two variances.
type Ratio struct {
	Estimate         // SE is Value·LogSE, by the delta method
	Log, LogSE       float64
	runs, othersRuns int
}

// Over is the variance of some samples together over that of another. ok is false
// where one of the two is zero or has no degree of freedom, so that there is no
// ratio.
//
// Of estimates that are nearly normal, as means over many rollouts are, a variance
// on k degrees of freedom is σ²χ²_k/k, and its logarithm has the mean ln σ² +
// ψ(k/2) − ln(k/2) and the variance ψ'(k/2), about 2/k, whatever σ is. Log is the
// logarithm of the ratio less what these means add to it, and LogSE its standard
// error; it is far nearer to normal than the ratio itself.
func Over(a []Sample, b Sample) (r Ratio, ok bool) {
	variance, freedom := Pool(a...)
	if freedom < 1 || b.Runs < 2 || !(variance > 0) || !(b.Variance > 0) {
		return r, false
	}
	for _, s := range a {
		r.runs += s.Runs
	}
	r.othersRuns = b.Runs
	mean, square := logMoments(freedom)
	otherMean, otherSquare := logMoments(b.Runs - 1)
	r.Value = variance / b.Variance
	r.Log = math.Log(r.Value) - (mean - otherMean)
	r.LogSE = math.Sqrt(square + otherSquare)
	r.SE = r.Value * r.LogSE
	return r, true
}

// Against compares the ratio with a predicted one, above zero. Z is on the
// logarithmic scale.
func (r Ratio) Against(predicted Estimate) Difference {
	d := Difference{Estimate: Estimate{r.Value - predicted.Value, math.Hypot(r.SE, predicted.SE)}}
	d.Z = (r.Log - math.Log(predicted.Value)) / math.Hypot(r.LogSE, predicted.SE/predicted.Value)
	d.Verdict = byNoise(d.Z)
	if min(r.runs, r.othersRuns) < LeastRuns {
		d.Verdict = TooFew
	}
	return d
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
