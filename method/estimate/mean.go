// Package estimate turns the rollouts of an evaluation into a benchmark mean with
// its error, compares two evaluations, and plans evaluations by the error that they
// will have.
//
// The estimate is the paper's (Eq. 3): of every task the pass rate of its pilot with the
// stage weight w, and the one of its continuation with 1 − w, and the mean over tasks. It is
// unbiased for any profile: w is fixed before the evaluation, and continuations are fresh
// rollouts, however many the pilot has them be. There may be one stage (Uniform) or more
// than two, with weights of their own for every task, and tasks that weigh more than others:
// Σ share·Σ c·X is unbiased as long as number and weight of a stage's rollouts were decided
// before them (package staged). Rewards may be graded, numbers in [0, 1]; p is then their
// expectation.
//
// # Its error
//
// Given the pilot, and so the allocation L, a continuation's pass rate has the
// mean p and the variance v/L with v = p(1−p). Pilot and continuation are
// therefore uncorrelated (paper, Section 3), and the variance of the estimate is
//
//	(1/N²) Σ v·E[Σ c²/n]
//
// over the stages of a task, w²/m + (1−w)²/L for two. With the n that came out, two
// things are known of this sum. One is its posterior expectation under the reference
// prior, or under the one with donors that the allocation went by (package informed): it
// knows all that the allocation knew, and also that a task may fail whose every rollout
// has passed. But where the tasks are not as the prior has them, half of
// them at .05 and half at .95 for instance, it is wrong just where the allocation has
// spent little. The other is the sum of the stages' own sample variances, c²/n·s². Pooled
// ones would not do, for a task has few further rollouts because those before agreed; but
// a stage's size was decided before it, and its own s² is unbiased for every profile.
// Where failures are rare it is nearly always too small, though. The standard error is
// the root of the larger of the two.
//
// # Its interval
//
// The 95% interval is Wilson's, for a share that was found with the standard error
// above: it stays between 0 and 1 and is longer towards 1/2, as the law of the
// estimate is near 0 and 1. The quantile is Student's, for the variance is not known.
// What the posterior doubts of it, beyond what follows from the mean itself and is in
// Wilson's interval already, makes the degrees of freedom: ν = 2/cv².
//
// That the interval covers profiles as they are is a matter of experience: the
// repository has its coverage on all of the paper's, and on others made to hurt it. It is
// about the mean of these tasks, with the model's randomness as the only chance: other
// tasks of the same kind are not part of it.
//
// Graded rewards vary less than p(1−p), and may be more skewed than passes of their mean:
// nearly all .98, and a few 0. Their variance has the posterior's expectation times their
// dispersion and what the task's own rewards say, and both ends of the interval have a skewness
// of their own, by the cubes of the rewards (type graded). Rewards of 0 and 1 alone are
// passes, and have Wilson's interval.
//
// # What Uniform would have needed
//
// A Uniform with X = Σ v/Σ v·Σc²/n rollouts per task has this variance. Both sums are
// taken from the samples, where both are unbiased, with a quarter of the posterior's
// added. The posterior alone would claim gains where there are losses: of tasks unlike
// the prior it misses the variance, and not the sum of the v. The interval has both the
// posterior's doubt of the ratio and the distance to the posterior's own in it.
//
// # Two questions
//
// How good is the model on these tasks? Mean answers this: the tasks are fixed. How good is
// it on the tasks that these are a sample of? Sample answers this: its error has the spread
// of the tasks, or of clusters of them, in it, and does not vanish with the rollouts.
//
// The second error needs no model of the first. With p̂_i = p_i + e_i, where e_i is the
// noise of the task's own rollouts with mean 0 whatever its variance, the spread of p̂ over
// tasks is the spread of p plus the spread of e. By this the mean of p̂ varies.
//
// Two models on the same tasks differ by the mean of p̂A_i − p̂B_i. For the first
// question nothing cancels: given the tasks, rollouts of two models are independent, unless
// they come in Pairs. For the second what makes a task hard for both cancels, Sample.Minus.
//
// A Gate turns a difference, of either kind, into a decision with error rates.
package estimate

import (
	"errors"
	"fmt"
	"math"

	"speceval/method/informed"
	"speceval/method/neyman"
)

