// Package neyman is the mathematics of the paper's policy: posterior scores
// under the reference hierarchical prior, exact integer Neyman allocation, and
// the variance of the two-stage estimator.
//
// An allocation gives every task at least one rollout and then spends the rest
// where it reduces Σ v/L most, v being a task's score. Allocate does that task
// by task. Classes does it for groups of tasks with equal scores, and Ladder
// for groups whose scores stay the same from draw to draw; both exist because
// designs and replays need hundreds of millions of allocations, and both give
// the same optimum.
package neyman
