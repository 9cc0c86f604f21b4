package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/policy/tsneyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// TSNeyman is the search for the best TS-Neyman (paper, Appendix C.3).
type TSNeyman struct {
	Exhaustive bool      // Draws trajectories of every candidate, in place of a race
	Alphas     []float64 // prior strengths, ascending
	WarmStarts []int     // first rollouts of every task, ascending
	Draws      int
	RaceDraws  int // trajectories of a candidate in the race, of 100 tasks at the largest budget
	FinalDraws int // further trajectories of a finalist, of the same
	Finalists  int // candidates that go on from the race, at each budget
}

// tsID is the unit that writes variance.SearchFile and the ratios of the
// selected candidates.
const (
	tsID         = "ts_neyman"
	tsRunners    = "ts_neyman/runners"
	tsFinalists  = "ts_neyman/finalists"
	tsRatiosFile = "replay/parts/ts_neyman/ratios.parquet"
)

// In a race, prior strengths with a ratio of at least apart run first: a few trajectories of each,
// under the first warm start, then others of the best at each budget, under all. A curve through
// them leads to the finalists.
const (
	apart       = 1.5
	scoutDraws  = 2
	strengths   = 5
	runnerFirst = 2 << 40 // trajectory
	finalFirst  = 1 << 40
)

// tsUnits are the units of the search for TS-Neyman. In a race, a unit for each prior strength
// of a coarse grid runs a few trajectories; another one runs others where it is near the
// best; then a unit for each prior strength of the fine grid runs its finalists. Exhaustively,
// a unit for each prior strength and profile runs all.
func (b *builder) tsUnits() []dag.Unit {
	ts := b.TSNeyman
	if ts.Exhaustive {
		var trials []dag.Unit
		for _, alpha := range ts.Alphas {
			for _, p := range b.pairs {
				id := fmt.Sprintf("ts_neyman/exhaustive/alpha=%g/%s", alpha, p.Name())
				trials = append(trials, b.tsTrial(id, []string{"replay.ts_neyman.draws"}, []pair.Pair{p}, tsTask{alpha: alpha, draws: ts.Draws, warm: ts.WarmStarts, equally: true}))
			}
		}
		return append(trials, b.tsSelectUnit(nil, trials))
	}
	var coarse []float64
	for k, alpha := range ts.Alphas {
		if k == 0 || k == len(ts.Alphas)-1 || alpha >= apart*coarse[len(coarse)-1] {
			coarse = append(coarse, alpha)
		}
	}
	if len(coarse) < 3 { // no curve leads through so few
		coarse = ts.Alphas
	}
	heat := func(name string, keys []string, alphas []float64, like tsTask) (trials []dag.Unit) {
		for _, alpha := range alphas {
			like.alpha = alpha
			trials = append(trials, b.tsTrial(fmt.Sprintf("ts_neyman/%s/alpha=%g", name, alpha), keys, b.pairs, like))
		}
		return trials
	}
	scouts := heat("scout", nil, coarse, tsTask{draws: scoutDraws, warm: ts.WarmStarts[:min(1, len(ts.WarmStarts))]})
	runners := b.tsPickUnit(tsRunners, nil, func(s tsSearch) []tsCandidateAt { return s.runners(ts.WarmStarts) }, scouts)
	race := heat("race", []string{"replay.ts_neyman.race_draws"}, coarse, tsTask{draws: ts.RaceDraws, first: runnerFirst, warm: ts.WarmStarts, picked: tsRunners, part: 0.6})
	finalists := b.tsPickUnit(tsFinalists, []string{"replay.ts_neyman.alphas", "replay.ts_neyman.finalists"}, func(s tsSearch) []tsCandidateAt {
		return s.finalists(ts.Alphas, ts.Finalists)
	}, scouts, race)
	candidates := len(ts.Alphas) * len(ts.WarmStarts)
	finals := heat("final", []string{"replay.ts_neyman.final_draws"}, ts.Alphas,
		tsTask{draws: ts.FinalDraws, first: finalFirst, warm: ts.WarmStarts, picked: tsFinalists, part: float64(min(candidates, ts.Finalists)) / float64(candidates)})
	return slices.Concat(scouts, []dag.Unit{runners}, race, []dag.Unit{finalists}, finals, []dag.Unit{b.tsSelectUnit(finals, scouts, race)})
}

