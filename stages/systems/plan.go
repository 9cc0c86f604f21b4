package systems

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// plan is what the replay says about one setting: HBN's design, and the budget
// at which Uniform would be as precise.
type plan struct {
	Pilots     int `json:"pilots"`     // m
	Equivalent int `json:"equivalent"` // ⌊b/r⌋
}

// planRow is the plan of a setting, as plansFile keeps it.
type planRow struct {
	Benchmark  string  `parquet:"benchmark"`
	Model      string  `parquet:"model"`
	Budget     int32   `parquet:"budget"`
	Pilots     int32   `parquet:"pilots"`
	Weight     float64 `parquet:"weight"` // w, by which estimates are made of runs
	Equivalent int32   `parquet:"equivalent_budget"`
}

const (
	plansFile   = "systems/plans.parquet"
	plansSchema = "systems-plans/2"
)

var plansRef = dag.Ref{Stage: name, Unit: "plans"}

// plansUnit looks the plans of all settings up in the replay's results.
func (s *Settings) plansUnit() dag.Unit {
	u := dag.Unit{
		ID:         plansRef.Unit,
		Config:     s.Slice("experiment.budgets"),
		Needs:      []dag.Ref{{Stage: "replay", Unit: "designs"}, {Stage: "replay", Unit: "two_stage"}},
		Outputs:    []string{plansFile},
		Provenance: "computed",
		Run:        s.writePlans,
	}
	for _, p := range s.Pairs {
		p.Feed(&u)
	}
	return u
}

func (s *Settings) writePlans(_ context.Context, job *dag.Job) error {
	path, err := job.Input(variance.DesignsFile)
	if err != nil {
		return err
	}
	designs, err := variance.ReadDesigns(path)
	if err != nil {
		return err
	}
	ratios, err := readRows[variance.Ratio](job, variance.TwoStageFile)
	if err != nil {
		return err
	}
	var rows []planRow
	for _, setting := range s.settings() {
		known, err := setting.pair.Profile(job)
		if err != nil {
			return err
		}
		if known.VarianceSum() == 0 {
			continue
		}
		p, err := newPlan(designs, ratios, setting.pair, setting.budget)
		if err != nil {
			return err
		}
		rows = append(rows, p)
	}
	return writeRows(job, plansFile, plansSchema, rows)
}

// plan reads the setting's plan, nil where the profile is degenerate.
func (s *setting) plan(job *dag.Job) (*plan, error) {
	rows, err := readRows[planRow](job, plansFile)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Benchmark == s.pair.Benchmark && r.Model == s.pair.Model && int(r.Budget) == s.budget {
			return &plan{int(r.Pilots), int(r.Equivalent)}, nil
		}
	}
	return nil, nil
}

// planUnit keeps what the replay says of a setting by itself. Runs on servers
// are dear: they are made again when this changes, and not whenever some other
// number of the replay does.
func (s *setting) planUnit() dag.Unit {
	u := dag.Unit{
		ID:         "plan/" + s.id(),
		Needs:      []dag.Ref{plansRef},
		Outputs:    []string{s.planFile()},
		Provenance: "computed",
		Run: func(_ context.Context, job *dag.Job) error {
			p, err := s.plan(job)
			if err != nil {
				return err
			}
			return job.Write(s.planFile(), -1, func(w io.Writer) error { return json.NewEncoder(w).Encode(p) })
		},
	}
	s.pair.Feed(&u)
	return u
}

func (s *setting) planFile() string {
	return fmt.Sprintf("systems/plans/benchmark=%s/model=%s/budget=%d.json", s.pair.Benchmark, s.pair.Model, s.budget)
}

// newPlan looks up HBN's selected design and its variance ratio r on a profile
// (paper, Section 4.3, A5). It is an error if the replay does not cover the
// setting, or not with this design.
func newPlan(designs []variance.Design, ratios []variance.Ratio, p pair.Pair, budget int) (planRow, error) {
	d := slices.IndexFunc(designs, func(d variance.Design) bool {
		return d.Policy == policy.HBN.Name && d.Selected && int(d.NTasks) == p.N() && int(d.Budget) == budget
	})
	if d < 0 {
		return planRow{}, fmt.Errorf("%s has no selected design of HBN for %d tasks at budget %d; run the replay stage again", variance.DesignsFile, p.N(), budget)
	}
	r := slices.IndexFunc(ratios, func(r variance.Ratio) bool {
		return r.Policy == policy.HBN.Name && r.Benchmark == p.Benchmark && r.Model == p.Model && int(r.Budget) == budget
	})
	if r < 0 {
		return planRow{}, fmt.Errorf("%s does not cover %s at budget %d; run the replay stage again", variance.TwoStageFile, p.Name(), budget)
	}
	equivalent, err := variance.EquivalentBudget(int32(budget), ratios[r].VarianceRatio)
	if err == nil && equivalent < 1 {
		err = fmt.Errorf("a variance ratio of %v leaves Uniform no rollout", ratios[r].VarianceRatio)
	}
	if err != nil {
		return planRow{}, fmt.Errorf("%s: row %d, %s at budget %d: %w", variance.TwoStageFile, r+1, p.Name(), budget, err)
	}
	return planRow{p.Benchmark, p.Model, int32(budget), designs[d].M, designs[d].W, equivalent}, nil
}
