package estimate

import (
	"fmt"
	"math"

	"speceval/method/neyman"
)

// Part is one of several evaluations of the same tasks by the same model, in the same
// order and with the same shares, each with rollouts of its own.
type Part struct {
	Tasks []Task

	// Precision is what the part weighs, relative to the others: the inverse of the
	// variance that was expected of it before the first rollout of any, b over the risk
	// of its design. It must not follow from rewards, neither its own nor those of
	// another part.
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
