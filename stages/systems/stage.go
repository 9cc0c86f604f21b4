// Package systems is the stage that executes Uniform, HBN-sync and HBN-async
// and measures their time, compute and waste: under coupled rewards (paper,
// Section 4.3 and appendix on system execution), and under those that scorers
// give, by which what a run estimates can be held against the replay.
package systems

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"speceval/internal/coupled"
	"speceval/internal/flops"
	"speceval/internal/policy"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
	"speceval/method/controller"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// Name and version of the stage.
const (
	name    = "systems"
	about   = "timed runs of Uniform, HBN-sync and HBN-async"
	version = 4
)

// Settings are what the stage needs to know.
type Settings struct {
	Seed            uint64 // of the experiment, and of coupled rewards
	Budgets         []int
	QuadratureOrder int
	Pairs           []pair.Pair
	Releases        coupled.Releases
	ReleasesSource  dag.Source // of Releases
	Architectures   []flops.Architecture

	// AsPublished lets the router work as in the published runs, where the paper
	// asks for more: see controller.Settings.Late and router.Settings.Sparse.
	AsPublished bool
	// Sampling is how rollouts of a model are generated, for identities.
	Sampling func(model string) map[string]string

	Simulated *Simulated // nil: no simulated runs
	Measured  *Measured  // nil: no measured runs

	// Slice gives the canonical text of keys of the configuration, by key.
	Slice func(keys ...string) map[string]string
}

// Kinds of units and of the folders of their files.
const (
	simulatedKind = "simulated" // under the virtual clock
	stagedKind    = "stages"    // there, of policies in stages
	measuredKind  = "measured"  // on servers
	scoredKind    = "scored"    // on servers, under real rewards
)

// commonKeys are keys of the configuration that all executions depend on.
var commonKeys = []string{
	"experiment.seed", "replay.quadrature_order", "systems.replicas", "systems.window", "systems.protocol",
}

// Satisfied is the stage where nothing can be run; why says so.
func Satisfied(why string) dag.Stage {
	return dag.Stage{Name: name, About: about, Version: version, Satisfied: why}
}

// Stage is the stage with a unit for every setting, a pair at a budget,
// under the virtual clock and on servers, and one that gathers measurements.
func Stage(s Settings) (dag.Stage, error) {
	stage := dag.Stage{Name: name, About: about, Version: version}
	if err := s.check(); err != nil {
		return stage, err
	}
	stage.Units = append(stage.Units, s.gathers(s.plansUnit()))
	var g gathering
	for _, setting := range s.settings() {
		if s.simulates(setting.pair) {
			stage.Units = append(stage.Units, setting.simulatedUnit(), setting.stagedUnit())
			g.simulated = append(g.simulated, setting)
		}
	}
	if s.Measured != nil {
		for _, setting := range s.byModel() {
			stage.Units = append(stage.Units, setting.planUnit(), setting.measuredUnit())
			g.measured = append(g.measured, setting)
			if setting.scoredRepeats() > 0 {
				stage.Units = append(stage.Units, setting.scoredUnit())
				g.scored = append(g.scored, setting)
			}
		}
	}
	if len(g.simulated) > 0 {
		stage.Units = append(stage.Units, s.gathers(s.stagedPlansUnit()), s.gathers(g.benefitUnit()))
	}
	stage.Units = append(stage.Units, s.gathers(g.unit()), s.gathers(g.runsUnit()))
	if len(g.measured) > 0 {
		stage.Units = append(stage.Units, predicting{&s, g.measured}.unit())
	}
	return stage, nil
}

// gatherSeconds is what reading a setting takes of one core, as simulatedSeconds.
const gatherSeconds = 0.003

// gathers states what a unit costs that reads all settings.
func (s *Settings) gathers(u dag.Unit) dag.Unit {
	u.Cost = gatherSeconds * float64(len(s.Pairs)*len(s.Budgets))
	return u
}

// simulates reports whether a pair has simulated runs.
func (s *Settings) simulates(p pair.Pair) bool {
	return s.Simulated != nil && s.Simulated.Knows(p)
}