// Mean is an estimate of a benchmark mean.
type Mean struct {
	Value         float64
	StandardError float64
	Low, High     float64 // ends of the 95% interval

	// Uniform is the number of rollouts per task at which Uniform would have been as
	// precise.
	Uniform Equivalent
	Tasks   []Moments
}

// Moments are the estimates of one task by its rollouts.
type Moments struct {
	Value    float64 // unbiased estimate of the task's mean p, Σ c·X over its stages
	Mean     float64 // posterior expectation of p under the reference prior
	Variance float64 // and of the variance of a rollout, p(1−p) if it passes or fails
}

// quantile is the standard normal's quantile at 97.5%, for intervals of 95%.
const quantile = 1.959963984540054

// Of is the estimate by the selected rollouts of all tasks: the mean over tasks, by
// their shares, of Σ c·X over the stages of each. Uniform is one stage with the weight
// 1. The error goes by the reference prior, or by priors, known, that knew more of the tasks
// when they were allocated: one, or one for each benchmark of a suite. It is an error if there
// are no tasks, if a task has no rollouts in a stage that counts or weights that do not add up
// to one, or if sums are of no rewards in [0, 1].
func Of(prior *neyman.Prior, tasks []Task, known ...*informed.Prior) (Mean, error) {
	observed, rewards := make([]int, len(tasks)), make([]float64, len(tasks))
	for i, t := range tasks {
		if err := t.check(); err != nil {
			return Mean{}, fmt.Errorf("task %d: %w", i, err)
		}
		all := Sum(t.Stages)
		observed[i], rewards[i] = all.Rollouts, min(all.Rewards, float64(all.Rollouts))
	}
	update, err := prior.Update(observed, rewards)
	if err != nil {
		return Mean{}, err
	}
	after := []neyman.Mixture{update.Mixture()}
	if len(known) > 0 {
		passes := make([]int, len(rewards)) // priors that know donors have counts only: graded rewards are rounded
		for i, r := range rewards {
			passes[i] = int(math.Round(r))
		}
		posteriors := informed.Suite(known).Posteriors()
		if err := posteriors.Observe(observed, passes); err != nil {
			return Mean{}, err
		}
		after = nil
		for _, p := range posteriors {
			after = append(after, p.Mixture())
		}
	}
	shares, n := Shares(tasks)
	variances, value := newVariances(after, tasks, shares, n), 0.0
	m := Mean{StandardError: math.Sqrt(variances.own()), Uniform: variances.equivalent()}
	for i, t := range tasks {
		of := Moments{Value: t.Value()}
		of.Mean, of.Variance = update.Moments(i)
		if g := variances.graded; g != nil {
			of.Variance = g.variances[i]
		}
		value += shares[i] * of.Value
		m.Tasks = append(m.Tasks, of)
	}
	m.Value = value / n
	m.Low, m.High = variances.interval(m.Value)
	return m, nil
}

// Task is the selected rollouts of one task.
type Task struct {
	Stages []Stage

	// Share is the task's weight in the mean over tasks, relative to the sum of all
	// shares. Where all are 0, tasks count alike.
	Share float64
}

// Stage is the selected rollouts that one task had in one stage. Their number and
// their weight were decided before any of them.
type Stage struct {
	Rollouts int     `json:"rollouts"`
	Rewards  float64 `json:"rewards"` // their sum; every reward is in [0, 1]
	Squares  float64 `json:"squares"` // the sum of their squares; Rewards where all are 0 or 1

	// Third is the sum of r²(1−r), Squares less the sum of their cubes: 0 where all are 0 or
	// 1. A 0 where some are not means that it was not counted, and costs precision.
	Third  float64 `json:"third,omitempty"`
	Weight float64 `json:"weight"` // c, of the stage's mean; a task's weights add up to one
}

// Add counts the reward of a rollout of the stage, whose Rollouts it does not change.
func (s *Stage) Add(reward float64) {
	s.Rewards += reward
	s.Squares += reward * reward
	s.Third += reward * reward * (1 - reward)
}

