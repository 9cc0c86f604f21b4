package replay

import (
	"slices"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// sources reads the profiles that donors of a profile are counted on, or drawn from:
// its siblings', or its own.
func (b *builder) sources(job *dag.Job, of pair.Pair, known *policy.Donors) ([]profile.Profile, error) {
	pairs := []pair.Pair{of}
	switch {
	case known == policy.None:
		return nil, nil
	case known.Siblings:
		pairs = pair.Siblings(b.pairs, of)
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

// inStages is the policies that have some donors and decide stage by stage.
func (b *builder) inStages(known *policy.Donors) policy.List {
	return slices.DeleteFunc(slices.Clone(b.policies), func(p *policy.Policy) bool {
		return p.InStages == nil || p.Donors != known
	})
}
