// Package informed is a prior of task probabilities that knows what others made of
// the same tasks: the rollouts of other models, or of the same model earlier. It
// takes the place of the reference prior of method/neyman, which knows the tasks
// apart by their own rollouts only. What it says decides where rollouts are spent,
// and never enters an estimate: that is unbiased whatever the donors are
// (method/staged).
//
//	prior, err := informed.New(tasks, []informed.Donor{{Name: "last month", Passes: passes, Rollouts: rollouts}})
//	post := prior.Posterior()
//	post.Observe(rollouts, passes) // of the pilot, and of each stage after it
//	post.Scores(scores)            // E[p(1−p)] of every task given all of that
//	shares := post.Shares()        // what the donors weigh by now
//
// # The prior
//
// It is a mixture. Given one of its nodes, the tasks are independent, and task i
// has p_i ~ Beta(α_i, β_i). There are three kinds of nodes:
//
//   - Cold: the reference prior of the paper (Eq. 5), α_i = ξκ and β_i = (1−ξ)κ.
//     Without donors there is no other.
//   - Shifted: α_i = κμ_i and β_i = κ(1−μ_i), with logit μ_i = a + s·d_i where d_i is
//     the logit of the donor's pass rate on the task, in steps of a half. There are
//     such nodes of every donor, and of the mean of all donors' logits. The shift a
//     says how much better the model is than the donor, the slope s how alike the
//     tasks are for both, and κ how far to go by that.
//   - Same: the donor's rollouts are taken for the model's own, α_i = ξκ + c_i and
//     β_i = (1−ξ)κ + n_i − c_i for c_i passes of n_i, weighted by what they say of
//     ξ and κ. That is an earlier run of the same model, if it has not changed.
//
// The cold nodes have a third of the prior weight together, and every other set of
// nodes, one for each donor and kind, an equal part of the rest. The pilot decides
// which donor helps, and how much: a donor that is of no use costs what is lost
// while the rollouts have not yet said so. The cold nodes keep a twentieth of the
// weight, whatever the rollouts say: where donors are right of most tasks, and wrong
// of a few, no node is, and what is lost on the few is more than they are worth.
package informed
