// Package controller is the paper's execution policies as state machines:
// Uniform, HBN-sync and HBN-async (paper, Section 3.3 and Algorithms 1 and 2), the
// latter two in two stages as in the paper, or in more.
// It is for programs that run rollouts of a stochastic model themselves and want
// to be told which one comes next.
//
//	c, err := controller.New(controller.Settings{
//		Policy: controller.Async, Tasks: n, Budget: b, Pilots: m, Weight: w, Prior: controller.Cold(prior),
//	})
//	for id, ok := c.Next(); ok; id, ok = c.Next() { … } // submit while a place is free
//	released, err := c.Completed(id, reward)            // then Surplus says what to abort
//	mean := c.Estimate()                                // once Done (Eq. 3)
//
// A controller is told of completions, failures and provisional allocations,
// and says which rollout to submit next and which running ones are surplus. It
// knows no clock, no server and no text, and its decisions follow from what it
// is told alone, so that the same code runs under a virtual clock and on real
// servers.
//
// # Stages
//
// The continuations of a task are one sequence, and each stage after the pilot selects
// the next of it. There is a barrier when every selected rollout has its reward: the
// posterior scores the tasks by those rewards, and package staged decides how many
// each task gets in the next stage, and with which weight. Under HBN-sync nothing
// beyond the stage under way is submitted. HBN-async speculates on what is left after
// it, by a provisional allocation of that, once the stage itself is submitted.
//
// No timing can reach a size, a weight or the estimate. Decisions are made when all
// that was selected is there, whatever else is, and look at selected rollouts alone.
// Those are named beforehand, by ordinal. A speculative rollout that a barrier does not
// select keeps running, or its reward is kept unseen, for a later stage to select:
// were it aborted and asked for again, or others taken in its place, answers that are
// short would be preferred. Surplus is what is left over at the last decision.
package controller
