// Package policy is the policies, a value in a file of its own each: what a
// policy is called in files and for people, how its designs and allocations are
// made, and how it is executed. A strategy is a way to execute one. What
// enumerates, orders or names them reads the two lists, All and Strategies.
package policy

import (
	"slices"

	"speceval/internal/tsneyman"
)

// Policy is a rule that spends N·b rollouts on N tasks.
type Policy struct {
	Name  string // in files and in the names of units; never changes
	Label string // for people: "Tuned EN"
	Macro string // within the names of LaTeX commands, letters only: "EN" of \specENVarianceBEight

	// Donors is what the policy knows beforehand. Policies that differ in it alone
	// share their name and label.
	Donors *Donors

	// PaperTable is the table of the paper that has its mean variance ratio: 1 or
	// 8. It is 0 for Uniform, which is 1 by definition, and for policies of ours.
	PaperTable int

	// Clairvoyant policies know the pass probabilities: a bound that no evaluation
	// can reach.
	Clairvoyant bool

	// Strength says that the policy has a prior strength α, which is chosen in
	// hindsight: at each budget the one with the least mean ratio over profiles.
	Strength bool

	// How the policy spends the budget, in one of four forms. An allocation known
	// beforehand is made from the true variances and the number of rollouts, a
	// multiple of the number of tasks.
	Fixed    func(variances []float64, total int) ([]int, error)
	TwoStage *TwoStage
	InStages *InStages

	// Sequential policies choose every rollout after all those before it, from a
	// warm start m₀ and with a prior strength in place of a design.
	Sequential func(alpha float64) *tsneyman.Sampler

	// Design is how the pilot size and weight of TwoStage and InStages are found.
	Design Design
}

// HasDesign reports whether the policy has a pilot, of which size and weight are
// designed beforehand.
func (p *Policy) HasDesign() bool { return p.TwoStage != nil || p.InStages != nil }

// List is policies in the order of files and tables.
type List []*Policy

// All is the policies of the replay: the paper's, then ours.
var All = slices.Concat(List{Oracle, EN, IBN, HBN, TS, LOO, Staged}, Informed, InformedStaged)

// CaseStudy is the policies of the case study (paper, Figure 2), in the order
// of its file and from back to front in its panels.
var CaseStudy = List{Uniform, HBN, Oracle}

// Find is the policy of a key, nil if the list has none.
func (l List) Find(key Key) *Policy {
	if at := l.Order(key); at >= 0 {
		return l[at]
	}
	return nil
}

// Order is the place of a policy by its key, -1 if the list lacks it.
func (l List) Order(key Key) int {
	return slices.IndexFunc(l, func(p *Policy) bool { return p.Key() == key })
}
