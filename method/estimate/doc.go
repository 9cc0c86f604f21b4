// Package estimate turns the rollouts of an evaluation into a benchmark mean with
// its error, compares two evaluations, and plans evaluations by the error that they
// will have.
//
// The estimate is the paper's (Eq. 3): of every task the pass rate of its pilot
// with the stage weight w, that of its continuation with 1 − w, and the mean over
// tasks. It is unbiased for any profile: w is fixed before the evaluation, and
// continuations are fresh rollouts, however many the pilot has them be. There may be
// one stage (Uniform) or more than two, with weights of their own for every task, and
// tasks that weigh more than others: Σ share·Σ c·X is unbiased as long as number and
// weight of a stage's rollouts were decided before them (package staged). Rewards may
// be graded, numbers in [0, 1]; p is then their expectation.
//
// # Its error
//
// Given the pilot, and so the allocation L, a continuation's pass rate has the
// mean p and the variance v/L with v = p(1−p). Pilot and continuation are
// therefore uncorrelated (paper, Section 3), and the variance of the estimate is
//
//	(1/N²) Σ v·E[w²/m + (1−w)²/L]
//
// The standard error is the root of the same sum with the L that came out and
// with E[v | all rollouts], the posterior expectation under the reference prior,
// in the place of v. Sample variances will not do: a task of which every pilot
// rollout passed is given a short continuation because of that, its sample
// variance is zero, and the error would be too small just where the allocation
// spent little. The posterior is right about that, because the allocation depends
// on nothing but rollouts that it knows: whatever stopped the sampling, E[v/L]
// over evaluations of tasks as the prior has them is what is reported. That it
// holds for profiles as they are, too, is a matter of experience: the repository
// has the coverage on all of the paper's.
//
// # Its interval
//
// The 95% interval is Wilson's, for a share that was found with the standard error
// above: it stays between 0 and 1 and is longer towards 1/2, as the law of the
// estimate is near 0 and 1. It is about the mean of these tasks, with the model's
// randomness as the only chance: other tasks of the same kind are not part of it.
//
// # Two questions
//
// How good is the model on these tasks? That is Mean: the tasks are fixed. How good is
// it on what these tasks are a sample of? That is Sample: its error has the spread of
// the tasks, or of clusters of them, in it, and does not vanish with the rollouts.
//
// The second error needs no model of the first. With p̂_i = p_i + e_i, where e_i is the
// noise of the task's own rollouts with mean 0 whatever its variance, the spread of p̂
// over tasks is that of p plus that of e, which is what the mean of p̂ varies by.
//
// Two models on the same tasks differ by the mean of p̂A_i − p̂B_i. For the first
// question nothing cancels: given the tasks, rollouts of two models are independent.
// For the second what makes a task hard for both cancels, Sample.Minus.
//
// A Gate turns a difference, of either kind, into a decision with error rates.
package estimate
