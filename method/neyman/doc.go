// Package neyman is the mathematics of the paper's policy: posterior scores
// under the reference hierarchical prior, exact integer Neyman allocation, and
// the variance of the two-stage estimator. It is for programs that decide where
// rollouts of a stochastic model are spent, and for studies of such decisions.
//
//	prior, err := neyman.NewPrior(16)                                    // Eq. 5
//	scores := prior.Pilot(pilots).Scores(counts, prior.NewWork())        // Eqs. 6 and 7: scores.At(successes)
//	allocation, err := neyman.Allocate(variances, tasks*(budget-pilots)) // Eq. 8
//
// An allocation gives every task at least one rollout and then spends the rest
// where it reduces Σ v/L most, v being a task's score. Allocate does that task
// by task. Classes does it for groups of tasks with equal scores, and Ladder
// for groups whose scores stay the same from draw to draw; both exist because
// designs and replays need hundreds of millions of allocations, and both give
// the same optimum.
package neyman
