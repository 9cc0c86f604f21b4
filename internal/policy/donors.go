package policy

// Donors is what a policy knows of the tasks before it asks a rollout of them:
// counts that others have left. It never has those of the profile that it is
// replayed on. A policy is told apart by its name and its donors.
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
