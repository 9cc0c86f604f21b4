package systems

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/variance"
	"speceval/method/controller"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// settingKey names a setting in rows of files.
type settingKey struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Budget    int32  `parquet:"budget"`
}

func (s *setting) key() settingKey {
	return settingKey{s.pair.Benchmark, s.pair.Model, int32(s.budget)}
}

// plan is the replay's plan for a policy in a setting: its design, and the budget at which
// Uniform would be as precise. A file of a setting's own has it as JSON.
type plan struct {
	Pilots     int32   `parquet:"pilots" json:"pilots"`                // m
	Weight     float64 `parquet:"weight" json:"-"`                     // w, for the estimates of runs
	Equivalent int32   `parquet:"equivalent_budget" json:"equivalent"` // ⌊b/r⌋
}

// hbnPlan is HBN's plan in a setting, as plansFile keeps it.
type hbnPlan struct {
	settingKey
	plan
}

// stagedPlan is the plan of a timed policy, as stagedPlansFile keeps it.
type stagedPlan struct {
	settingKey
	Policy string `parquet:"policy"`
	Donors string `parquet:"donors"`
	plan
}

const (
	plansFile         = "systems/plans.parquet"
	plansSchema       = "systems-plans/2"
	stagedPlansFile   = "systems/staged_plans.parquet"
	stagedPlansSchema = "systems-staged-plans/1"
)

var (
	plansRef       = dag.Ref{Stage: name, Unit: "plans"}
	stagedPlansRef = dag.Ref{Stage: name, Unit: "staged_plans"}
)

// plansUnit looks HBN's plans of all settings up in the replay's results: its selected design,
// and its variance ratio on the profile (paper, Section 4.3, A5).
func (s *Settings) plansUnit() dag.Unit {
	u := s.planning(plansRef.Unit, plansFile, "designs", "two_stage")
	u.Run = func(_ context.Context, job *dag.Job) error {
		designs, err := dag.ReadRows[variance.Design](job, variance.DesignsFile)
		if err != nil {
			return err
		}
		schedules := variance.NewSchedules(designs)
		return writePlans(job, s, variance.TwoStageFile, plansFile, plansSchema, func(t *setting, ratios []variance.Ratio) ([]hbnPlan, error) {
			d, err := schedules.Selected(policy.HBN.Key(), int32(t.pair.N()), int32(t.budget), nil)
			if err != nil {
				return nil, err
			}
			_, equivalent, err := t.worth(ratios, variance.TwoStageFile, policy.HBN)
			return []hbnPlan{{t.key(), plan{d.M, d.W, equivalent}}}, err
		})
	}
	return u
}

// stagedPlansUnit looks the plans of all timed policies up in the replay's results.
func (s *Settings) stagedPlansUnit() dag.Unit {
	u := s.planning(stagedPlansRef.Unit, stagedPlansFile, "ratios")
	u.Run = func(_ context.Context, job *dag.Job) error {
		return writePlans(job, s, variance.RatiosFile, stagedPlansFile, stagedPlansSchema, func(t *setting, ratios []variance.Ratio) (rows []stagedPlan, err error) {
			for _, p := range policy.Timed {
				if !s.Simulated.Knows(t.pair) {
					break
				}
				r, equivalent, err := t.worth(ratios, variance.RatiosFile, p)
				if err != nil {
					return nil, err
				}
				row := stagedPlan{t.key(), r.Policy, r.Donors, plan{*r.M, 0, equivalent}}
				if r.W != nil {
					row.Weight = *r.W
				}
				rows = append(rows, row)
			}
			return rows, nil
		})
	}
	return u
}

// planning is a unit that makes plans of all settings by units of the replay.
func (s *Settings) planning(id, file string, replays ...string) dag.Unit {
	u := s.gather(id, file)
	u.Config, u.Provenance = s.Slice("experiment.budgets"), "computed"
	for _, unit := range replays {
		u.Needs = append(u.Needs, dag.Ref{Stage: "replay", Unit: unit})
	}
	pair.Feed(&u, s.Pairs...)
	return u
}

