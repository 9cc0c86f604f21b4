// Package passk estimates pass^k and pass@k from evaluations in stages: the chance
// that k fresh rollouts of a task all pass, p^k, and that one of them does,
// 1 − (1−p)^k, as means over tasks.
//
// # One stage
//
// Of n rollouts of which s passed, C(s,k)/C(n,k) is the share of all sets of k that
// passed whole: an unbiased estimate of p^k for n of at least k, whatever decided n
// before them. The plug-in (s/n)^k is not unbiased.
//
// # Several stages
//
// The k rollouts need not be of one stage: i of an earlier and k − i of a later one
// pass together with the chance p^i·p^(k−i). So the estimate goes through the stages
// with weights A_r on having r of the k rollouts still to come; at first A_k = 1. Before
// a stage of n rollouts is seen, it is decided with which shares q(i|r) it takes i of
// them, at most n; once seen, s of n,
//
//	A'_{r−i} += A_r · q(i|r) · C(s,i)/C(n,i)
//
// Given the past, E[C(s,i)/C(n,i)] = p^i, and therefore E[Σ A'_r·p^r] = Σ A_r·p^r: what
// is expected of the evaluation never changes, and is p^k from the first stage to the
// last, where it is A_0. The shares may depend on anything that was seen before, as the
// sizes do, and add up to one; nothing may be taken back later. So it has to be certain
// that what is left will find its rollouts: a stage that is not a task's last leaves at
// most so many as the task is sure to have ahead, staged.Plan.Least. With a pilot of m
// rollouts that is possible where k is at most m + Least. A floor of k leaves all of it
// open. Under a lower one the pilot has to take more of the k than its part, and what is
// left of the allocation's freedom is not worth that: for pass^4 at b = 8 after a pilot of
// 3, the variance on the paper's profiles is 0.92 of Uniform's with a floor of 4, 1.06
// with one of 2, and 2.1 with none (drills/studies).
//
// The shares are the hypergeometric law of choosing r of all rollouts that the task
// would have in the end, if the stage's weight in the mean were its part of them.
//
// # The error
//
// Stages of a task are uncorrelated given the past. What one adds to the variance,
// Var[Σ A_r·q(i|r)·U_i·p^(r−i)], is a polynomial of p of the degree 2k, since two sets of
// i and j of n rollouts with c in common pass with the chance p^(i+j−c). The standard
// error has its posterior expectation given all rollouts, as that of the mean has
// E[p(1−p)] (package estimate): under the reference prior, or under the law of p that the
// tasks themselves suggest (nonparametric maximum likelihood), whichever sum is larger.
// The first knows that a task may fail though all its rollouts have passed; the second
// is right of tasks unlike the prior's, of which there have to be some.
package passk
