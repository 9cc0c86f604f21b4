// Package policy is the policies, each a value: what a policy is called in files and for
// people, how its designs and allocations are made, and how it is executed. HBN, EN and
// IBN are in hbn.go, those in several stages and with donors in staged.go, the others
// here. A strategy is a way to execute a policy. Code that enumerates, orders or names
// policies reads the two lists, All and Strategies.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/policy/tsneyman"
	"speceval/method/controller"
	"speceval/method/neyman"
)

// Policy is a rule that spends N·b rollouts on N tasks.
type Policy struct {
	Name  string // in files and in the names of units; never changes
	Label string // for people: "Tuned EN"
	Macro string // within the names of LaTeX commands, letters only: "EN" of \specENVarianceBEight

	// Donors is the knowledge of the policy before its first rollout. Policies that differ
	// in it alone share their name and label.
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

// HasDesign reports whether the policy has a pilot whose size and weight are designed
// beforehand.
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

// Strategy is a way to execute a policy: the column strategy of measurements
// and runs (paper, Section 4.3). A policy says how many rollouts a task gets; a
// strategy says also in which order they are requested, and at which budget.
type Strategy struct {
	Name  string // in files; never changes
	Label string // for people: "HBN-async"

	Policy     *Policy           // that is executed
	Controller controller.Policy // that executes it

	// Equivalent strategies spend ⌊b/r⌋ rollouts per task in place of b, r being
	// the variance ratio of HBN.
	Equivalent bool
}

// Strategies is all of them, in the order of errors and tables.
var Strategies = []*Strategy{UniformAtBudget, HBNSync, HBNAsync, UniformEquivalent}

// Timed is the policies in stages that are executed on the simulated fleet, each by
// HBNAsync's controller, and held against the Uniform that has their variance.
var Timed = slices.Concat(List{Staged, Informed.knowing(Siblings)}, InformedStaged)

// FindStrategy is the strategy of a name, nil if there is none.
func FindStrategy(name string) *Strategy {
	for _, s := range Strategies {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// HasPilot reports whether the strategy waits for the rewards of a pilot: it
// allocates by them, with a stage weight and a prior.
func (s *Strategy) HasPilot() bool { return s.Policy.TwoStage != nil }

// Speculates reports whether the strategy requests rollouts that it may turn
// out not to need: its runs have extra rollouts and wasted FLOPs.
func (s *Strategy) Speculates() bool { return s.Controller == controller.Async }

// Execution is a policy that an evaluation can spend its budget by, with the controller
// that executes it: a value of the flag --policy.
type Execution struct {
	Name string // in folders, files and flags; never changes

	Controller controller.Policy
	Donors     bool // it takes donors, and needs one at least
	Adapts     bool // the number of stages follows from rollouts per place; otherwise Uniform, or the paper's two
}

// staged is the default without donors, informed that with some: of all policies they
// leave the most of Uniform's time at the same variance (table 10).
var (
	stagedWay   = &Execution{Name: Staged.Name, Controller: controller.Async, Adapts: true}
	informedWay = &Execution{Name: InformedStaged[0].Name, Controller: controller.Async, Donors: true, Adapts: true}
)

// Executions are all executions, in the order of help texts.
var Executions = []*Execution{
	stagedWay, informedWay,
	{Name: HBNAsync.Name, Controller: controller.Async},
	{Name: UniformAtBudget.Name, Controller: controller.Uniform},
}

// DefaultExecution is the execution that runs where no policy is named.
func DefaultExecution(donors bool) *Execution {
	if donors {
		return informedWay
	}
	return stagedWay
}

// ExecutionNames are the names of All.
func ExecutionNames() (names []string) {
	for _, w := range Executions {
		names = append(names, w.Name)
	}
	return names
}

// FindExecution is the execution of a name.
func FindExecution(name string) (*Execution, error) {
	if i := slices.IndexFunc(Executions, func(w *Execution) bool { return w.Name == name }); i >= 0 {
		return Executions[i], nil
	}
	return nil, fmt.Errorf("there is no policy %q: want one of %s", name, strings.Join(ExecutionNames(), ", "))
}

// Uniform reports whether every task is given the same number of rollouts.
func (w *Execution) Uniform() bool { return w.Controller == controller.Uniform }

// Fewest rollouts per place with which a further stage, and its barrier, gains more by its
// allocations than it costs in time (docs/policies.md).
const (
	fewForThree = 4
	fewForFive  = 8
)

// After is the number of stages after the pilot, for the rollouts of a whole evaluation on
// servers with the given places.
func (w *Execution) After(rollouts, places int) int {
	switch {
	case !w.Adapts || rollouts < fewForThree*places:
		return 1
	case rollouts < fewForFive*places:
		return 2
	}
	return mostAfter
}

// Uniform gives every task b rollouts: what all others are held against.
var Uniform = &Policy{Name: "uniform", Label: "Uniform", Macro: "Uniform", Donors: None, Fixed: evenly}

// evenly divides the rollouts evenly among the tasks; total is a multiple of their number.
func evenly(variances []float64, total int) ([]int, error) {
	return slices.Repeat([]int{total / len(variances)}, len(variances)), nil
}

// UniformAtBudget is Uniform at the budget b.
var UniformAtBudget = &Strategy{
	Name: controller.Uniform.String(), Label: "Uniform",
	Policy: Uniform, Controller: controller.Uniform,
}

// UniformEquivalent is Uniform at ⌊b/r⌋, the budget that HBN's variance is worth.
var UniformEquivalent = &Strategy{
	Name: "uniform-equivalent", Label: "Uniform, equivalent",
	Policy: Uniform, Controller: controller.Uniform, Equivalent: true,
}

// Oracle is the exact integer Neyman allocation for the true variances (paper,
// Eq. 2).
var Oracle = &Policy{
	Name: "oracle", Label: "Oracle", Macro: "Oracle", Donors: None, PaperTable: 1, Clairvoyant: true,
	Fixed: neyman.Allocate,
}

// TS is TS-Neyman: every rollout goes to the task for which a draw from the
// posteriors promises most (paper, Appendix C.3).
var TS = &Policy{Name: "ts_neyman", Label: "TS-Neyman", Macro: "TS", Donors: None, PaperTable: 8, Strength: true, Sequential: tsneyman.NewSampler}
