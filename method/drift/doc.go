// Package drift asks whether a model is still what is known of it, by the pilot of an
// evaluation: so many rollouts of every task, before any of them was looked at.
//
// # The same model
//
// Where rollouts of the same model are known (an earlier evaluation, a profile), Same
// tests that no task's rewards have another law now. Given all rollouts of a task, old
// and new, every choice of which of them are the new ones is then equally likely, whatever
// the law is. So the p-value is exact for any number of tasks and rollouts, however
// unlike the tasks are, and for graded rewards, too (Fisher's and Pitman's tests): the
// new rollouts are drawn again from the pools, many times, and the p-value is the share
// of draws, the real ones among them, that are as extreme.
//
// Two statistics share the test, each sensitive to what the other one misses: the sum of
// all tasks' excess, for a shift of the mean, and the sum of its squares, for tasks that
// moved in different directions. The less likely one counts, held to the less likely
// ones of all draws, so that looking at both costs nothing of the error rate.
//
// It has to be decided before a task's old rollouts were seen how many there are. That
// is so for a profile, for Uniform, and for the pilot of any evaluation. It is so for the
// last stage of an evaluation in stages, too, given all stages before it. It is not so
// for all stages together: rollouts that were stopped where they agreed are no sample of
// a fixed size. So an evaluation is two references, its pilot and its last stage, and
// Bonferroni's inequality joins the two.
//
// # Other models
//
// Siblings have other probabilities, of course. What they are used for is the prior of
// package informed, and what can be asked is whether that still explains the model.
// Explained holds the weight that the pilot leaves to the cold nodes, those that know
// nothing of donors, to the weights that they have for models drawn from the nodes of
// donors.
package drift
