package main

import (
	"fmt"

	"speceval/internal/profile"
	"speceval/internal/seed"
)

// rewards is the law of a task's rewards, by their mean p.
type rewards struct {
	name     string
	draw     func(p float64, random *seed.Stream) float64
	variance func(p float64) float64
}

// The laws that are tried: passes, the share of three questions that pass, and rewards
// that are spread evenly over all that have the mean in their middle.
var (
	passes = rewards{"passes", pass, func(p float64) float64 { return p * (1 - p) }}
	thirds = rewards{"thirds", func(p float64, random *seed.Stream) float64 {
		return (pass(p, random) + pass(p, random) + pass(p, random)) / 3
	}, func(p float64) float64 { return p * (1 - p) / 3 }}
	even = rewards{"even", func(p float64, random *seed.Stream) float64 {
		return p + min(p, 1-p)*(2*random.Float64()-1)
	}, func(p float64) float64 { return min(p, 1-p) * min(p, 1-p) / 3 }}
)

// pass is 1 with the probability p, and else 0.
func pass(p float64, random *seed.Stream) float64 {
	if random.Float64() < p {
		return 1
	}
	return 0
}

// some is a number of tasks with one probability, in thousandths.
type some struct{ tasks, p int }

// hard is profiles made to hurt the error, with the law of their rewards: tasks that no
// Beta distribution has, failures that are rare, and few tasks.
var hard = []struct {
	rewards rewards
	parts   []some
}{
	{passes, []some{{50, 50}, {50, 950}}},
	{passes, []some{{15, 20}, {15, 980}}},
	{passes, []some{{40, 20}, {10, 500}}},
	{passes, []some{{10, 0}, {10, 500}, {10, 1000}}},
	{passes, []some{{90, 0}, {10, 50}}},
	{passes, []some{{95, 0}, {5, 20}}},
	{passes, []some{{98, 0}, {2, 500}}},
	{passes, []some{{50, 0}, {49, 1000}, {1, 500}}},
	{passes, []some{{97, 1000}, {3, 300}}},
	{passes, []some{{100, 990}}},
	{passes, []some{{30, 990}}},
	{passes, []some{{30, 900}}},
	{passes, []some{{200, 30}}},
	{passes, []some{{10, 100}}},
	{passes, []some{{10, 500}}},
	{passes, []some{{5, 500}}},
	{passes, []some{{3, 500}}},
	{passes, []some{{1, 200}, {1, 500}, {1, 900}}},
	{passes, []some{{2, 500}}},
	{passes, []some{{1, 300}, {1, 900}}},
	{thirds, []some{{50, 50}, {50, 950}}},
	{thirds, []some{{5, 500}}},
	{even, []some{{10, 100}, {10, 500}, {10, 900}}},
	{even, []some{{20, 0}, {3, 500}}},
}

// hardProfiles are the profiles made to hurt.
func hardProfiles() (all []profile.Profile, laws []rewards) {
	for _, h := range hard {
		p := profile.Profile{Benchmark: "hard", TestedK: 1000}
		for _, s := range h.parts {
			if p.Model != "" {
				p.Model += " + "
			}
			p.Model += fmt.Sprintf("%d of %g", s.tasks, float64(s.p)/1000)
			for range s.tasks {
				p.TaskIDs = append(p.TaskIDs, fmt.Sprint(len(p.TaskIDs)))
				p.PassCounts = append(p.PassCounts, s.p)
			}
		}
		if h.rewards.name != passes.name {
			p.Model += ", " + h.rewards.name
		}
		all, laws = append(all, p), append(laws, h.rewards)
	}
	return all, laws
}