// Binary is a stage of rollouts that passed or failed.
func Binary(rollouts, passes int, weight float64) Stage {
	return Stage{Rollouts: rollouts, Rewards: float64(passes), Squares: float64(passes), Weight: weight}
}

// slack is how far sums of some thousand numbers may be off by rounding, relative to
// their number.
const slack = 1e-9

// check says what is wrong with the numbers, if anything.
func (t Task) check() error {
	if !(t.Share >= 0 && t.Share <= math.MaxFloat64) {
		return fmt.Errorf("a share of %v: want a number from 0", t.Share)
	}
	total := 0.0
	for k, s := range t.Stages {
		if err := s.check(); err != nil {
			return fmt.Errorf("stage %d: %w", k, err)
		}
		total += s.Weight
	}
	if math.Abs(total-1) > slack {
		return fmt.Errorf("the weights of its stages add up to %v, want 1", total)
	}
	return nil
}

func (s Stage) check() error {
	n := float64(s.Rollouts)
	switch {
	case s.Rollouts < 0:
		return fmt.Errorf("%d rollouts", s.Rollouts)
	case !(s.Weight >= 0 && s.Weight <= 1+slack):
		return fmt.Errorf("a weight of %v: want 0 to 1", s.Weight)
	case s.Weight > 0 && s.Rollouts == 0:
		return errors.New("no rollout in a stage that counts")
	case !(s.Rewards >= 0 && s.Rewards <= n*(1+slack)):
		return fmt.Errorf("%d rollouts cannot have rewards that add up to %v", s.Rollouts, s.Rewards)
	case !(s.Squares <= s.Rewards+n*slack && s.Squares*n >= s.Rewards*s.Rewards-n*n*slack):
		return fmt.Errorf("%d rewards in [0, 1] that add up to %v cannot have squares that add up to %v", s.Rollouts, s.Rewards, s.Squares)
	case !(s.Third >= 0 && s.Third <= s.Rewards-s.Squares+n*slack):
		return fmt.Errorf("%d rewards in [0, 1] that add up to %v, with squares to %v, cannot have r²(1−r) add up to %v", s.Rollouts, s.Rewards, s.Squares, s.Third)
	}
	return nil
}

// Value is the task's stages with their weights, Σ c·X (paper, Eq. 3, for two).
func (t Task) Value() float64 {
	sum := 0.0
	for _, s := range t.Stages {
		if s.Weight > 0 {
			sum += s.Weight * s.Rewards / float64(s.Rollouts)
		}
	}
	return sum
}

// Shrinkage is the variance of Value, of a rollout that has the variance 1: Σ c²/n.
func (t Task) Shrinkage() float64 {
	sum := 0.0
	for _, s := range t.Stages {
		if s.Weight > 0 {
			sum += s.Weight * s.Weight / float64(s.Rollouts)
		}
	}
	return sum
}

// Sum is the rollouts of all stages of a task, without a weight.
func Sum(stages []Stage) (all Stage) {
	for _, s := range stages {
		all.Rollouts, all.Rewards, all.Squares, all.Third = all.Rollouts+s.Rollouts, all.Rewards+s.Rewards, all.Squares+s.Squares, all.Third+s.Third
	}
	return all
}

// Shares are the weights of the tasks in the mean, and their sum.
func Shares(tasks []Task) (all []float64, sum float64) {
	for _, t := range tasks {
		all = append(all, t.Share)
		sum += t.Share
	}
	if sum == 0 {
		for i := range all {
			all[i] = 1
		}
		sum = float64(len(all))
	}
	return all, sum
}

// variances are the estimated variances of an evaluation: by the posterior under the
// reference prior, which has a law for them, and by the samples.
type variances struct {
	within within
	graded *graded // nil if rollouts pass or fail

	center float64 // posterior expectation of the mean over tasks

	// Posterior expectations of the variance of the estimate and of a Uniform with one
	// rollout per task, their relative variances, and the relative covariance of the two.
	expected, single    float64
	doubt, singleDoubt  float64
	together, explained float64 // explained is the part of doubt that the mean over tasks explains
}

