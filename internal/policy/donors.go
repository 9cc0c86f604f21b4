package policy

import (
	"fmt"

	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/seed"
	"speceval/method/informed"
)

// Donors is what a policy knows of the tasks before it asks a rollout of them:
// counts that others have left. It never has those of the profile that it is
// replayed on. Its name and its donors identify a policy.
type Donors struct {
	Name  string // in files; never changes
	Label string // for people, behind a policy's label
	Words string // for people, what there is to know
	Macro string // within the names of LaTeX commands, letters only

	// Rollouts is how many each task has of a donor, drawn anew from its profile; 0
	// where the counts are as published.
	Rollouts int

	// Siblings are the other checkpoints on the same benchmark. Without, donors are
	// an earlier evaluation of the same one.
	Siblings bool
}

// What there is to know.
var (
	None = &Donors{Name: "none", Label: "nothing known", Words: "nothing"}

	Siblings = &Donors{
		Name: "siblings", Label: "siblings", Macro: "Siblings", Siblings: true,
		Words: "the published counts of the other checkpoints on the benchmark",
	}
	Siblings16 = &Donors{
		Name: "siblings16", Label: "siblings by 16", Macro: "SiblingsOneSix", Rollouts: 16, Siblings: true,
		Words: "16 rollouts of each task by every other checkpoint, drawn anew",
	}
	Earlier16 = &Donors{
		Name: "earlier16", Label: "earlier 16", Macro: "EarlierOneSix", Rollouts: 16,
		Words: "an earlier evaluation of the same model with 16 rollouts of each task, drawn anew",
	}
	Earlier64 = &Donors{
		Name: "earlier64", Label: "earlier 64", Macro: "EarlierSixFour", Rollouts: 64,
		Words: "an earlier evaluation of the same model with 64 rollouts of each task, drawn anew",
	}
)

// AllDonors is all that a policy may know, in the order of files and tables.
var AllDonors = []*Donors{None, Siblings, Siblings16, Earlier16, Earlier64}

// Key tells policies apart in the rows of files.
type Key struct{ Name, Donors string }

// String is the key as labels of rows have it: hbn, or hbn_informed siblings.
func (k Key) String() string {
	if k.Donors == None.Name {
		return k.Name
	}
	return k.Name + " " + k.Donors
}

// Key is what rows know the policy by.
func (p *Policy) Key() Key { return Key{p.Name, p.Donors.Name} }

// Title is the policy with its donors, for people.
func (p *Policy) Title() string {
	if p.Donors == None {
		return p.Label
	}
	return p.Label + ", " + p.Donors.Label
}

// Count is what is known of a profile's tasks from the counts of others, as they are or
// drawn anew: its siblings, or itself where the donor is an earlier evaluation of the
// same model. A profile is never a donor of its own counts.
func (d *Donors) Count(p profile.Profile, sources []profile.Profile, random *seed.Stream) ([]informed.Donor, error) {
	var all []informed.Donor
	for _, source := range sources {
		if source.Benchmark != p.Benchmark {
			return nil, fmt.Errorf("%s is of another benchmark than %s: it cannot be its donor", source.Name(), p.Name())
		}
		if (d.Siblings || d.Rollouts == 0) && source.Model == p.Model {
			return nil, fmt.Errorf("%s cannot be a donor of itself", p.Name())
		}
		all = append(all, counted(p, source, d.Rollouts, random))
	}
	return all, nil
}

// counted is one profile's counts of another's tasks, or so many rollouts of each drawn
// from it. Tasks that it lacks have none.
func counted(p, source profile.Profile, rollouts int, random *seed.Stream) informed.Donor {
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
			d.Passes[i], d.Rollouts[i] = source.PassCounts[k], source.Rollouts(k)
		default:
			d.Passes[i], d.Rollouts[i] = pilot.Binomial(rollouts, source.P(k), random), rollouts
		}
	}
	return d
}
