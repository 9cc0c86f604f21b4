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
//	(1/N²) Σ v·E[Σ c²/n]
//
// over the stages of a task, w²/m + (1−w)²/L for two. With the n that came out, two
// things are known of this sum. One is its posterior expectation under the reference
// prior, or under the one with donors that the allocation went by (package informed): it
// knows all that the allocation knew, and also that a task may fail whose every rollout
// has passed. But where the tasks are not as the prior has them, half of
// them at .05 and half at .95 for instance, it is wrong just where the allocation has
// spent little. The other is the sum of the stages' own sample variances, c²/n·s². Pooled
// ones would not do, for a task has few further rollouts because those before agreed; but
// a stage's size was decided before it, and its own s² is unbiased for every profile.
// Where failures are rare it is nearly always too small, though. The standard error is
// the root of the larger of the two.
//
// # Its interval
//
// The 95% interval is Wilson's, for a share that was found with the standard error
// above: it stays between 0 and 1 and is longer towards 1/2, as the law of the
// estimate is near 0 and 1. The quantile is Student's, for the variance is not known.
// What the posterior doubts of it, beyond what follows from the mean itself and is in
// Wilson's interval already, makes the degrees of freedom: ν = 2/cv².
//
// That the interval covers profiles as they are is a matter of experience: the
// repository has its coverage on all of the paper's, and on others made to hurt it. It is
// about the mean of these tasks, with the model's randomness as the only chance: other
// tasks of the same kind are not part of it.
//
// Graded rewards, of which v is less than p(1−p), have the posterior's expectation times
// their dispersion: by how much all of their samples together vary less.
//
// # What Uniform would have needed
//
// A Uniform with X = Σ v/Σ v·Σc²/n rollouts per task has this variance. Both sums are
// taken from the samples, where both are unbiased, with a quarter of the posterior's
// added. The posterior alone would claim gains where there are losses: of tasks unlike
// the prior it misses the variance, and not the sum of the v. The interval has both the
// posterior's doubt of the ratio and the distance to the posterior's own in it.
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
