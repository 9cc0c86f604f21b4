// Package tsneyman samples the sequential baseline: Bernoulli TS-Neyman, which
// gives each new rollout to the task whose posterior draw of
// p(1−p)/(n(n+1)) is largest (paper, Appendix C.3, Eq. 24). Its law is exact, and
// a step touches few of the tasks.
//
// # A race instead of draws
//
// Let task i's score have the distribution function F_i, and H_i(x) = −log F_i(x).
// Give the task a Poisson process on the scores with mean H_i(x) above x. Its top
// point is at most x if no point is above x: with probability exp(−H_i(x)) =
// F_i(x). So the top points have the law of the scores, and are independent as
// the scores are; and the largest score belongs to the task that owns the top
// point of all processes together, a Poisson process of mean T(x) = Σ H_i(x).
//
// That process meets a ladder of levels ([window]) whose cells have the masses
// T(x_l) − T(x_(l−1)). Counted by the mass above it, the top point is at an
// exponential number E, the next at E plus another, and so on: that gives the
// first cell with a point, and how many points it has. Given their number, the
// points of a cell are independent of each other, each is task i's in proportion
// to i's hazard in the cell, and lies uniformly in that hazard (race.owner).
//
//   - One point: its owner has the largest score. So it is if all owners are in
//     the same state, by symmetry: the order of drawing has nothing to do with
//     the order of scores.
//   - Otherwise each point's place in its owner's hazard says in which of eight
//     parts of the cell it is ([split]), and the highest part decides.
//   - Several owners in the highest part: it is known of each that its largest
//     point is in that part, and of no other task. So their scores are drawn from
//     their posteriors, restricted to the part, by rejection (within.go). What is
//     conditioned on is the set of owners; numbers of points would be wrong here.
//   - No point in the window: every score is below it. Scores are drawn from the
//     posteriors until they are. Of task i that takes 1/F_i draws, but happens
//     with probability Π F_j ≤ F_i: at most one draw a task and step on average.
//
// Which window is looked at does not matter to the law, as long as it does not
// look ahead; follow.go keeps it where the largest score is likely.
//
// # Exact sums
//
// After a rollout one task's hazards change. They are whole multiples of 2^−36, so
// that sums are kept up to date by integer additions: they do not drift, and do
// not depend on the order of what happened. The scheme has the exact law of these
// rounded hazards, which moves no probability by more than about N·2^−36 (10⁻⁹
// at N = 100) from that of the paper.
//
// Rows of hazards and splits are functions of the state of a task, the window and
// the prior strength. They are computed when first needed and shared by all
// trajectories, profiles and warm starts; p(1−p) has the same law for S passes
// and for S failures, so one row serves both. Forgetting them changes nothing.
//
// Scores are handled by −log2, so that small prior strengths, where scores
// underflow, are no special case. Equal scores have probability 0; if rounding
// makes some, the lower task index wins, as the paper says.
//
// Limits: prior strengths from 10^−6 to 1000 and up to 500,000 tasks. Below,
// drawing scores within a part by rejection would take time like 1/alpha.
package tsneyman