// check says what is wrong with the settings, if anything.
func (s *Settings) check() error {
	var faults []error
	for _, p := range s.Pairs {
		if _, err := s.architecture(p.Model); err != nil && (s.Measured != nil || s.simulates(p)) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// settings are the pairs at each budget, in canonical order.
func (s *Settings) settings() []*setting {
	var all []*setting
	for _, p := range s.Pairs {
		for _, b := range s.Budgets {
			all = append(all, &setting{Settings: s, pair: p, budget: b})
		}
	}
	return all
}

// byModel are the settings of one model after the other, so that servers
// change models as seldom as can be.
func (s *Settings) byModel() []*setting {
	var models []string
	for _, p := range s.Pairs {
		if !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	all := s.settings()
	slices.SortStableFunc(all, func(a, b *setting) int {
		return slices.Index(models, a.pair.Model) - slices.Index(models, b.pair.Model)
	})
	return all
}

func (s *Settings) architecture(model string) (flops.Architecture, error) {
	i := slices.IndexFunc(s.Architectures, func(a flops.Architecture) bool { return a.Model == model })
	if i < 0 {
		return flops.Architecture{}, fmt.Errorf("the FLOP proxy has no coefficients for model %s: give its [[model]] theta_core, theta_head, full_attention_layers and attention_width", model)
	}
	return s.Architectures[i], nil
}

// config is the part of the configuration that a unit of the setting reads: the
// keys given, and how rollouts are generated, which their identities name.
func (s *setting) config(keys ...string) map[string]string {
	c := s.Slice(append(keys, commonKeys...)...)
	for key, value := range s.Sampling(s.pair.Model) {
		c[key] = value
	}
	return c
}

// budgetIndex is the place of the setting's budget among all.
func (s *setting) budgetIndex() int { return slices.Index(s.Budgets, s.budget) }

// id is the setting in a unit's name.
func (s *setting) id() string { return fmt.Sprintf("%s/budget=%d", s.pair.Name(), s.budget) }

// runsFile holds the setting's executions of a kind, a measurement.Run each, and
// requestsFile their requests.
func (s *setting) runsFile(kind string) string { return s.file("runs", kind) }

func (s *setting) requestsFile(kind string) string { return s.file("requests", kind) }

func (s *setting) file(what, kind string) string {
	return fmt.Sprintf("systems/%s/%s/benchmark=%s/model=%s/budget=%d.parquet", what, kind, s.pair.Benchmark, s.pair.Model, s.budget)
}

// feed makes the profile, and what coupled rewards follow from, inputs of a
// unit.
func (s *setting) feed(u *dag.Unit) {
	s.pair.Feed(u)
	u.Sources = append(u.Sources, s.ReleasesSource)
}

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

// writeRows writes an output of rows.
func writeRows[T any](job *dag.Job, output, schema string, rows []T) error {
	return job.Write(output, len(rows), func(w io.Writer) error {
		return rowfile.Write(w, rows, job.Footer(schema))
	})
}

// readRows reads the rows of an input.
func readRows[T any](job *dag.Job, input string) ([]T, error) {
	path, err := job.Input(input)
	if err != nil {
		return nil, err
	}
	rows, _, err := rowfile.ReadFile[T](path)
	return rows, err
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

// Schedule is the pilot size m of HBN's ex-ante design for a number of tasks
// and a budget; the error says that there is none.
type Schedule func(tasks, budget int) (pilots int, err error)

// Computed is the schedule of the designs that the replay stage has selected.
// It is an error if they select two pilot sizes for the same.
func Computed(designs []variance.Design) (Schedule, error) {
	type shape struct{ tasks, budget int }
	selected := map[shape]int{}
	for _, d := range designs {
		if d.Policy != policy.HBN.Name || !d.Selected {
			continue
		}
		at := shape{int(d.NTasks), int(d.Budget)}
		if m, twice := selected[at]; twice {
			return nil, fmt.Errorf("two designs are selected for %d tasks at budget %d, m = %d and m = %d: run `speceval run replay --force`", at.tasks, at.budget, m, d.M)
		}
		selected[at] = int(d.M)
	}
	return func(tasks, budget int) (int, error) {
		m, ok := selected[shape{tasks, budget}]
		if !ok {
			return 0, fmt.Errorf("no design for %d tasks at budget %d: run `speceval run replay` first", tasks, budget)
		}
		return m, nil
	}, nil
}
