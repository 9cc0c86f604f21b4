package systems

import (
	"context"
	"fmt"
	"slices"

	"speceval/internal/fleet/virtual"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/method/controller"
	"speceval/method/informed"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// inStages is a policy in stages, ready to be executed.
type inStages struct {
	plan  staged.Plan
	prior controller.Prior
}

// stagedSeconds is what a repeat of a setting takes of one core, as measured in a run
// of the shipped experiment.
const stagedSeconds = 0.07

// stagedUnit executes the timed policies in the setting under a virtual clock, and
// Uniform at the budgets that their variances are worth.
func (s *setting) stagedUnit() dag.Unit {
	u := dag.Unit{
		ID:         stagedKind + "/" + s.id(),
		Config:     s.config("systems.repeats"),
		Seed:       s.seed().Label(),
		Sources:    []dag.Source{s.Simulated.Source},
		Needs:      []dag.Ref{stagedPlansRef},
		Outputs:    []string{s.runsFile(stagedKind)},
		Provenance: measurement.Simulated,
		Run:        s.timeStaged,
		Cost:       stagedSeconds * float64(s.stagedRepeats()),
	}
	s.feed(&u)
	for _, p := range pair.Siblings(s.Pairs, s.pair) {
		p.Feed(&u)
	}
	return u
}

// stagedRepeats is how often the timed policies are executed: half as often as those of
// the paper, since there are many of them.
func (s *setting) stagedRepeats() int { return (s.Simulated.Repeats + 1) / 2 }

// stagedRuns makes the executions of a setting.
type stagedRuns struct {
	*setting
	profile  profile.Profile
	digest   string
	siblings []profile.Profile
	known    map[*policy.Donors]controller.Prior // of donors that are the same in all repeats
	rows     []measurement.PolicyRun
}

// timeStaged is the unit.
func (s *setting) timeStaged(ctx context.Context, job *dag.Job) error {
	plans, err := s.stagedPlans(job)
	if err != nil {
		return err
	}
	r := stagedRuns{setting: s, known: map[*policy.Donors]controller.Prior{}}
	if r.profile, err = s.pair.Profile(job); err != nil {
		return err
	}
	r.digest = s.Releases.Digest(r.profile)
	for _, p := range pair.Siblings(s.Pairs, s.pair) {
		sibling, err := p.Profile(job)
		if err != nil {
			return err
		}
		r.siblings = append(r.siblings, sibling)
	}
	for repeat := range s.stagedRepeats() {
		if err := r.repeat(ctx, plans, repeat); err != nil {
			return fmt.Errorf("repeat %d: %w", repeat, err)
		}
	}
	return writeRows(job, s.runsFile(stagedKind), measurement.BenefitSchema, r.rows)
}

// repeat executes every policy once, and Uniform at all budgets that they are worth.
func (r *stagedRuns) repeat(ctx context.Context, plans []stagedPlan, repeat int) error {
	priors := map[*policy.Donors]controller.Prior{}
	var worth []int
	for _, p := range plans {
		of := policy.Timed.Find(policy.Key{Name: p.Policy, Donors: p.Donors})
		prior, err := r.prior(of.Donors, priors, repeat)
		if err != nil {
			return err
		}
		plan, err := of.InStages.Plan(r.profile.N(), r.budget, int(p.Pilots), p.Weight)
		if err != nil {
			return err
		}
		is := measurement.Of{Policy: p.Policy, Donors: p.Donors, Equivalent: p.Equivalent}
		if err := r.execute(ctx, is, policy.HBNAsync, &inStages{plan, prior}, repeat); err != nil {
			return fmt.Errorf("%s: %w", of.Key(), err)
		}
		worth = append(worth, int(p.Equivalent))
	}
	slices.Sort(worth)
	return r.uniforms(ctx, slices.Compact(worth), repeat)
}

// prior is what a policy with some donors knows in a repeat: where they are drawn, each
// repeat has its own.
func (r *stagedRuns) prior(donors *policy.Donors, own map[*policy.Donors]controller.Prior, repeat int) (controller.Prior, error) {
	if donors.Rollouts == 0 {
		own = r.known
	}
	if known := own[donors]; known != nil {
		return known, nil
	}
	sources := r.siblings
	switch {
	case donors == policy.None:
		sources = nil
	case !donors.Siblings:
		sources = []profile.Profile{r.profile}
	}
	random := r.seed().Index(r.budget).Child("donors").Child(donors.Name).Index(repeat).Stream()
	counts, err := donors.Count(r.profile, sources, &random)
	if err != nil {
		return nil, err
	}
	prior, err := informed.New(r.profile.N(), counts)
	if err != nil {
		return nil, err
	}
	own[donors] = controller.Informed(prior)
	return own[donors], nil
}

// execute makes one execution and keeps its row.
func (r *stagedRuns) execute(ctx context.Context, is measurement.Of, strategy *policy.Strategy, stages *inStages, repeat int) error {
	e := execution{
		setting: r.setting, plan: plan{Pilots: stages.plan.Pilots}, profile: r.profile, digest: r.digest,
		strategy: strategy, repeat: repeat, rewards: measurement.Coupled, inStages: stages,
		lengthsAt: r.seed().Index(r.budget).Child(is.Policy).Child(is.Donors).Child(strategy.Name).Index(repeat),
	}
	o, err := e.simulate(ctx)
	if err != nil {
		return err
	}
	r.rows = append(r.rows, measurement.PolicyRun{Of: is, Run: o.row(measurement.Simulated)})
	return nil
}

// uniforms executes Uniform at some budgets. Those with the same worker, which are all
// unless the router is as published, share their rollouts.
func (r *stagedRuns) uniforms(ctx context.Context, budgets []int, repeat int) error {
	lengths := r.seed().Index(r.budget).Child(stagedKind).Child(policy.UniformEquivalent.Name).Index(repeat)
	for len(budgets) > 0 {
		worker, err := r.Simulated.Worker(r.profile, budgets[0], lengths)
		if err != nil {
			return err
		}
		var alike, others []int
		for _, b := range budgets {
			w, err := r.Simulated.Worker(r.profile, b, lengths)
			if err != nil {
				return err
			}
			if w.Handling == worker.Handling {
				alike = append(alike, b)
			} else {
				others = append(others, b)
			}
		}
		runs, err := virtual.Uniform(ctx, worker, r.profile.N(), alike)
		if err != nil {
			return err
		}
		for k, run := range runs {
			r.rows = append(r.rows, r.uniformRow(alike[k], repeat, run))
		}
		budgets = others
	}
	return nil
}

// uniformRow is an execution of Uniform as a row: what it took, and no more.
func (r *stagedRuns) uniformRow(budget, repeat int, run virtual.UniformRun) measurement.PolicyRun {
	n := r.profile.N()
	return measurement.PolicyRun{
		Of: measurement.Of{Policy: policy.Uniform.Name, Donors: policy.Uniform.Donors.Name, Equivalent: int32(budget)},
		Run: measurement.Run{
			Benchmark: r.profile.Benchmark, Model: r.profile.Model, NTasks: int32(n), ReferenceBudget: int32(r.budget), Budget: int32(budget),
			Strategy: policy.UniformEquivalent.Name, Provenance: measurement.Simulated, Rewards: measurement.Coupled, Repeat: int32(repeat),
			Time: run.Time.Seconds(), Accepted: int32(n * budget),
			UsefulTokens: run.Tokens.Sequence, UsefulCompletion: run.Tokens.Completion, UsefulPairs: run.Tokens.Pairs,
		},
	}
}

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
