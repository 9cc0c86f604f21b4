package systems

import (
	"fmt"

	"speceval/internal/coupled"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// Allocation is HBN's final allocation in a setting: the continuations of each
// task, in profile order, that follow from the coupled rewards of a pilot of m
// rollouts per task, N(b−m) in all. HBN-sync and HBN-async both end with it.
func Allocation(prior *neyman.Prior, rewards *coupled.Rewards, pilots, budget int) ([]int, error) {
	if pilots < 1 || pilots >= budget {
		return nil, fmt.Errorf("a pilot of %d rollouts per task does not fit a budget of %d: it needs at least 1, and every task at least 1 more", pilots, budget)
	}
	successes := rewards.Pilot(pilots)
	return controller.Allocate(prior.Pilot(pilots), prior.NewWork(), pilots, successes, len(successes)*(budget-pilots))
}
