package replay

import (
	"fmt"
	"slices"

	"speceval/internal/pilot"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/informed"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// siblings is the pairs whose profiles are donors of another's: the other models on
// its benchmark.
func (b *builder) siblings(of pair.Pair) []pair.Pair {
	var all []pair.Pair
	for _, p := range b.pairs {
		if p.Benchmark == of.Benchmark && p.Model != of.Model {
			all = append(all, p)
		}
	}
	return all
}

// sources reads the profiles that donors of a profile are counted on, or drawn from:
// its siblings', or its own.
func (b *builder) sources(job *dag.Job, of pair.Pair, known *policy.Donors) ([]profile.Profile, error) {
	pairs := []pair.Pair{of}
	switch {
	case known == policy.None:
		return nil, nil
	case known.Siblings:
		pairs = b.siblings(of)
	}
	var all []profile.Profile
	for _, p := range pairs {
		source, err := p.Profile(job)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// donors is what is known of a profile's tasks from others' counts, as they are or
// drawn anew. A profile is never a donor of its own counts.
func donors(p profile.Profile, sources []profile.Profile, known *policy.Donors, random *seed.Stream) ([]informed.Donor, error) {
	var all []informed.Donor
	for _, source := range sources {
		if source.Benchmark != p.Benchmark {
			return nil, fmt.Errorf("%s is of another benchmark than %s: it cannot be its donor", source.Name(), p.Name())
		}
		if known.Rollouts == 0 && source.Model == p.Model {
			return nil, fmt.Errorf("%s cannot be a donor of itself", p.Name())
		}
		all = append(all, donor(p, source, known.Rollouts, random))
	}
	return all, nil
}

// donor is one profile's counts of another's tasks, or so many rollouts of each drawn
// from it. Tasks that it lacks have none.
func donor(p, source profile.Profile, rollouts int, random *seed.Stream) informed.Donor {
	d := informed.Donor{Name: source.Name(), Passes: make([]int, p.N()), Rollouts: make([]int, p.N())}
	at := make(map[string]int, source.N())
	for i, id := range source.TaskIDs {
		at[id] = i
	}
	for i, id := range p.TaskIDs {
		k, there := at[id]
		switch {
		case !there:
		case rollouts == 0:
			d.Passes[i], d.Rollouts[i] = source.PassCounts[k], source.TestedK
		default:
			d.Passes[i], d.Rollouts[i] = pilot.Binomial(rollouts, source.P(k), random), rollouts
		}
	}
	return d
}

// inStages is the policies that have some donors and decide stage by stage.
func (b *builder) inStages(known *policy.Donors) policy.List {
	return slices.DeleteFunc(slices.Clone(b.policies), func(p *policy.Policy) bool {
		return p.InStages == nil || p.Donors != known
	})
}
