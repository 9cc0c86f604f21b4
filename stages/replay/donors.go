package replay

import (
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
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
		if !slices.ContainsFunc(source.TaskIDs, func(id string) bool { return slices.Contains(of.TaskIDs, id) }) {
			job.Note("%s has none of the tasks of %s: it is no donor", source.Name(), of.Name())
			continue
		}
		all = append(all, source)
	}
	return all, nil
}

// inStages is the policies that have some donors and decide stage by stage.
func (b *builder) inStages(known *policy.Donors) policy.List {
	return slices.DeleteFunc(slices.Clone(b.policies), func(p *policy.Policy) bool {
		return p.InStages == nil || p.Donors != known
	})
}
