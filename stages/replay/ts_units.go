package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/seed"
	"speceval/internal/tsneyman"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// TSNeyman is the search for the best TS-Neyman (paper, Appendix C.3).
type TSNeyman struct {
	Exhaustive bool      // Draws trajectories of every candidate, in place of a race
	Alphas     []float64 // prior strengths, ascending
	WarmStarts []int     // first rollouts of every task, ascending
	Draws      int
	RaceDraws  int // trajectories of every candidate in the race, of 100 tasks at the largest budget
	FinalDraws int // further trajectories of a finalist, of the same
	Finalists  int // candidates that go on from the race, at each budget
}

// tsRef is the unit that writes variance.SearchFile and the ratios of the
// selected candidates.
var tsRef = dag.Ref{Stage: name, Unit: "ts_neyman"}

const (
	tsFinalists  = "ts_neyman/finalists"
	tsRatiosFile = "replay/parts/ts_neyman/ratios.parquet"
)

// Keys of the configuration that the search reads.
const (
	keyTSSearch     = "replay.ts_neyman.search"
	keyTSAlphas     = "replay.ts_neyman.alphas"
	keyTSWarmStarts = "replay.ts_neyman.warm_starts"
	keyTSDraws      = "replay.ts_neyman.draws"
	keyTSRace       = "replay.ts_neyman.race_draws"
	keyTSFinal      = "replay.ts_neyman.final_draws"
	keyTSFinalists  = "replay.ts_neyman.finalists"
)

// tsUnits are those of the search for TS-Neyman: a race of all candidates, a unit
// for each prior strength, and a unit for each candidate that may come out of
// it; or, exhaustively, a unit for each prior strength and profile.
func (b *builder) tsUnits() []dag.Unit {
	var trials, more []dag.Unit
	ts := b.TSNeyman
	switch {
	case ts.Exhaustive:
		for _, alpha := range ts.Alphas {
			for _, p := range b.pairs {
				id := fmt.Sprintf("ts_neyman/exhaustive/alpha=%g/%s", alpha, p.Name())
				config := b.Slice(keySeed, keyBudgets, keyTSWarmStarts, keyTSDraws)
				trials = append(trials, b.tsTrial(id, config, []pair.Pair{p}, tsTask{alpha, ts.WarmStarts, 0, b.equally(ts.Draws)}))
			}
		}
	default:
		for _, alpha := range ts.Alphas {
			id := fmt.Sprintf("ts_neyman/race/alpha=%g", alpha)
			config := b.Slice(keySeed, keyBudgets, keyTSWarmStarts, keyTSRace)
			trials = append(trials, b.tsTrial(id, config, b.pairs, tsTask{alpha, ts.WarmStarts, 0, b.inTime(ts.RaceDraws)}))
		}
		more = append(more, b.tsFinalistsUnit(trials))
		for _, alpha := range ts.Alphas {
			for _, warm := range ts.WarmStarts {
				more = append(more, b.tsFinalUnit(alpha, warm))
			}
		}
	}
	selection := b.tsSelectUnit(trials, more)
	return append(append(trials, more...), selection)
}

// tsTask is what a trial runs on each of its profiles.
type tsTask struct {
	alpha      float64
	warmStarts []int
	first      int                            // trajectory
	spans      func(warm, tasks int) []tsSpan // of a warm start and a profile, none if it has none
}

// equally has a number of trajectories at every budget.
func (b *builder) equally(draws int) func(_, _ int) []tsSpan {
	return func(warm, _ int) []tsSpan {
		var spans []tsSpan
		for _, budget := range feasible(b.Budgets, warm) {
			spans = append(spans, tsSpan{budget, draws})
		}
		return spans
	}
}

// inTime has a number of trajectories of 100 tasks at the largest budget. At smaller
// ones and of fewer tasks there are as many more, which take as long and have more noise.
func (b *builder) inTime(draws int) func(_, _ int) []tsSpan {
	return func(warm, tasks int) []tsSpan { return tsSpans(b.Budgets, warm, draws*max(100, tasks)/tasks) }
}

// tsTrial is the unit that runs candidates of one prior strength on profiles.
func (b *builder) tsTrial(id string, config map[string]string, pairs []pair.Pair, task tsTask) dag.Unit {
	u := b.unit(id, config)
	u.Cost = b.tsCost(pairs, task)
	at := b.tsSeed(&u)
	for _, p := range pairs {
		p.Feed(&u)
	}
	u.Run = func(ctx context.Context, job *dag.Job) error {
		rows, err := b.tsRows(ctx, job, pairs, task, at)
		if err != nil {
			return err
		}
		return writeRows(job, partFile(id), "ts_neyman.v2", rows)
	}
	return u
}

// afterRace is the first trajectory of finalists: beyond all that a race can have.
const afterRace = 1 << 40

