package neyman

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Partial is the update of the prior by pilots that have not all been observed
// to the same length: Eq. 13 of the paper, with n_i rollouts of task i in the
// place of m. Its tables are made once and are then read-only.
type Partial struct {
	pilots  *Pilots
	moments [][3][]float64 // by n: the score's coefficients of 1, S and −S² at every node
}

// Partial returns the update by pilots of at most longest rollouts per task.
func (p *Prior) Partial(longest int) *Partial {
	partial := &Partial{pilots: p.Pilots(longest)}
	for n := range longest + 1 {
		var post Posterior
		post.setMoments(p, n)
		partial.moments = append(partial.moments, post.moments)
	}
	return partial
}

// Scores writes into scores the posterior expectation of p(1−p) of every task
// of which observed[i] pilots are known, successes[i] of them passed. Tasks
// with the same counts get the same bits. With complete pilots these are the
// scores of Posterior up to rounding.
func (p *Partial) Scores(observed, successes []int32, w *Work, scores []float64) {
	longest := len(p.moments) - 1
	counts := make([]float64, 3*(longest+1))
	passed, failed, all := counts[:longest+1], counts[longest+1:2*(longest+1)], counts[2*(longest+1):]
	for i, n := range observed {
		passed[successes[i]]++
		failed[n-successes[i]]++
		all[n]--
	}
	p.weigh(passed, failed, all, w)
	byObserved := make([]Scores, longest+1)
	for n, count := range all {
		if count != 0 {
			m := p.moments[n]
			byObserved[n] = Scores{floats.Dot(w.weights, m[0]), floats.Dot(w.weights, m[1]), floats.Dot(w.weights, m[2])}
		}
	}
	for i, n := range observed {
		scores[i] = byObserved[n].At(int(successes[i]))
	}
}

// weigh sets the weights of the hyperposterior, which sum to 1: the marginal
// likelihoods of all tasks are rising factorials of ξκ, (1−ξ)κ and κ, here with
// the number of tasks that have each.
func (p *Partial) weigh(passed, failed, all []float64, w *Work) {
	copy(w.log, p.pilots.prior.log)
	for s := 1; s < len(all); s++ {
		for _, term := range [...]struct {
			count float64
			row   []float64
		}{{passed[s], p.pilots.successes[s]}, {failed[s], p.pilots.failures[s]}, {all[s], p.pilots.all[s]}} {
			if term.count != 0 {
				floats.AddScaled(w.log, term.count, term.row)
			}
		}
	}
	top := largest(w.log)
	for k, l := range w.log {
		w.weights[k] = 0
		if l -= top; l > -negligible {
			w.weights[k] = math.Exp(l)
		}
	}
	floats.Scale(1/floats.Sum(w.weights), w.weights)
}
