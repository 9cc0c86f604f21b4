package systems

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// stagedPlan is what the replay says of a timed policy in a setting: its design on the
// profile, and the budget at which Uniform would be as precise.
type stagedPlan struct {
	Benchmark  string  `parquet:"benchmark"`
	Model      string  `parquet:"model"`
	Budget     int32   `parquet:"budget"`
	Policy     string  `parquet:"policy"`
	Donors     string  `parquet:"donors"`
	Pilots     int32   `parquet:"pilots"`
	Weight     float64 `parquet:"weight"`
	Equivalent int32   `parquet:"equivalent_budget"`
}

const (
	stagedPlansFile   = "systems/staged_plans.parquet"
	stagedPlansSchema = "systems-staged-plans/1"
)

var stagedPlansRef = dag.Ref{Stage: name, Unit: "staged_plans"}

// stagedPlansUnit looks the plans of all timed policies up in the replay's results.
func (s *Settings) stagedPlansUnit() dag.Unit {
	u := dag.Unit{
		ID:         stagedPlansRef.Unit,
		Config:     s.Slice("experiment.budgets"),
		Needs:      []dag.Ref{{Stage: "replay", Unit: "ratios"}},
		Outputs:    []string{stagedPlansFile},
		Provenance: "computed",
		Run:        s.writeStagedPlans,
	}
	for _, p := range s.Pairs {
		p.Feed(&u)
	}
	return u
}

func (s *Settings) writeStagedPlans(_ context.Context, job *dag.Job) error {
	ratios, err := readRows[variance.Ratio](job, variance.RatiosFile)
	if err != nil {
		return err
	}
	var rows []stagedPlan
	for _, setting := range s.settings() {
		known, err := setting.pair.Profile(job)
		if err != nil {
			return err
		}
		if known.VarianceSum() == 0 || !s.simulates(setting.pair) {
			continue
		}
		for _, p := range policy.Timed {
			row, err := setting.newStagedPlan(ratios, p)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	return writeRows(job, stagedPlansFile, stagedPlansSchema, rows)
}

// newStagedPlan is the plan of a policy in the setting. It is an error if the replay
// does not cover it.
func (s *setting) newStagedPlan(ratios []variance.Ratio, p *policy.Policy) (stagedPlan, error) {
	at := slices.IndexFunc(ratios, func(r variance.Ratio) bool {
		return r.Key() == p.Key() && r.Benchmark == s.pair.Benchmark && r.Model == s.pair.Model && int(r.Budget) == s.budget
	})
	if at < 0 {
		return stagedPlan{}, fmt.Errorf("%s does not cover %s with %s at budget %d; run the replay stage again", variance.RatiosFile, s.pair.Name(), p.Key(), s.budget)
	}
	r := ratios[at]
	equivalent, err := variance.EquivalentBudget(r.Budget, r.VarianceRatio)
	switch {
	case err == nil && equivalent < 1:
		err = fmt.Errorf("a variance ratio of %v leaves Uniform no rollout", r.VarianceRatio)
	case err == nil && (r.M == nil || r.W == nil && !p.InStages.LeaveOneOut):
		err = fmt.Errorf("%s has no design", p.Key())
	}
	if err != nil {
		return stagedPlan{}, fmt.Errorf("%s: row %d, %s at budget %d: %w", variance.RatiosFile, at+1, s.pair.Name(), s.budget, err)
	}
	row := stagedPlan{
		Benchmark: r.Benchmark, Model: r.Model, Budget: r.Budget, Policy: r.Policy, Donors: r.Donors, Pilots: *r.M, Equivalent: equivalent,
	}
	if r.W != nil {
		row.Weight = *r.W
	}
	return row, nil
}

// stagedPlans reads the setting's plans, none where the profile is degenerate.
func (s *setting) stagedPlans(job *dag.Job) ([]stagedPlan, error) {
	rows, err := readRows[stagedPlan](job, stagedPlansFile)
	return slices.DeleteFunc(rows, func(r stagedPlan) bool {
		return r.Benchmark != s.pair.Benchmark || r.Model != s.pair.Model || int(r.Budget) != s.budget
	}), err
}
