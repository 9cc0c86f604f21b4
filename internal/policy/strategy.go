package policy

import (
	"slices"

	"speceval/method/controller"
)

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
