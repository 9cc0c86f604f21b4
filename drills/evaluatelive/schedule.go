package main

import "speceval/drills/evaluated"

// turn is an evaluation to make. Those of one round and budget follow one another.
type turn struct {
	arm   arm
	round int
	evaluated.Order
}

// Seeds: a budget has so many, and a round of it so many.
const (
	budgetSeeds = 1_000_000
	roundSeeds  = 100
)

// budgets are those of evaluations, in rollouts per task.
var budgets = []int{8, 16}

// schedule returns the evaluations to make, in order: the arms take turns, so that a
// machine that gets slower is slower for all of them, and each round begins with the
// next arm. No two evaluations have a seed in common, and so no rollout. Neither more
// rounds nor other arms change the seeds.
func schedule(arms []arm, counts map[int]int) (all []turn) {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	for round := range most {
		for _, budget := range budgets {
			if round >= counts[budget] {
				continue
			}
			for i := range arms {
				a := arms[(i+round)%len(arms)]
				all = append(all, turn{a, round, evaluated.Order{
					Policy: a.policy, Budget: budget, Seed: uint64(budget*budgetSeeds + round*roundSeeds + place(a.name)),
				}})
			}
		}
	}
	return all
}