// newVariances takes tasks with their shares, whose sum is given, and the posteriors of the
// benchmarks that they are of, which are independent.
func newVariances(posteriors []neyman.Mixture, tasks []Task, shares []float64, sum float64) variances {
	n := len(tasks)
	mean, own, single := neyman.Sum{P: make([]float64, n)}, neyman.Sum{V: make([]float64, n)}, neyman.Sum{V: make([]float64, n)}
	var v variances
	for i, t := range tasks {
		share := shares[i] / sum
		mean.P[i], own.V[i], single.V[i] = share, share*share*t.Shrinkage(), share*share
		v.within.addTask(t.within(), share)
	}
	var c [3][3]float64 // covariances of the three
	first := 0
	for _, p := range posteriors {
		end := first + p.Tasks
		expectations, covariances := p.Joint(neyman.Sum{P: mean.P[first:end]}, neyman.Sum{V: own.V[first:end]}, neyman.Sum{V: single.V[first:end]})
		first = end
		v.center, v.expected, v.single = v.center+expectations[0], v.expected+expectations[1], v.single+expectations[2]
		for j := range c {
			for l := range c[j] {
				c[j][l] += covariances[j][l]
			}
		}
	}
	v.doubt = c[1][1] / (v.expected * v.expected)
	v.singleDoubt = c[2][2] / (v.single * v.single)
	v.together = c[1][2] / (v.expected * v.single)
	v.explained = c[0][1] * c[0][1] / (c[0][0] * v.expected * v.expected)
	if isGraded(tasks) {
		v.grade(posteriors, tasks, shares, sum)
	}
	return v
}

// own is the variance of the estimate: the larger of the two. The posterior's is too
// small where the tasks are not as the prior has them, but for a chance that averages
// out; the samples' is unbiased, and too small where failures are so rare that few or
// none were seen.
func (v variances) own() float64 {
	return max(v.expected, v.within.own)
}

// interval is the 95% interval about the estimate: Wilson's if rollouts pass or fail.
func (v variances) interval(value float64) (low, high float64) {
	if v.graded != nil {
		return v.graded.interval(value, v.own())
	}
	return score(value, v.draws(), v.quantile())
}

// draws is as many draws of a share as have the variance of the estimate, where the
// share is as the posterior has it, which is never 0 or 1.
func (v variances) draws() float64 { return v.center * (1 - v.center) / v.own() }

// quantile is Student's. Its degrees of freedom ν are the ones of a variance with the
// posterior's doubt about it (Satterthwaite), less the part of the doubt that the mean
// explains, which Wilson's interval has.
func (v variances) quantile() float64 { return student(2 / max(0, v.doubt-v.explained)) }

// student is Student's quantile at 97.5%, to the first order in 1/ν (Fisher's expansion).
func student(freedom float64) float64 {
	return quantile * (1 + (quantile*quantile+1)/(4*freedom))
}

// Equivalent is a number of rollouts per task, no whole one, by which Uniform has the
// standard error of an evaluation.
type Equivalent struct {
	Value     float64
	Low, High float64 // ends of the 95% interval
}

// Verdict compares Uniform with an evaluation that took budget rollouts per task: +1 if
// Uniform would have needed more, −1 if it would have needed fewer, and 0 if neither can be
// claimed.
func (e Equivalent) Verdict(budget float64) int {
	switch {
	case e.Low > budget*(1+slack):
		return 1
	case e.High < budget*(1-slack):
		return -1
	}
	return 0
}

// lean is the weight of the posterior's variances against the samples' in a ratio of such:
// where few failures were seen, the ratio of two sample sums says little.
const lean = 0.25

// equivalent is the variance of a Uniform with one rollout per task over the variance of the
// estimate: of the samples, which are unbiased, with a share lean of the posterior's. Its
// error, on a log scale, is made of the posterior's doubt about the ratio and of how far the
// posterior's own ratio is from it.
func (v variances) equivalent() Equivalent {
	posterior := v.single / v.expected
	ratio := (v.within.single + lean*v.single) / (v.within.own + lean*v.expected)
	doubt := max(0, v.doubt+v.singleDoubt-2*v.together)
	factor := math.Exp(quantile * math.Hypot(math.Sqrt(doubt), math.Log(ratio/posterior)))
	return Equivalent{Value: ratio, Low: ratio / factor, High: ratio * factor}
}
