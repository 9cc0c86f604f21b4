// Package controller is the paper's execution policies as state machines:
// Uniform, HBN-sync and HBN-async (paper, Section 3.3 and Algorithms 1 and 2).
// It is for programs that run rollouts of a stochastic model themselves and want
// to be told which one comes next.
//
//	c, err := controller.New(controller.Settings{Policy: controller.Async, Tasks: n, Budget: b, Pilots: m, Prior: prior})
//	for id, ok := c.Next(); ok; id, ok = c.Next() { … } // submit while a place is free
//	released, err := c.Completed(id, reward)            // then Surplus says what to abort
//	mean := c.Estimate(w)                               // once Done (Eq. 3)
//
// A controller is told of completions, failures and provisional allocations,
// and says which rollout to submit next and which running ones are surplus. It
// knows no clock, no server and no text, and its decisions follow from what it
// is told alone, so that the same code runs under a virtual clock and on real
// servers.
package controller
