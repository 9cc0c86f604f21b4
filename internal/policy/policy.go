// Package policy is the policies, a value in a file of its own each: what a
// policy is called in files and for people, and the facts about it that lists
// of policies go by. A strategy is a way to execute one. Whoever enumerates,
// orders or names policies or strategies reads the two lists, All and Strategies.
package policy

// Policy is a rule that spends N·b rollouts on N tasks.
type Policy struct {
	Name  string // in files and in the names of units; never changes
	Label string // for people: "Tuned EN"
	Macro string // within the names of LaTeX commands, letters only: "EN" of \specENVarianceBEight

	// PaperTable is the table of the paper that has its mean variance ratio: 1 or
	// 8. It is 0 for Uniform, which is 1 by definition, and for policies of ours.
	PaperTable int

	// Clairvoyant policies know the pass probabilities: a bound, which nobody
	// could execute.
	Clairvoyant bool

	// Strength says that the policy has a prior strength α, which is chosen in
	// hindsight: at each budget the one with the least mean ratio over profiles.
	Strength bool

	// Sequential policies choose every rollout after all those before it. They
	// have a warm start m₀ and α in place of a pilot size, a weight and a design.
	Sequential bool
}

// All is the policies of the replay, in the order of files and tables.
var All = []*Policy{Oracle, EN, IBN, HBN, TS}

// CaseStudy is the policies of the case study (paper, Figure 2), in the order
// of its file and from back to front in its panels.
var CaseStudy = []*Policy{Uniform, HBN, Oracle}

// Find is the policy of a name, nil if there is none.
func Find(name string) *Policy {
	if name == Uniform.Name {
		return Uniform
	}
	for _, p := range All {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Order is the place of a policy in All by its name, for sorting: -1 for
// Uniform, so that it comes first.
func Order(name string) int {
	for i, p := range All {
		if p.Name == name {
			return i
		}
	}
	return -1
}
