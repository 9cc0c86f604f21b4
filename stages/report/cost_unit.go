package report

import (
	"fmt"

	"speceval/pipeline/dag"
)

// hasCosts reports whether any runs are there for Tables 2 to 4.
func (s Settings) hasCosts() bool { return s.Published || s.Systems }

// addRuns makes the runs that readCosts gathers inputs of a unit.
func (s Settings) addRuns(u *dag.Unit) {
	if s.Published {
		if u.Config == nil {
			u.Config = map[string]string{}
		}
		u.Config["experiment.budgets"] = fmt.Sprint(s.Budgets)
		u.Sources = append(u.Sources, source(measurementsFile, s.Measurements))
	}
	if s.Systems {
		u.Wants = append(u.Wants[:len(u.Wants):len(u.Wants)], dag.Ref{Stage: "systems", Unit: "measurements"})
	}
}
