package report

import (
	"fmt"

	"speceval/pipeline/dag"
)

// hasCosts reports whether any runs are there for Tables 2 to 4.
func (s Settings) hasCosts() bool { return s.Published || s.Systems }

// costUnit is the unit of Table 2, 3 or 4. needs, if any, are the designs and
// ratios of the replay.
func costUnit(s Settings, kind costKind, needs ...dag.Ref) dag.Unit {
	u := tableUnit(s, kind.base, needs, func(in locate, paper *Targets) (Sheet, error) {
		costs, err := readCosts(in, s)
		if err != nil {
			return Sheet{}, err
		}
		if len(needs) > 0 {
			if costs.Results, err = readResults(in); err != nil {
				return Sheet{}, err
			}
		}
		return costTable(kind, costs, paper)
	})
	s.addRuns(&u)
	return u
}

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
		u.Needs = append(u.Needs[:len(u.Needs):len(u.Needs)], dag.Ref{Stage: "systems", Unit: "measurements"})
	}
}
