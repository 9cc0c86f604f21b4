// This file simulates evaluations in stages, of tasks whose pass probabilities
// are known: one at a time, rollout by rollout, for replays of a fixed profile, and
// on panels of a prior, for designs. What a simulated evaluation is worth is exact
// given the rollouts that decided on it: Σ p(1−p)·Σ c²/n over its tasks and stages
// (method/staged).

package pilot
