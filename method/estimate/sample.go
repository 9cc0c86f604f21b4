package estimate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"speceval/method/neyman"
)

// Sample is the tasks of an evaluation as a sample of the tasks that they stand for.
// Where Mean.StandardError is about these tasks, with the model's randomness as the
// only chance, the errors of a Sample are about all that it could have been drawn from.
type Sample struct {
	// Values are unbiased estimates of the tasks' means, such as Moments.Value. Their
	// precision may differ from task to task: what an estimate misses its task's mean by
	// is part of the spread that the error is made of.
	Values []float64

	// Shares are the tasks' weights in the mean, relative to their sum; nil: alike.
	Shares []float64

	// Clusters name the cluster of each task: tasks with something in common (a passage,
	// a repository, a template) that were drawn together. Clusters are independent, and
	// tasks within one need not be. nil: every task is alone.
	Clusters []string

	// Own is the variance of the mean by the rollouts of these tasks alone; 0: not known. The
	// variance over tasks is never below it, but the spread of few values may be, by chance.
	Own float64
}

// Sample is the evaluation's tasks as a sample. Shares and clusters are the tasks', or
// nil.
func (m Mean) Sample(shares []float64, clusters []string) Sample {
	s := Sample{Shares: shares, Clusters: clusters, Own: m.StandardError * m.StandardError}
	for _, t := range m.Tasks {
		s.Values = append(s.Values, t.Value)
	}
	return s
}

// OverTasks is a mean with the error that it has for what its tasks are a sample of.
type OverTasks struct {
	Bounded
	Clusters int // independent draws
}

// cluster is the tasks of one cluster.
type cluster struct {
	share float64 // of all tasks
	sum   float64 // of share times value
	other float64 // the same of the other model
}

// sampled is clusters with what follows from their sizes alone.
type sampled struct {
	clusters []cluster
	own      float64 // Σ h² over clusters, h being a cluster's share
	tasks    float64 // Σ share² over tasks
}

// doubt is how much of a task's failure, and of its pass, the bounds allow for beyond
// what was seen. It matters where the values differ by less than that.
const doubt = 0.5

// Mean is the mean over the tasks. With a cluster's share h in the mean θ and its
// residual u = Σ share·(value − θ), its variance is Σ u²/(1−h) over clusters (Bell and
// McCaffrey, Survey Methodology 28, 2002), G/(G−1)·Σ u² for G of one size.
//
// The bounds are Wilson's for as many draws as have this variance, with a quantile of
// Student's t at 1/Σh² − 1 degrees of freedom, the number of clusters less one where they
// are of one size. Where values hardly differ the variance says little. The variance of half
// a task that passes and fails as a coin does is therefore added, so that equal values, all
// passes for instance, are about as certain as their number of clusters can make them and no
// more.
//
// It is an error if there are fewer than two clusters, if a value is not in [0, 1], or if
// shares and clusters do not fit the tasks.
func (s Sample) Mean() (OverTasks, error) {
	d, err := s.sampled(nil)
	if err != nil {
		return OverTasks{}, err
	}
	b, _ := d.bounded(s.Own, func(c cluster) float64 { return c.sum })
	return OverTasks{Bounded: b, Clusters: len(d.clusters)}, nil
}

// Paired is the difference of two models on the same tasks, with the error that it has
// for what the tasks are a sample of.
type Paired struct {
	Bounded
	Correlation float64 // of the two means over samples of tasks
	Unpaired    float64 // the standard error that the difference would have on two samples
	Clusters    int
}

