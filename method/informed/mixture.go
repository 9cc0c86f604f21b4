package informed

import "speceval/method/neyman"

// Mixture is the joint posterior of all tasks. It holds until the next rollouts.
func (q *Posterior) Mixture() neyman.Mixture {
	if !q.weighed {
		q.weigh()
	}
	type place struct {
		*belief
		node int
	}
	var places []place
	var weights []float64
	for k := range q.beliefs {
		b := &q.beliefs[k]
		b.ready(b.level, b.levels)
		for _, node := range b.alive {
			places = append(places, place{b, int(node)})
			weights = append(weights, q.of(b).weight(b.weight[node]))
		}
	}
	return neyman.Mixture{Tasks: q.prior.tasks, Weights: weights, Shapes: func(node, task int) (alpha, beta float64) {
		at := places[node]
		return at.list[at.of[task]].shapes(at.source, at.node)
	}}
}