// tsFinalUnit is the unit of a candidate's further trajectories. It has no rows if
// the candidate is no finalist.
func (b *builder) tsFinalUnit(alpha float64, warm int) dag.Unit {
	id := fmt.Sprintf("ts_neyman/final/alpha=%g/m0=%d", alpha, warm)
	u := b.unit(id, b.Slice(keySeed, keyBudgets, keyTSFinal))
	all := b.inTime(b.TSNeyman.FinalDraws)
	task := tsTask{alpha, []int{warm}, afterRace, all}
	u.Cost = b.finalCost(task)
	u.Needs = []dag.Ref{{Stage: name, Unit: tsFinalists}}
	at := b.tsSeed(&u)
	for _, p := range b.pairs {
		p.Feed(&u)
	}
	u.Run = func(ctx context.Context, job *dag.Job) error {
		finalists, err := readRows[tsCandidateAt](job, partFile(tsFinalists))
		if err != nil {
			return err
		}
		task.spans = func(warm, tasks int) []tsSpan {
			return slices.DeleteFunc(all(warm, tasks), func(s tsSpan) bool {
				return !slices.Contains(finalists, tsCandidateAt{int32(s.budget), alpha, int32(warm)})
			})
		}
		rows, err := b.tsRows(ctx, job, b.pairs, task, at)
		if err != nil {
			return err
		}
		return writeRows(job, partFile(id), "ts_neyman.v2", rows)
	}
	return u
}

// tsSeed gives a unit the branch of the seed tree that all candidates share.
func (b *builder) tsSeed(u *dag.Unit) seed.Seed {
	at := seed.Root(b.Seed).Child(name).Child("ts_neyman")
	u.Seed = at.Label()
	return at
}

// tsRows runs a task on profiles, leaving out degenerate ones.
func (b *builder) tsRows(ctx context.Context, job *dag.Job, pairs []pair.Pair, task tsTask, at seed.Seed) ([]tsRow, error) {
	candidate := tsCandidate{policy.TS.Sequential(task.alpha), tsneyman.NewStates(task.alpha)}
	var rows []tsRow
	for done, of := range pairs {
		p, err := of.Profile(job)
		if err != nil {
			return nil, err
		}
		if p.VarianceSum() == 0 {
			continue
		}
		ps, below := probabilities(p), at.Child(p.Name())
		outcomes := below.Child("outcomes").Stream()
		for _, warm := range task.warmStarts {
			own := below.Child("choices").Child(fmt.Sprintf("alpha=%g", task.alpha)).Index(warm)
			streams := tsStreams{outcomes, own.Stream()}
			spans := task.spans(warm, p.N())
			if len(spans) == 0 {
				continue
			}
			all, err := candidate.errors(ctx, ps, warm, spans, task.first, streams)
			if err != nil {
				return nil, err
			}
			for k, span := range spans {
				rows = append(rows, batched(tsRow{
					Benchmark: p.Benchmark, Model: p.Model, NTasks: int32(p.N()), Budget: int32(span.budget),
					Alpha: task.alpha, M0: int32(warm),
				}, all[k])...)
			}
		}
		job.Advance(dag.Progress{Done: done + 1, Total: len(pairs), What: "profiles"})
	}
	return rows, nil
}

// feasible is the budgets that are not below a warm start.
func feasible(budgets []int, warm int) []int {
	var out []int
	for _, b := range budgets {
		if b >= warm {
			out = append(out, b)
		}
	}
	return out
}

// tsFinalistsUnit is the unit that picks who goes on from the race.
func (b *builder) tsFinalistsUnit(race []dag.Unit) dag.Unit {
	u := b.unit(tsFinalists, b.Slice(keyTSAlphas, keyTSFinalists))
	for _, trial := range race {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: trial.ID})
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		raced, err := tsGather(job, race)
		if err != nil {
			return err
		}
		return writeRows(job, partFile(tsFinalists), "ts_finalists.v2", newSearch(raced).finalists(b.TSNeyman.Finalists))
	}
	return u
}

// tsSelectUnit is the unit that sums up the search: the mean of every candidate
// and the one that is best at each budget. Finalists are judged by their further
// trajectories alone, so that luck in the race does not count twice.
func (b *builder) tsSelectUnit(trials, more []dag.Unit) dag.Unit {
	u := dag.Unit{
		ID: tsRef.Unit, Config: b.Slice(keyTSSearch, keyTSAlphas), Provenance: "computed",
		Outputs: []string{variance.SearchFile, tsRatiosFile},
	}
	var finals []dag.Unit
	for _, unit := range append(trials[:len(trials):len(trials)], more...) {
		u.Needs = append(u.Needs, dag.Ref{Stage: name, Unit: unit.ID})
	}
	for _, unit := range more {
		if unit.ID != tsFinalists {
			finals = append(finals, unit)
		}
	}
	u.Run = func(_ context.Context, job *dag.Job) error {
		first, err := tsGather(job, trials)
		if err != nil {
			return err
		}
		last, using := first, each
		if len(finals) > 0 {
			if last, err = tsGather(job, finals); err != nil {
				return err
			}
			using = smooth
		}
		search, ratios := selectTS(newSearch(first), newSearch(last), using)
		if err := writeRows(job, variance.SearchFile, "ts_search.v2", search); err != nil {
			return err
		}
		return writeRows(job, tsRatiosFile, "ratios.v2", ratios)
	}
	return u
}