// tsTask is the work of a trial on each of its profiles.
type tsTask struct {
	alpha   float64
	draws   int     // trajectories: of 100 tasks at the largest budget
	equally bool    // of as many tasks as there are at every budget, in place of that
	first   int     // trajectory
	warm    []int   // starts that run
	picked  string  // the unit that picks those that run, candidates at budgets; empty: all do
	part    float64 // that they are likely to be of all
}

// tsSpan is how many trajectories of a candidate are looked at, at a budget. At a
// smaller budget there are as many more: the error of its mean is as large, and
// so is the time.
type tsSpan struct{ budget, draws int }

// spans are the task's for a warm start and a profile, of budgets in rising order. Budgets below
// the warm start are left out. Of fewer than 100 tasks there are as many more trajectories, which
// take as long and have more noise.
func (t tsTask) spans(budgets []int, warm, tasks int) (spans []tsSpan) {
	for _, b := range budgets {
		draws := t.draws
		if !t.equally {
			draws = draws * max(100, tasks) / tasks * budgets[len(budgets)-1] / b
		}
		if b >= warm {
			spans = append(spans, tsSpan{b, draws})
		}
	}
	return spans
}

// tsTrial is the unit that runs the candidates of one prior strength on profiles, all on
// the same branch of the seed tree.
func (b *builder) tsTrial(id string, keys []string, pairs []pair.Pair, task tsTask) dag.Unit {
	u := b.unit(id, append([]string{keySeed, keyBudgets, "replay.ts_neyman.warm_starts"}, keys...))
	u.Cost = b.tsCost(pairs, task)
	if task.picked != "" {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: task.picked})
		u.Cost *= task.part
	}
	at := seed.Root(b.Seed).Child(name).Child("ts_neyman")
	u.Seed = at.Label()
	pair.Feed(&u, pairs...)
	u.Run = func(ctx context.Context, job *dag.Job) (err error) {
		var picked []tsCandidateAt
		if task.picked != "" {
			if picked, err = dag.ReadRows[tsCandidateAt](job, partFile(task.picked)); err != nil {
				return err
			}
		}
		candidate := tsCandidate{policy.TS.Sequential(task.alpha), tsneyman.NewStates(task.alpha)}
		var rows []tsRow
		for done, of := range pairs {
			for _, warm := range task.warm {
				spans := slices.DeleteFunc(task.spans(b.Budgets, warm, of.N()), func(s tsSpan) bool {
					return task.picked != "" && !slices.Contains(picked, tsCandidateAt{int32(s.budget), task.alpha, int32(warm)})
				})
				more, err := b.tsRows(ctx, job, of, candidate, task, warm, spans, at)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			job.Advance(dag.Progress{Done: done + 1, Total: len(pairs), What: "profiles"})
		}
		return dag.WriteRows(job, partFile(id), "ts_neyman.v2", rows)
	}
	return u
}

// tsRows runs a candidate on a profile, unless that is degenerate.
func (b *builder) tsRows(ctx context.Context, job *dag.Job, of pair.Pair, candidate tsCandidate, task tsTask, warm int, spans []tsSpan, at seed.Seed) ([]tsRow, error) {
	p, err := of.Profile(job)
	if err != nil || p.VarianceSum() == 0 || len(spans) == 0 {
		return nil, err
	}
	below := at.Child(p.Name())
	streams := tsStreams{
		below.Child("outcomes").Stream(),
		below.Child("choices").Child(fmt.Sprintf("alpha=%g", task.alpha)).Index(warm).Stream(),
	}
	all, err := candidate.errors(ctx, probabilities(p), warm, spans, task.first, streams)
	if err != nil {
		return nil, err
	}
	var rows []tsRow
	for k, span := range spans {
		like := tsRow{Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), tsCandidateAt: tsCandidateAt{int32(span.budget), task.alpha, int32(warm)}}
		rows = append(rows, batched(like, all[k], min(tsBatches, task.draws))...)
	}
	return rows, nil
}

// tsCost is the seconds of a trial: it has one step of TS-Neyman for each rollout in its
// trajectories, and a table of states for the control variate of each task at a budget.
func (b *builder) tsCost(pairs []pair.Pair, task tsTask) float64 {
	steps, states := 0.0, 0.0
	for _, p := range pairs {
		for _, warm := range task.warm {
			trajectories := 0
			spans := task.spans(b.Budgets, warm, p.N())
			for k := len(spans) - 1; k >= 0; k-- { // trajectories of a larger budget pass by the smaller
				steps += float64(p.N() * spans[k].budget * (spans[k].draws - trajectories))
				trajectories = spans[k].draws
				states += float64(p.N() * spans[k].budget * spans[k].budget)
			}
		}
	}
	return tsStepSeconds*steps + tsStateSeconds*states
}