// writePlans writes the plans of all settings by a file of ratios. There are none of a degenerate
// profile.
func writePlans[T any](job *dag.Job, s *Settings, from, to, schema string, of func(*setting, []variance.Ratio) ([]T, error)) error {
	ratios, err := dag.ReadRows[variance.Ratio](job, from)
	if err != nil {
		return err
	}
	var all []T
	for _, t := range s.settings() {
		known, err := t.pair.Profile(job)
		if err != nil {
			return err
		}
		if known.VarianceSum() == 0 {
			continue
		}
		rows, err := of(t, ratios)
		if err != nil {
			return err
		}
		all = append(all, rows...)
	}
	return dag.WriteRows(job, to, schema, all)
}

// worth finds a policy's ratio in the setting, and the budget at which Uniform would be
// as precise. It is an error if the replay does not cover it.
func (s *setting) worth(ratios []variance.Ratio, file string, p *policy.Policy) (r variance.Ratio, equivalent int32, err error) {
	at := slices.IndexFunc(ratios, func(r variance.Ratio) bool {
		return r.Key() == p.Key() && settingKey{r.Benchmark, r.Model, r.Budget} == s.key()
	})
	if at < 0 {
		return r, 0, fmt.Errorf("%s does not cover %s with %s at budget %d; run the replay stage again", file, s.pair.Name(), p.Key(), s.budget)
	}
	r = ratios[at]
	equivalent, err = variance.EquivalentBudget(r.Budget, r.VarianceRatio)
	switch {
	case err == nil && equivalent < 1:
		err = fmt.Errorf("a variance ratio of %v leaves Uniform no rollout", r.VarianceRatio)
	case err == nil && p.InStages != nil && (r.M == nil || r.W == nil && !p.InStages.LeaveOneOut):
		err = fmt.Errorf("%s has no design", p.Key())
	}
	if err != nil {
		err = fmt.Errorf("%s: row %d, %s at budget %d: %w", file, at+1, s.pair.Name(), s.budget, err)
	}
	return r, equivalent, err
}

// plan reads HBN's plan in the setting, nil where the profile is degenerate.
func (s *setting) plan(job *dag.Job) (*plan, error) {
	rows, err := dag.ReadRows[hbnPlan](job, plansFile)
	for _, r := range rows {
		if r.settingKey == s.key() {
			return &r.plan, nil
		}
	}
	return nil, err
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
	pair.Feed(&u, s.pair)
	return u
}

func (s *setting) planFile() string {
	return fmt.Sprintf("systems/plans/benchmark=%s/model=%s/budget=%d.json", s.pair.Benchmark, s.pair.Model, s.budget)
}

// readPlan reads what planUnit has kept.
func (s *setting) readPlan(job *dag.Job) (*plan, error) {
	path, err := job.Input(s.planFile())
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p *plan
	err = json.Unmarshal(text, &p)
	if err == nil && p != nil && (p.Pilots < 1 || int(p.Pilots) >= s.budget || p.Equivalent < 1) {
		err = fmt.Errorf("a pilot of %d and an equivalent budget of %d do not fit budget %d", p.Pilots, p.Equivalent, s.budget)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it has changed meanwhile: run again, and it is made again", path, err)
	}
	return p, nil
}

// Allocation is HBN's final allocation in a setting: the continuations of each
// task, in profile order, that follow from the coupled rewards of a pilot of m
// rollouts per task, N(b−m) in all. HBN-sync and HBN-async both end with it.
func Allocation(prior *neyman.Prior, rewards *coupled.Rewards, pilots, budget int) ([]int, error) {
	if pilots < 1 || pilots >= budget {
		return nil, fmt.Errorf("a pilot of %d rollouts per task does not fit a budget of %d: it needs at least 1, and every task at least 1 more", pilots, budget)
	}
	successes := rewards.Pilot(pilots)
	return controller.Allocate(prior.Pilot(pilots), prior.NewWork(), pilots, successes, len(successes)*(budget-pilots))
}