// tsGather reads the rows of all trials.
func tsGather(job *dag.Job, trials []dag.Unit) ([]tsRow, error) {
	var all []tsRow
	for _, trial := range trials {
		rows, err := readRows[tsRow](job, partFile(trial.ID))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// tsSearch is what the trajectories of all candidates say.
type tsSearch struct {
	profiles map[tsCandidateAt][]tsProfile
	order    []tsCandidateAt
}

func newSearch(rows []tsRow) tsSearch {
	s := tsSearch{profiles: tsProfiles(rows)}
	s.order = slices.SortedFunc(maps.Keys(s.profiles), tsCandidateAt.compare)
	return s
}

// atBudgets splits the candidates by budget.
func (s tsSearch) atBudgets() [][]tsCandidateAt {
	var groups [][]tsCandidateAt
	for _, c := range s.order {
		if n := len(groups); n == 0 || groups[n-1][0].Budget != c.Budget {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
	}
	return groups
}

// finalists are the best candidates of every budget, so many of each.
func (s tsSearch) finalists(each int) []tsCandidateAt {
	var all []tsCandidateAt
	for _, group := range s.atBudgets() {
		best := s.rank(group, smooth).best(each)
		slices.SortFunc(best, tsCandidateAt.compare)
		all = append(all, best...)
	}
	return all
}

// found is what is known of a candidate.
func (s tsSearch) found(c tsCandidateAt) variance.Search {
	profiles := s.profiles[c]
	mse := tsMean(profiles, func(p tsProfile) tsError { return p.mse })
	raw := tsMean(profiles, func(p tsProfile) tsError { return p.raw })
	return variance.Search{
		Budget: c.Budget, Alpha: c.Alpha, M0: c.M0,
		MSE: mse.value, MSESE: mse.se, Raw: raw.value, RawSE: raw.se, RawSD: spread(profiles), Draws: fewest(profiles),
	}
}

// fewest is the least number of trajectories that there are of a profile.
func fewest(profiles []tsProfile) int32 {
	least := profiles[0].draws
	for _, p := range profiles {
		least = min(least, p.draws)
	}
	return least
}

// spread is the standard deviation of the mean of a single trajectory of each profile,
// without the control variate.
func spread(profiles []tsProfile) float64 {
	squares := 0.0
	for _, p := range profiles {
		squares += float64(p.draws) * p.raw.se * p.raw.se
	}
	return math.Sqrt(squares) / float64(len(profiles))
}

// selectTS sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. By how much the others are worse is of the first trajectories,
// which all of them have. A tie goes to the smaller prior strength and warm start.
func selectTS(first, last tsSearch, using smoothing) (search []variance.Search, ratios []variance.Ratio) {
	for _, group := range first.atBudgets() {
		var rows []variance.Search
		selected := -1
		for k, c := range group {
			row := first.found(c)
			if last.profiles[c] != nil {
				row = last.found(c)
				row.Finalist = true
				if selected < 0 || row.MSE < rows[selected].MSE {
					selected = k
				}
			}
			rows = append(rows, row)
		}
		rows[selected].Selected = true
		ranking := first.rank(group, using)
		for k := range rows {
			excess := ranking.excess(k, selected)
			rows[k].Excess, rows[k].ExcessSE = excess.value, excess.se
		}
		search = append(search, rows...)
		ratios = append(ratios, last.ratios(group[selected])...)
	}
	return search, ratios
}

// ratios are those of a candidate on the profiles.
func (s tsSearch) ratios(c tsCandidateAt) (ratios []variance.Ratio) {
	for _, p := range s.profiles[c] {
		ratios = append(ratios, variance.Ratio{
			Benchmark: p.benchmark, Model: p.model, NTasks: p.tasks, Budget: c.Budget,
			Policy: policy.TS.Name, Donors: policy.TS.Donors.Name, Alpha: &c.Alpha, M: &c.M0,
			VarianceRatio: p.mse.value, RatioSE: p.mse.se, Draws: p.draws,
		})
	}
	return ratios
}

// best are the candidates with the least means.
func (r tsRanking) best(each int) []tsCandidateAt {
	order := make([]int, len(r.candidates))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.mean(a), r.mean(b)) })
	var best []tsCandidateAt
	for _, k := range order[:min(each, len(order))] {
		best = append(best, r.candidates[k])
	}
	return best
}