// tsStreams are the sources of randomness of the trajectories on a profile. All
// candidates share the outcomes: rollout j of a task passes or not in a
// trajectory whatever led to it. Each makes choices of its own, so that a curve
// through many candidates averages over them.
type tsStreams struct{ outcomes, choices seed.Stream }

// tsErrors are the squared errors of trajectories at a budget, relative to the
// MSE of Uniform: as they are, and less a control variate.
type tsErrors struct{ raw, controlled []float64 }

// tsCandidate runs trajectories of one prior strength.
type tsCandidate struct {
	sampler *tsneyman.Sampler
	states  *tsneyman.States
}

// errors runs trajectories first, first + 1, … of one warm start on a profile, and
// returns their errors of each span, in rising order of budgets and, so, falling
// order of trajectories.
func (c tsCandidate) errors(ctx context.Context, probabilities []float64, warm int, spans []tsSpan, first int, streams tsStreams) ([]tsErrors, error) {
	tasks := len(probabilities)
	rollouts := make([][]int32, len(spans))
	for k, s := range spans {
		rollouts[k] = make([]int32, 0, s.draws*tasks)
	}
	outcomes := tsneyman.NewOutcomes(probabilities)
	begin := func(t int) { outcomes.Begin(streams.outcomes.At(uint64(first + t))) }
	for t := range spans[0].draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		begin(t)
		c.sampler.Begin(outcomes, warm, streams.choices.At(uint64(first+t)))
		for k, s := range spans {
			if t >= s.draws {
				break
			}
			c.sampler.Advance(tasks * s.budget)
			rollouts[k] = append(rollouts[k], c.sampler.Rollouts()...)
		}
	}
	all := make([]tsErrors, len(spans))
	for k, s := range spans {
		raw, controlled := c.states.Squares(tsneyman.Trajectories{
			P: probabilities, Warm: warm, Rollouts: rollouts[k], Begin: begin, Pass: outcomes.Pass,
		})
		uniform := total(variances(probabilities)) / float64(tasks*tasks*s.budget) // its mean squared error
		for t := range raw {
			raw[t] /= uniform
			controlled[t] /= uniform
		}
		all[k] = tsErrors{raw, controlled}
	}
	return all, nil
}

// tsBatches is how many batches the trajectories of a candidate on a profile are
// reported in, at most: the spread between them tells how sure a comparison of candidates
// is, which share their outcomes.
const tsBatches = 8

// tsRow is a row of a part of the search: what a batch of trajectories of a
// candidate says of its MSE on a profile, relative to Uniform's.
type tsRow struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	NTasks    int32  `parquet:"n_tasks"`
	tsCandidateAt
	Batch      int32   `parquet:"batch"`
	MSE        float64 `parquet:"mse"`         // with the control variate
	Squares    float64 `parquet:"squares"`     // mean of the squares of what mse is the mean of
	Raw        float64 `parquet:"raw"`         // the plain mean of squared errors
	RawSquares float64 `parquet:"raw_squares"` // of the same
	Draws      int32   `parquet:"draws"`
}

// batched puts the errors of trajectories into rows that are like one.
func batched(like tsRow, errors tsErrors, batches int) []tsRow {
	draws := len(errors.raw)
	var rows []tsRow
	for k := range batches {
		from, to := k*draws/batches, (k+1)*draws/batches
		row := like
		row.Batch, row.Draws = int32(k), int32(to-from)
		row.MSE, row.Squares = moments(errors.controlled[from:to])
		row.Raw, row.RawSquares = moments(errors.raw[from:to])
		rows = append(rows, row)
	}
	return rows
}

// moments are the means of numbers and of their squares.
func moments(xs []float64) (mean, squares float64) {
	for _, x := range xs {
		mean += x
		squares += x * x
	}
	n := float64(len(xs))
	return mean / n, squares / n
}

// tsCandidateAt names a candidate of a budget, as a finalist does.
type tsCandidateAt struct {
	Budget int32   `parquet:"budget"`
	Alpha  float64 `parquet:"alpha"`
	M0     int32   `parquet:"m0"`
}

func (a tsCandidateAt) compare(b tsCandidateAt) int {
	return cmp.Or(cmp.Compare(a.Budget, b.Budget), cmp.Compare(a.Alpha, b.Alpha), cmp.Compare(a.M0, b.M0))
}
