package estimate

import (
	"math"

	"speceval/method/neyman"
)

// variances is what is known of the variances of an evaluation: by the posterior under
// the reference prior, which has a law for them, and by the samples.
type variances struct {
	within     within
	dispersion float64 // of graded rewards; 1 if rollouts pass or fail

	center float64 // posterior expectation of the mean over tasks

	// Posterior expectations of the variance of the estimate and of a Uniform with one
	// rollout per task, for rewards of 0 or 1, their relative variances, and the
	// relative covariance of the two.
	expected, single    float64
	doubt, singleDoubt  float64
	together, explained float64 // explained is the part of doubt that the mean over tasks explains
}

// newVariances takes tasks with their shares, whose sum is given.
func newVariances(posterior neyman.Mixture, tasks []Task, shares []float64, sum float64) variances {
	n := len(tasks)
	mean, own, single := neyman.Sum{P: make([]float64, n)}, neyman.Sum{V: make([]float64, n)}, neyman.Sum{V: make([]float64, n)}
	var v variances
	rollouts := 0
	for i, t := range tasks {
		share := shares[i] / sum
		mean.P[i], own.V[i], single.V[i] = share, share*share*t.shrinkage(), share*share
		v.within.add(t.within(), share)
		observed, _ := t.pooled()
		rollouts += observed
	}
	expectations, covariances := posterior.Joint(mean, own, single)
	v.center, v.expected, v.single = expectations[0], expectations[1], expectations[2]
	v.doubt = covariances[1][1] / (v.expected * v.expected)
	v.singleDoubt = covariances[2][2] / (v.single * v.single)
	v.together = covariances[1][2] / (v.expected * v.single)
	v.explained = covariances[0][1] * covariances[0][1] / (covariances[0][0] * v.expected * v.expected)
	v.dispersion = v.within.dispersion(v.expected, rollouts)
	return v
}

// own is the variance of the estimate: the larger of the two. The posterior's is too
// small where the tasks are not as the prior has them, but for a chance that averages
// out; the samples' is unbiased, and too small where failures are so rare that few or
// none were seen.
func (v variances) own() float64 {
	return max(v.dispersion*v.expected, v.within.own)
}

// draws is as many draws of a share as have the variance of the estimate, where the
// share is as the posterior has it, which is never 0 or 1.
func (v variances) draws() float64 { return v.center * (1 - v.center) / v.own() }

// quantile is Student's at 97.5%, to the first order in 1/ν (Fisher's expansion): the
// degrees of freedom ν are those of a variance with the posterior's doubt about it
// (Satterthwaite), less what is known once the mean is, which Wilson's interval has.
func (v variances) quantile() float64 {
	freedom := 2 / max(0, v.doubt-v.explained)
	return quantile * (1 + (quantile*quantile+1)/(4*freedom))
}

// Equivalent is a number of rollouts per task, no whole one, by which Uniform has the
// standard error of an evaluation.
type Equivalent struct {
	Value     float64
	Low, High float64 // ends of the 95% interval
}

// Verdict is what can be said of an evaluation that took so many rollouts per task: +1
// if Uniform would have needed more, −1 if it would have needed fewer, and 0 if neither
// can be claimed.
func (e Equivalent) Verdict(budget float64) int {
	switch {
	case e.Low > budget*(1+slack):
		return 1
	case e.High < budget*(1-slack):
		return -1
	}
	return 0
}

// lean is the weight of the posterior's variances beside the samples' in a ratio of
// such: where few failures were seen, that of two sums of them says little.
const lean = 0.25

// equivalent is the ratio of the variance of a Uniform with one rollout per task to that
// of the estimate: of the samples', which are unbiased, with some of the posterior's. Its
// error, on a log scale, is made of the posterior's doubt about the ratio and of how far
// the posterior's own ratio is from it.
func (v variances) equivalent() Equivalent {
	posterior := v.single / v.expected
	ratio := (v.within.single + lean*v.dispersion*v.single) / (v.within.own + lean*v.dispersion*v.expected)
	doubt := max(0, v.doubt+v.singleDoubt-2*v.together)
	factor := math.Exp(quantile * math.Hypot(math.Sqrt(doubt), math.Log(ratio/posterior)))
	return Equivalent{Value: ratio, Low: ratio / factor, High: ratio * factor}
}