// Minus is the mean difference s.Values − other.Values over the same tasks, with the shares and
// clusters of s; least is its variance by the rollouts of these tasks alone. Its standard error is
// the error of the differences, task by task: what makes a task hard for both models
// cancels. Its bounds join the bounds of the two means at their correlation (Zou and Donner,
// Statistics in Medicine 27, 2008). It has the errors of Mean.
func (s Sample) Minus(other Sample, least float64) (Paired, error) {
	if len(other.Values) != len(s.Values) {
		return Paired{}, fmt.Errorf("values of %d tasks against values of %d: want the same tasks", len(s.Values), len(other.Values))
	}
	d, err := s.sampled(other.Values)
	if err != nil {
		return Paired{}, err
	}
	own, ownVariance := d.bounded(s.Own, func(c cluster) float64 { return c.sum })
	second, otherVariance := d.bounded(other.Own, func(c cluster) float64 { return c.other })
	variance := max(least, d.variance(own.Value-second.Value, func(c cluster) float64 { return c.sum - c.other }))
	p := Paired{Unpaired: math.Sqrt(ownVariance + otherVariance), Clusters: len(d.clusters)}
	if both := math.Sqrt(ownVariance * otherVariance); both > 0 {
		p.Correlation = min(1, max(-1, (ownVariance+otherVariance-variance)/(2*both)))
	}
	p.Bounded = newBounded(own.Value-second.Value, math.Sqrt(variance), func(rate float64) (low, high float64) {
		return minus(own, second, p.Correlation, rate)
	})
	return p, nil
}

// sampled checks the sample and puts the tasks into their clusters, in the order in
// which these come.
func (s Sample) sampled(others []float64) (sampled, error) {
	n := len(s.Values)
	if s.Shares != nil && len(s.Shares) != n || s.Clusters != nil && len(s.Clusters) != n {
		return sampled{}, fmt.Errorf("%d values, %d shares and %d clusters of tasks: want as many", n, len(s.Shares), len(s.Clusters))
	}
	all := 0.0
	for i := range n {
		share := s.share(i)
		if !(share >= 0 && share <= math.MaxFloat64) {
			return sampled{}, fmt.Errorf("task %d has a share of %v: want a number from 0", i, share)
		}
		all += share
	}
	var d sampled
	number := map[string]int{}
	for i, v := range s.Values {
		other := 0.0
		if others != nil {
			other = others[i]
		}
		if !inUnit(v) || !inUnit(other) {
			return sampled{}, fmt.Errorf("task %d has an estimate that is not between 0 and 1: %v, %v", i, v, other)
		}
		share := s.share(i) / all
		if share == 0 {
			continue
		}
		at := len(d.clusters)
		if s.Clusters != nil {
			name := s.Clusters[i]
			if name == "" {
				return sampled{}, fmt.Errorf("task %d has no cluster, and others have: name one for every task, its own id where it is alone", i)
			}
			if known, is := number[name]; is {
				at = known
			}
			number[name] = at
		}
		if at == len(d.clusters) {
			d.clusters = append(d.clusters, cluster{})
		}
		c := &d.clusters[at]
		c.share += share
		c.sum += share * v
		c.other += share * other
		d.tasks += share * share
	}
	if len(d.clusters) < 2 {
		return sampled{}, fmt.Errorf("%d independent tasks or clusters of tasks: a sample needs at least two", len(d.clusters))
	}
	for _, c := range d.clusters {
		d.own += c.share * c.share
	}
	return d, nil
}

// share is the share of a task, relative to the others'.
func (s Sample) share(task int) float64 {
	if s.Shares == nil {
		return 1
	}
	return s.Shares[task]
}

// inUnit reports whether x is in [0, 1], but for rounding.
func inUnit(x float64) bool { return x >= -slack && x <= 1+slack }

// freedom is the degrees of freedom that clusters of these sizes leave, at least 1.
func (d sampled) freedom() float64 { return max(1, 1/d.own-1) }

// variance is the variance of a mean, by the clusters' parts in it.
func (d sampled) variance(mean float64, part func(cluster) float64) float64 {
	sum := 0.0
	for _, c := range d.clusters {
		u := part(c) - c.share*mean
		sum += u * u / (1 - c.share)
	}
	return sum
}

// bounded is the mean of the clusters' parts in [0, 1], and its variance, at least the given one.
func (d sampled) bounded(least float64, part func(cluster) float64) (Bounded, float64) {
	mean := 0.0
	for _, c := range d.clusters {
		mean += part(c)
	}
	mean = min(1, max(0, mean))
	variance := max(least, d.variance(mean, part))
	// Relative to a mean of tasks that pass or fail, one and the same in a cluster. Its
	// variance is θ(1−θ)·Σh².
	spread := (variance/d.own + doubt*d.tasks) / (mean*(1-mean) + doubt*d.tasks)
	t := distuv.StudentsT{Sigma: 1, Nu: d.freedom()}
	return newBounded(mean, math.Sqrt(variance), func(rate float64) (low, high float64) {
		return score(mean, 1/(spread*d.own), -t.Quantile(rate))
	}), variance
}

