package neyman

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// Partial is the update of the prior by rollouts of which every task may have its own
// number: Eq. 13 of the paper, with n_i rollouts of task i in the place of m. Its
// tables have a row for each number of rollouts up to the largest that has been asked
// for. A Partial is safe for concurrent use, each goroutine with a Work of its own.
type Partial struct {
	prior *Prior
	mu    sync.Mutex
	rows  []partialRow // by number of rollouts; one that is there stays as it is
}

// partialRow is what a number of rollouts n comes to at every node.
type partialRow struct {
	successes, failures, all []float64    // logs of the rising factorials of ξκ, (1−ξ)κ and κ
	moments                  [3][]float64 // the score's coefficients of 1, S and −S²
}

// Partial returns the update by rollouts, with tables for up to longest of a task. They
// grow as Scores needs it.
func (p *Prior) Partial(longest int) *Partial {
	partial := &Partial{prior: p}
	partial.upTo(longest)
	return partial
}

// upTo returns the rows of up to longest rollouts.
func (p *Partial) upTo(longest int) []partialRow {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.rows); n <= longest; n++ {
		p.rows = append(p.rows, p.row(n))
	}
	return p.rows[:longest+1]
}

// row makes the row after those that are there.
func (p *Partial) row(n int) partialRow {
	nodes := len(p.prior.a)
	var post Posterior
	post.setMoments(p.prior, n)
	r := partialRow{make([]float64, nodes), make([]float64, nodes), make([]float64, nodes), post.moments}
	if n == 0 {
		return r
	}
	last, factor := p.rows[n-1], float64(n-1)
	for k, a := range p.prior.a {
		b := p.prior.b[k]
		r.successes[k] = last.successes[k] + math.Log(a+factor)
		r.failures[k] = last.failures[k] + math.Log(b+factor)
		r.all[k] = last.all[k] + math.Log(a+b+factor)
	}
	return r
}

// Scores writes into scores the posterior expectation of p(1−p) of every task
// of which observed[i] rollouts are known, successes[i] of them passed. Tasks
// with the same counts get the same bits. With complete pilots these are the
// scores of Posterior up to rounding.
func (p *Partial) Scores(observed, successes []int, w *Work, scores []float64) {
	longest := 0
	for _, n := range observed {
		longest = max(longest, n)
	}
	rows := p.upTo(longest)
	w.counts = sized(w.counts, 3*(longest+1))
	clear(w.counts)
	passed, failed, all := w.counts[:longest+1], w.counts[longest+1:2*(longest+1)], w.counts[2*(longest+1):]
	for i, n := range observed {
		passed[successes[i]]++
		failed[n-successes[i]]++
		all[n]--
	}
	p.weigh(rows, passed, failed, all, w)
	w.scores = sized(w.scores, longest+1)
	for n, count := range all {
		if count != 0 {
			m := &rows[n].moments
			w.scores[n] = Scores{floats.Dot(w.weights, m[0]), floats.Dot(w.weights, m[1]), floats.Dot(w.weights, m[2])}
		}
	}
	for i, n := range observed {
		scores[i] = w.scores[n].At(successes[i])
	}
}

// weigh sets the weights of the hyperposterior, which sum to 1: the marginal
// likelihoods of all tasks are rising factorials of ξκ, (1−ξ)κ and κ, here with
// the number of tasks that have each.
func (p *Partial) weigh(rows []partialRow, passed, failed, all []float64, w *Work) {
	copy(w.log, p.prior.log)
	for s := 1; s < len(all); s++ {
		for _, term := range [...]struct {
			count float64
			row   []float64
		}{{passed[s], rows[s].successes}, {failed[s], rows[s].failures}, {all[s], rows[s].all}} {
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
