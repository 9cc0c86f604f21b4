package estimate

import (
	"errors"
	"fmt"
	"math"

	"speceval/method/neyman"
)

// Pairs is the rollouts of one task by two models: in each stage as many of both, the kth of
// one with the kth of the other. Two rollouts of a pair may depend on each other in any way, as
// where one seed draws both; pairs do not. Sizes and weights of a stage were decided before it,
// from all earlier pairs.
type Pairs struct {
	First, Second Task // the rollouts of each model by themselves
	// Ahead and Behind have the rewards max(0, a−b) and max(0, b−a) of each pair.
	Ahead, Behind Task
}

// NewPairs is the pairs of a task by their rewards, from 0 to 1, stage by stage. weights are of the
// stages, share is the task's in the mean (0 where all are alike). It is an error if there are not as
// many stages as weights, or not as many rollouts of both models in one.
func NewPairs(first, second [][]float64, weights []float64, share float64) (Pairs, error) {
	p := Pairs{}
	if len(first) != len(weights) || len(second) != len(weights) {
		return p, fmt.Errorf("%d and %d stages with %d weights: want as many", len(first), len(second), len(weights))
	}
	for k, weight := range weights {
		if len(first[k]) != len(second[k]) {
			return p, fmt.Errorf("stage %d has %d and %d rollouts: want pairs", k, len(first[k]), len(second[k]))
		}
		stages := [4]Stage{}
		for j, a := range first[k] {
			b := second[k][j]
			for at, reward := range [4]float64{a, b, max(0, a-b), max(0, b-a)} {
				stages[at].Add(reward)
			}
		}
		for at, t := range []*Task{&p.First, &p.Second, &p.Ahead, &p.Behind} {
			stages[at].Rollouts, stages[at].Weight = len(first[k]), weight
			t.Stages, t.Share = append(t.Stages, stages[at]), share
		}
	}
	return p, nil
}

// Difference is the mean difference of two models by pairs of rollouts.
type Difference struct {
	Bounded
	// Correlation is of the two rewards of a pair, over the pairs of a task.
	Correlation float64
	// Factor is the variance of the difference over the one of as many rollouts that do not
	// depend on each other; 1 where no reward varies.
	Factor float64
	// Variances is the posterior expectation of Var(A−B) of a pair, by task: the scores by which
	// further pairs are best divided among tasks.
	Variances []float64
}

// DifferenceOf is the first model's mean less the second's, by the pairs of all tasks. The parts
// d⁺ = max(0, d) and d⁻ = max(0, −d) of a pair's difference d are never both above 0, so that
//
//	Var(d) = Var(d⁺) + Var(d⁻) + 2·E[d⁺]·E[d⁻],
//
// whatever couples the two rollouts. Each part is an evaluation by itself (Of), under the
// reference prior. The bounds join theirs at the correlation that follows. Rewards that always
// agree leave the doubt of a share that was never seen. It has the errors of Of.
func DifferenceOf(prior *neyman.Prior, pairs []Pairs) (Difference, error) {
	if len(pairs) == 0 {
		return Difference{}, errors.New("no tasks")
	}
	var parts [4][]Task // first, second, ahead, behind
	for _, p := range pairs {
		for at, t := range [4]Task{p.First, p.Second, p.Ahead, p.Behind} {
			parts[at] = append(parts[at], t)
		}
	}
	ahead, err := Of(prior, parts[2])
	if err != nil {
		return Difference{}, err
	}
	behind, err := Of(prior, parts[3])
	if err != nil {
		return Difference{}, err
	}
	shares, sum := Shares(parts[0])
	d, both := Difference{}, 0.0
	var seen [3]float64 // variances by the samples: of both models, and of the difference
	for i, p := range pairs {
		share := shares[i] / sum
		up, down := ahead.Tasks[i], behind.Tasks[i]
		d.Variances = append(d.Variances, up.Variance+down.Variance+2*up.Mean*down.Mean)
		both += 2 * share * share * p.First.Shrinkage() * up.Mean * down.Mean
		for at, t := range [3]Task{p.First, p.Second, p.halves()} {
			seen[at] += share * share * t.within().own
		}
	}
	seen[2] *= 4
	d.Factor = 1
	if alone := seen[0] + seen[1]; alone > 0 {
		d.Factor = seen[2] / alone
	}
	if s := math.Sqrt(seen[0] * seen[1]); s > 0 {
		d.Correlation = min(1, max(-1, (seen[0]+seen[1]-seen[2])/(2*s)))
	}
	up, down := ahead.Bounded(), behind.Bounded()
	correlation := max(-1, -both/(2*up.StandardError*down.StandardError))
	d.Bounded = newBounded(up.Value-down.Value, math.Sqrt(up.StandardError*up.StandardError+down.StandardError*down.StandardError+both), func(rate float64) (low, high float64) {
		return minus(up, down, correlation, rate)
	})
	return d, nil
}

// halves is the pairs with the rewards (1+d)/2, which have a quarter of the variance of d.
func (p Pairs) halves() (t Task) {
	for k, up := range p.Ahead.Stages {
		down, n := p.Behind.Stages[k], float64(up.Rollouts)
		t.Stages = append(t.Stages, Stage{
			Rollouts: up.Rollouts, Weight: up.Weight,
			Rewards: (n + up.Rewards - down.Rewards) / 2,
			Squares: (n + 2*(up.Rewards-down.Rewards) + up.Squares + down.Squares) / 4,
		})
	}
	return t
}
