package replay

import (
	"cmp"
	"context"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/internal/store/profile"
	"speceval/method/design"
	"speceval/method/informed"
	"speceval/method/staged"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

const (
	suiteID     = "suite"
	suiteSchema = "suite.v1"

	// An evaluation of a suite averages over hundreds of tasks: few draws leave its variance
	// good to a tenth of a percentage point. Designs have the precision of evaluate's.
	suiteFraction   = 256
	suitePanels     = 4
	suiteReplicates = 2
)

// suiteUnits are a unit for each donors and each model with several benchmarks, and one that
// gathers their rows; none where no model has several.
func (b *builder) suiteUnits() []dag.Unit {
	suites := group.By(b.pairs, func(p pair.Pair) string { return p.Model })
	suites = slices.DeleteFunc(suites, func(pairs []pair.Pair) bool { return len(pairs) < 2 })
	slices.SortFunc(suites, func(a, b []pair.Pair) int { return cmp.Compare(a[0].Model, b[0].Model) })
	var units []dag.Unit
	for _, known := range []*policy.Donors{policy.None, policy.Siblings} {
		for _, pairs := range suites {
			units = append(units, b.suiteUnit(known, pairs))
		}
	}
	if len(units) == 0 {
		return nil
	}
	all := b.gather(suiteID, nil, []string{variance.SuiteFile}, units...)
	all.Run = func(_ context.Context, job *dag.Job) error {
		rows, err := dag.ReadRows[variance.Suite](job, outputs(0, units...)...)
		if err != nil {
			return err
		}
		return dag.WriteRows(job, variance.SuiteFile, suiteSchema, rows)
	}
	return append(units, all)
}

// suiteUnit evaluates all benchmarks of a model under one budget. A suite has two benchmarks
// with variance at least, or no rows.
func (b *builder) suiteUnit(known *policy.Donors, pairs []pair.Pair) dag.Unit {
	u := b.unit(suiteID+"/"+known.Name+"/"+pairs[0].Model, []string{keySeed, keyBudgets, keyDraws})
	at := b.branch(u.ID)
	u.Seed = at.Label()
	for _, of := range pairs {
		pair.Feed(&u, of)
		u.Cost += suiteSeconds * float64(of.N()*b.Draws) * b.stagesWork()
		if known.Siblings {
			pair.Feed(&u, pair.Siblings(b.pairs, of)...)
		}
	}
	u.Run = func(ctx context.Context, job *dag.Job) error {
		s := suiteReplay{known: known, at: at}
		for _, of := range pairs {
			p, err := of.Profile(job)
			if err != nil {
				return err
			}
			if p.VarianceSum() == 0 {
				continue
			}
			sources, err := b.sources(job, of, known)
			if err != nil {
				return err
			}
			prior, err := known.Prior(p, sources, nil)
			if err != nil {
				return err
			}
			s.profiles, s.priors, s.ps = append(s.profiles, p), append(s.priors, prior), append(s.ps, probabilities(p)...)
		}
		if len(s.profiles) > 1 {
			for _, budget := range b.Budgets {
				if err := s.replay(ctx, b, budget); err != nil {
					return err
				}
			}
		}
		return dag.WriteRows(job, u.Outputs[0], suiteSchema, s.rows)
	}
	return u
}

// suiteReplay replays the suite of a model's benchmarks.
type suiteReplay struct {
	profiles []profile.Profile
	priors   informed.Suite
	ps       []float64 // of all tasks
	known    *policy.Donors
	at       seed.Seed
	rows     []variance.Suite
}

// suitePart is the ratio and the rollouts per task of a benchmark.
type suitePart struct{ ratio, rollouts sample }

// suiteRun is the replay of a plan.
type suiteRun struct {
	way    string
	stages *staged.Stages
	trial  *pilot.Trial
	parts  []suitePart
	whole  sample // ratios
}

// replay appends the rows of a budget. The plans with floors and without have one design and
// the same draws.
func (s *suiteReplay) replay(ctx context.Context, b *builder, budget int) error {
	if s.known == policy.None {
		s.equally(budget)
	}
	settings := design.StagesSettings{
		Prior: s.priors, Budget: budget, Stages: 1 + policy.InStagesKnowing(s.known).InStages.After,
		Seed: b.Seed, Panels: max(1, suitePanels*b.Draws/paperDraws), Replicates: suiteReplicates,
	}
	var floors []staged.Cell
	for _, p := range s.profiles {
		settings.TaskShares = append(settings.TaskShares, slices.Repeat([]float64{1 / float64(p.N()*len(s.profiles))}, p.N())...)
		floors = append(floors, staged.Cell{Tasks: p.N(), Least: policy.FloorOf(p.N(), policy.SuiteFloor*float64(budget))})
	}
	d, err := design.ComputeInStages(ctx, settings)
	if err != nil {
		return err
	}
	var runs []*suiteRun
	posteriors := s.priors.Posteriors()
	for _, way := range []string{variance.OneBudget, variance.OneBudgetFloor} {
		plan := d.Plan
		if way == variance.OneBudgetFloor {
			plan.Cells = floors
		}
		stages, err := staged.New(len(s.ps), budget, plan)
		if err != nil {
			return err
		}
		runs = append(runs, &suiteRun{way: way, stages: stages, trial: pilot.NewTrial(stages, posteriors...), parts: make([]suitePart, len(s.profiles))})
	}
	draws := max(2, b.Draws/suiteFraction)
	for draw := range draws {
		for _, r := range runs {
			random := s.at.Child("draws").Stream().At(uint64(draw))
			if _, err := r.trial.Run(s.ps, pilot.Independent(&random)); err != nil {
				return err
			}
			r.whole.addDraw(s.addEvaluation(r.parts, r.stages.Shrinkage(), r.trial.Rollouts(), budget))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	m := int32(d.Plan.Pilots)
	for _, r := range runs {
		s.store(r.parts, variance.Suite{
			Budget: int32(budget), Policy: r.way, M: &m, W: &d.Plan.Weight,
			SuiteRatio: r.whole.mean(), SuiteRatioSE: r.whole.se(), Draws: int32(draws),
		})
	}
	return nil
}

// addEvaluation adds an evaluation to the parts, by Σ c²/n and the rollouts of each task, and returns
// the ratio of the whole.
func (s *suiteReplay) addEvaluation(parts []suitePart, shrinkage []float64, rollouts []int, budget int) float64 {
	own, all, task := 0.0, 0.0, 0
	for k, p := range s.profiles {
		sum, n := 0.0, 0
		for range p.N() {
			sum += s.ps[task] * (1 - s.ps[task]) * shrinkage[task]
			n += rollouts[task]
			task++
		}
		ratio := float64(budget) * sum / p.VarianceSum()
		parts[k].ratio.addDraw(ratio)
		parts[k].rollouts.addDraw(float64(n) / float64(p.N()))
		uniform := uniformVariance(p, budget)
		own, all = own+ratio*uniform, all+uniform
	}
	return own / all
}

// uniformVariance is the variance of a benchmark's mean with as many rollouts of each task.
func uniformVariance(p profile.Profile, rollouts int) float64 {
	return p.VarianceSum() / float64(p.N()*p.N()*rollouts)
}

// equally appends the rows of the two ways that decide nothing. Equal benchmarks have q
// rollouts a task, which is no whole number: as many as that is between have one more, at
// random, so that the mean of 1/n over tasks and chance is between 1/⌊q⌋ and 1/⌈q⌉. Where q is
// below 1 some task would have none, and there are no rows.
func (s *suiteReplay) equally(budget int) {
	for _, way := range []string{variance.UniformTasks, variance.UniformBenchmarks} {
		parts, own, uniform := make([]suitePart, len(s.profiles)), 0.0, 0.0
		for k, p := range s.profiles {
			q := float64(budget)
			if way == variance.UniformBenchmarks {
				q = float64(len(s.ps)*budget) / float64(len(s.profiles)*p.N())
			}
			if q < 1 {
				return
			}
			low := math.Floor(q)
			ratio := float64(budget) * ((1-(q-low))/low + (q-low)/(low+1))
			parts[k].ratio.addDraw(ratio)
			parts[k].rollouts.addDraw(q)
			own, uniform = own+ratio*uniformVariance(p, budget), uniform+uniformVariance(p, budget)
		}
		s.store(parts, variance.Suite{Budget: int32(budget), Policy: way, SuiteRatio: own / uniform})
	}
}

// store appends the rows of the parts, which are like a row in what they have in common.
func (s *suiteReplay) store(parts []suitePart, like variance.Suite) {
	for k, p := range s.profiles {
		row := like
		row.Benchmark, row.Model, row.NTasks, row.Donors = p.Benchmark, p.Model, int32(p.N()), s.known.Name
		row.Rollouts, row.UniformVariance, row.VarianceRatio = parts[k].rollouts.mean(), uniformVariance(p, int(like.Budget)), parts[k].ratio.mean()
		if like.Draws > 0 {
			row.RatioSE = parts[k].ratio.se()
		}
		s.rows = append(s.rows, row)
	}
}
