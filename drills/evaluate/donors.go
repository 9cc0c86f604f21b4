package main

import (
	"cmp"
	"slices"

	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
)

// earlier is an evaluation of the model that a profile is of: so many rollouts of each
// task, drawn from it.
func earlier(p profile.Profile, rollouts int, random *seed.Stream) profile.Profile {
	e := p
	e.TestedK, e.PassCounts = rollouts, nil
	for i := range p.N() {
		e.PassCounts = append(e.PassCounts, pilot.Binomial(rollouts, p.P(i), random))
	}
	return e
}

// siblings are the profiles of other models on the benchmark of a profile.
func siblings(p profile.Profile, published []profile.Profile) (all []profile.Profile) {
	for _, other := range published {
		if other.Benchmark == p.Benchmark && other.Model != p.Model {
			all = append(all, other)
		}
	}
	return all
}

// adversary is a profile with the counts of another one at the wrong tasks: the more
// uncertain a task is, the more certain it seems to be.
func adversary(p profile.Profile) profile.Profile {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.P(a)*(1-p.P(a)), p.P(b)*(1-p.P(b))) })
	wrong := p
	wrong.Model, wrong.PassCounts = "adversary", make([]int, p.N())
	for k, i := range order {
		wrong.PassCounts[i] = p.PassCounts[order[len(order)-1-k]]
	}
	return wrong
}

// mostlyRight is a profile that is another one's but on a tenth of the tasks, the most
// uncertain ones, which it has pass always.
func mostlyRight(p profile.Profile) profile.Profile {
	order := make([]int, p.N())
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.P(b)*(1-p.P(b)), p.P(a)*(1-p.P(a))) })
	partly := p
	partly.Model, partly.PassCounts = "partly", slices.Clone(p.PassCounts)
	for _, i := range order[:max(1, p.N()/10)] {
		partly.PassCounts[i] = p.TestedK
	}
	return partly
}
