// Package way is how evaluations spend their budgets: the policies that the flag --policy
// names, each with what executes it.
package way

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/method/controller"
)

// Way is a policy with what executes it: what the flag --policy names.
type Way struct {
	Name string // in folders, files and flags; never changes

	Controller controller.Policy
	InStages   *policy.InStages // nil: Uniform, or the paper's two stages
	Donors     bool             // it takes donors, and needs one at least
	Adapts     bool             // the number of stages follows from rollouts per place, in the place of InStages.After
}

// staged is the default without donors, informed that with some: of all policies they
// leave the most of Uniform's time at the same variance (table 10).
var (
	stagedWay   = &Way{Name: policy.Staged.Name, Controller: controller.Async, InStages: policy.Staged.InStages, Adapts: true}
	informedWay = &Way{
		Name: policy.InformedStaged[0].Name, Controller: controller.Async, InStages: policy.InformedStaged[0].InStages, Donors: true, Adapts: true,
	}
)

// All is all of them, in the order of help texts.
var All = []*Way{
	stagedWay, informedWay,
	{Name: policy.HBNAsync.Name, Controller: controller.Async},
	{Name: policy.HBNSync.Name, Controller: controller.Sync},
	{Name: policy.LOO.Name, Controller: controller.Async, InStages: policy.LOO.InStages},
	{Name: policy.Informed[0].Name, Controller: controller.Async, InStages: policy.Informed[0].InStages, Donors: true},
	{Name: policy.UniformAtBudget.Name, Controller: controller.Uniform},
}

// Default is the policy of who names none.
func Default(donors bool) *Way {
	if donors {
		return informedWay
	}
	return stagedWay
}

// Names are the names of All.
func Names() (names []string) {
	for _, w := range All {
		names = append(names, w.Name)
	}
	return names
}

// Find is the way of a name.
func Find(name string) (*Way, error) {
	if i := slices.IndexFunc(All, func(w *Way) bool { return w.Name == name }); i >= 0 {
		return All[i], nil
	}
	return nil, fmt.Errorf("there is no policy %q: want one of %s", name, strings.Join(Names(), ", "))
}

// Uniform reports whether every task is given the same number of rollouts.
func (w *Way) Uniform() bool { return w.Controller == controller.Uniform }

// Fewest rollouts per place with which a further stage, of which the end is a barrier,
// gains more by its allocations than it costs in time (`make drill-stages`).
const (
	fewForThree = 4
	fewForFive  = 8
)

// After is the number of stages after the pilot, for so many rollouts in all on
// servers with so many places.
func (w *Way) After(rollouts, places int) int {
	switch {
	case w.InStages == nil || !w.Adapts:
		return w.after()
	case rollouts < fewForThree*places:
		return 1
	case rollouts < fewForFive*places:
		return 2
	}
	return w.after()
}

func (w *Way) after() int {
	if w.InStages == nil {
		return 1
	}
	return w.InStages.After
}