// Part is one of several evaluations of the same tasks by the same model, in the same
// order and with the same shares, each with rollouts of its own.
type Part struct {
	Tasks []Task

	// Precision is the weight of the part, relative to the others: the inverse of the
	// variance that was expected of it before the first rollout of any, b over the risk of
	// its design. It must not follow from rewards, neither its own nor those of another
	// part.
	Precision float64
}

// Pool is the estimate by several evaluations, and their weights in it: the mean of
// theirs by Precision. It is unbiased as each of them is. The error is by the rollouts of
// all, as if each part were further stages of every task, and by the reference prior, since
// what one part knew may be another. It is an error if a precision
// is no number above 0, if the parts are not of as many tasks with the same shares, or
// one of Of.
func Pool(prior *neyman.Prior, parts ...Part) (m Mean, weights []float64, err error) {
	if len(parts) == 0 {
		return Mean{}, nil, fmt.Errorf("no evaluation to pool")
	}
	total := 0.0
	for k, p := range parts {
		if !(p.Precision > 0 && p.Precision <= math.MaxFloat64) {
			return Mean{}, nil, fmt.Errorf("evaluation %d has a precision of %v: want a number above 0", k, p.Precision)
		}
		if len(p.Tasks) != len(parts[0].Tasks) {
			return Mean{}, nil, fmt.Errorf("evaluation %d is of %d tasks, the first of %d", k, len(p.Tasks), len(parts[0].Tasks))
		}
		total += p.Precision
	}
	joined := make([]Task, len(parts[0].Tasks))
	for k, p := range parts {
		weight := p.Precision / total
		weights = append(weights, weight)
		for i, t := range p.Tasks {
			if first := parts[0].Tasks[i].Share; t.Share != first {
				return Mean{}, nil, fmt.Errorf("task %d has a share of %v in evaluation %d, %v in the first", i, t.Share, k, first)
			}
			joined[i].Share = t.Share
			for _, s := range t.Stages {
				s.Weight *= weight
				joined[i].Stages = append(joined[i].Stages, s)
			}
		}
	}
	m, err = Of(prior, joined)
	return m, weights, err
}

// within is the variances by the rewards alone: of one task, or with the squares of the
// shares of several.
type within struct {
	own    float64 // of the estimate: Σ c²/n·s²
	single float64 // of a rollout: Σ c·s²
}

// within is the within of the task. Number and weight of a stage's rollouts were decided
// before them, so that the stage's own sample variance s² is unbiased for v given all that
// decided, and c²/n·s² for the stage's part in the variance of the estimate.
func (t Task) within() (sum within) {
	before := Stage{}
	for k, s := range t.Stages {
		if s.Rollouts == 0 {
			continue
		}
		if s.Weight > 0 {
			n := float64(s.Rollouts)
			v, part := s.variance(before, t.Stages[k+1:]), s.Weight*s.Weight/n
			sum.own += part * v
			sum.single += s.Weight * v
		}
		before.Rollouts += s.Rollouts
		before.Rewards += s.Rewards
	}
	return sum
}

// variance is an estimate of a reward's variance by the stage. A single rollout is held
// against the next stage, whose rewards are fresh whatever their number: half the mean
// squared difference is unbiased, too. In the last stage it is held against the mean before,
// and (p̂−p)² too large on average.
func (s Stage) variance(before Stage, later []Stage) float64 {
	n := float64(s.Rollouts)
	if s.Rollouts > 1 {
		return max(0, (s.Squares-s.Rewards*s.Rewards/n)/(n-1))
	}
	for _, next := range later {
		if m := float64(next.Rollouts); m > 0 {
			return max(0, (s.Squares-2*s.Rewards*next.Rewards/m+next.Squares/m)/2)
		}
	}
	if before.Rollouts == 0 {
		return 0 // nothing is known of it
	}
	return math.Pow(s.Rewards-before.Rewards/float64(before.Rollouts), 2)
}

// addTask adds what is known of a task with a share.
func (s *within) addTask(t within, share float64) {
	s.own += share * share * t.own
	s.single += share * share * t.single
}
