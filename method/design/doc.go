// Package design computes the ex-ante design of HBN: how many pilot rollouts m
// every task gets, and with which weight w the pilot enters the estimate, for a
// benchmark of N tasks and an average budget of b rollouts a task. It is for
// programs that evaluate stochastic models, before their first rollout: nothing
// but N and b and the reference prior enters (paper, Eqs. 9 to 12 and the
// appendix on the HBN design).
//
//	d, err := design.Compute(ctx, design.Settings{Tasks: 100, Budget: 32})
//	// d.Pilots of every task first, then d.Tasks*(d.Budget-d.Pilots) continuations
//	// as method/neyman allocates them; the estimate is w·pilot + (1−w)·continuation.
//
// The expectation of the continuation's variance is taken by Monte Carlo, over
// panels of N tasks drawn from the prior. All pilot sizes share the panels, so
// that their differences are far more certain than their risks. The panels are
// spread evenly over the prior, and what is estimated of each is its difference
// from a uniform continuation, which is known; so fewer of them do than the
// paper's 8 × 8192 independent ones, and a design takes a second or so. Their
// number falls as N grows: Settings.Panels says how to have another, and
// Design.RiskSE what it came to.
//
// Budgets up to 64 have every pilot size compared. Beyond that the sizes go up to
// 4·b^⅔, and from 64 on in steps of a thirty-second: the best are near b^⅔, where
// the risk is flat.
package design
