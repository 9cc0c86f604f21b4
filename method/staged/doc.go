// Package staged is the estimate of an evaluation in stages: of every task
// Σ c_k·X_k, where X_k is the mean of the n_k fresh rollouts that it has in stage
// k, and c_k its weight there. The paper's estimate is the case of two stages, a
// pilot and a continuation (Eq. 3).
//
// # Why it is unbiased
//
// The size n_k and the weight c_k are decided before stage k is seen, from
// anything that was seen before it: of this task, of all others, of other
// evaluations. The weights of a task add up to one, whatever happens. Given the
// past, E[X_k] = p; so stage by stage from the last, E[Σ c_k·X_k] = p. Neither
// the scores nor what they are made of need be right. What would not do is a
// weight that depends on its own stage, as where all rollouts of a task are pooled
// under an allocation that depends on them.
//
// A Stages holds to this by its form. Decide fixes the sizes and weights of the
// next stage from scores, and only then does it take that stage's outcome, by
// Observe. The one weight that is found after its stage, that of the pilot under
// Plan.LeaveOneOut, is a function of the other tasks' pilots alone.
//
//	s, err := staged.New(tasks, budget, plan)
//	for {
//		sizes := s.Sizes()            // rollouts to execute now, by task
//		err := s.Observe(passes)      // of them, by task
//		if s.Done() { break }
//		err = s.Decide(scores)        // E[p(1−p)] of every task, given all of that
//	}
//	mean := s.Mean()
//
// # Its variance
//
// Stages of a task are uncorrelated given the past, so that the variance of the
// mean over N tasks is Σ v·E[Σ c_k²/n_k]/N² with v = p(1−p). Shrinkage is the inner
// sum as it came out.
//
// Under Plan.LeaveOneOut that is so up to a term of the relative order 1/N: the weight
// of task i depends on the pilot of task j and the other way round, which correlates
// the two. What it adds is Σ E[w_i·w_j·(X_i−p_i)·(X_j−p_j)]/N² over all pairs, X being
// pilots' means. The estimate is unbiased all the same.
package staged
