package replay

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// tsGather reads the rows of all trials, heat by heat.
func tsGather(job *dag.Job, heats ...[]dag.Unit) (tsSearch, error) {
	all := make([][]tsRow, len(heats))
	for k, heat := range heats {
		for _, trial := range heat {
			rows, err := dag.ReadRows[tsRow](job, partFile(trial.ID))
			if err != nil {
				return tsSearch{}, err
			}
			all[k] = append(all[k], rows...)
		}
	}
	return newSearch(all...), nil
}

// tsPickUnit is the unit that picks the candidates that go on after some heats.
func (b *builder) tsPickUnit(id string, keys []string, pick func(tsSearch) []tsCandidateAt, heats ...[]dag.Unit) dag.Unit {
	u := b.unit(id, keys, unitIDs(slices.Concat(heats...))...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		search, err := tsGather(job, heats...)
		if err != nil {
			return err
		}
		return dag.WriteRows(job, partFile(id), "ts_finalists.v2", pick(search))
	}
	return u
}

// unitIDs are the names of units.
func unitIDs(units []dag.Unit) (ids []string) {
	for _, u := range units {
		ids = append(ids, u.ID)
	}
	return ids
}

// tsSelectUnit is the unit that sums up the search: the mean of every candidate
// and the one that is best at each budget. Finalists are judged by their further
// trajectories alone, so that luck in the race does not count twice.
func (b *builder) tsSelectUnit(finals []dag.Unit, heats ...[]dag.Unit) dag.Unit {
	u := b.gather(tsID, []string{keyTSSearch, keyTSAlphas}, []string{variance.SearchFile, tsRatiosFile}, unitIDs(append(slices.Concat(heats...), finals...))...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		first, err := tsGather(job, heats...)
		if err != nil {
			return err
		}
		last, curve := first, []float64(nil)
		if len(finals) > 0 {
			curve = b.TSNeyman.Alphas
			if last, err = tsGather(job, finals); err != nil {
				return err
			}
		}
		search, ratios := selectTS(first, last, curve)
		if err := dag.WriteRows(job, variance.SearchFile, "ts_search.v2", search); err != nil {
			return err
		}
		return dag.WriteRows(job, tsRatiosFile, ratioSchema, ratios)
	}
	return u
}

// tsSearch is the results of the trajectories of all candidates: of each in the last heat that
// it ran in.
type tsSearch struct {
	profiles map[tsCandidateAt][]tsProfile
	order    []tsCandidateAt
	last     map[tsCandidateAt][]tsProfile // of those that ran in the last heat
}

// tsProfile is the result of all batches of a candidate on one profile.
type tsProfile struct {
	benchmark, model string
	tasks            int32
	draws            int32
	mse, raw         tsError
	batches          []float64 // their MSE
}

// tsError is an estimated MSE, relative to Uniform's, with its standard error.
type tsError struct{ value, se float64 }

// newSearch puts the rows of every candidate together, its profiles and their batches in the
// order of the rows.
func newSearch(heats ...[]tsRow) tsSearch {
	type pair struct {
		tsCandidateAt
		benchmark, model string
	}
	s := tsSearch{profiles: map[tsCandidateAt][]tsProfile{}}
	for _, rows := range heats {
		parts := map[pair][]tsRow{}
		var order []pair
		for _, r := range rows {
			at := pair{r.tsCandidateAt, r.Benchmark, r.Model}
			if parts[at] == nil {
				order = append(order, at)
			}
			parts[at] = append(parts[at], r)
		}
		s.last = map[tsCandidateAt][]tsProfile{}
		for _, at := range order {
			s.last[at.tsCandidateAt] = append(s.last[at.tsCandidateAt], ofBatches(parts[at]))
		}
		maps.Copy(s.profiles, s.last)
	}
	s.order = slices.SortedFunc(maps.Keys(s.profiles), tsCandidateAt.compare)
	return s
}

func ofBatches(rows []tsRow) tsProfile {
	p := tsProfile{benchmark: rows[0].Benchmark, model: rows[0].Model, tasks: rows[0].NTasks}
	var mse, squares, raw, rawSquares float64
	for _, r := range rows {
		n := float64(r.Draws)
		p.draws += r.Draws
		p.batches = append(p.batches, r.MSE)
		mse += n * r.MSE
		squares += n * r.Squares
		raw += n * r.Raw
		rawSquares += n * r.RawSquares
	}
	n := float64(p.draws)
	p.mse, p.raw = errorOf(n, mse/n, squares/n), errorOf(n, raw/n, rawSquares/n)
	return p
}

// errorOf is a mean of n numbers with its standard error.
func errorOf(n, mean, squares float64) tsError {
	return tsError{mean, math.Sqrt(max(squares-mean*mean, 0) / (n - 1))}
}

// found is the result of a candidate: means over profiles of independent estimates, and the
// standard deviation of the mean of a single trajectory of each, without the control
// variate.
func (s tsSearch) found(c tsCandidateAt) variance.Search {
	var mse, raw tsError
	squares, least := 0.0, int32(math.MaxInt32)
	for _, p := range s.profiles[c] {
		mse.value += p.mse.value
		mse.se += p.mse.se * p.mse.se
		raw.value += p.raw.value
		raw.se += p.raw.se * p.raw.se
		squares += float64(p.draws) * p.raw.se * p.raw.se
		least = min(least, p.draws)
	}
	n := float64(len(s.profiles[c]))
	return variance.Search{
		Budget: c.Budget, Alpha: c.Alpha, M0: c.M0, Draws: least,
		MSE: mse.value / n, MSESE: math.Sqrt(mse.se) / n,
		Raw: raw.value / n, RawSE: math.Sqrt(raw.se) / n, RawSD: math.Sqrt(squares) / n,
	}
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

// strengths is how many prior strengths run the race, at each budget.
const strengths = 5

// runners are the candidates of every budget with the prior strengths that are best, by the
// mean over the warm starts.
func (s tsSearch) runners() (all []tsCandidateAt) {
	for _, group := range s.atBudgets() {
		own, sums := s.rank(group, nil), map[float64]float64{}
		for k, c := range group {
			sums[c.Alpha] += own.mean(k)
		}
		best := slices.SortedFunc(maps.Keys(sums), func(a, b float64) int { return cmp.Or(cmp.Compare(sums[a], sums[b]), cmp.Compare(a, b)) })
		best = best[:min(strengths, len(best))]
		for _, c := range group {
			if slices.Contains(best, c.Alpha) {
				all = append(all, c)
			}
		}
	}
	return all
}

// finalists are the best candidates of every budget, at most each of them, by the curve
// through the prior strengths.
func (s tsSearch) finalists(alphas []float64, each int) []tsCandidateAt {
	var all []tsCandidateAt
	for _, group := range s.atBudgets() {
		r := s.rank(group, alphas)
		best := slices.Clone(r.candidates)
		place := func(c tsCandidateAt) float64 { return r.mean(slices.Index(r.candidates, c)) }
		slices.SortStableFunc(best, func(a, b tsCandidateAt) int { return cmp.Compare(place(a), place(b)) })
		best = best[:min(each, len(best))]
		slices.SortFunc(best, tsCandidateAt.compare)
		all = append(all, best...)
	}
	return all
}

// selectTS sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. By how much the others are worse is of the first trajectories, by the
// curve through the prior strengths if there are some. A tie goes to the smaller prior
// strength and warm start.
func selectTS(first, last tsSearch, alphas []float64) (search []variance.Search, ratios []variance.Ratio) {
	for _, group := range first.atBudgets() {
		var rows []variance.Search
		selected := -1
		ranking := first.rank(group, alphas)
		for k, c := range ranking.candidates {
			row := variance.Search{Budget: c.Budget, Alpha: c.Alpha, M0: c.M0}
			switch {
			case last.profiles[c] != nil:
				row = last.found(c)
				row.Finalist = true
				if selected < 0 || row.MSE < rows[selected].MSE {
					selected = k
				}
			case first.profiles[c] != nil:
				row = first.found(c)
			default:
				curve := ranking.combined(ranking.weights[k])
				row.MSE, row.MSESE = curve.value, curve.se
				row.Raw, row.RawSE, row.RawSD = math.NaN(), math.NaN(), math.NaN()
			}
			rows = append(rows, row)
		}
		rows[selected].Selected = true
		for k := range rows {
			excess := ranking.excess(k, selected)
			rows[k].Excess, rows[k].ExcessSE = excess.value, excess.se
		}
		search = append(search, rows...)
		ratios = append(ratios, last.ratios(ranking.candidates[selected])...)
	}
	return search, ratios
}

// ratios are the ratios of a candidate on the profiles.
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

// tsRanking compares the candidates of a budget. The mean of each is a linear
// combination of what was seen of those that ran.
type tsRanking struct {
	candidates []tsCandidateAt
	weights    [][]float64   // of each candidate, by those that ran
	profiles   [][]tsProfile // of each that ran
	last       []bool        // whether it did in the last heat
}

// rank compares candidates that ran, each by its own trajectories. With prior strengths it
// goes by a curve through the candidates of the last heat, to all between them.
//
// The MSE is a smooth function of the prior strength, and changes little with the warm start:
// near the best it is a parabola in log α, which each further warm start shifts, fitted by
// least squares.
func (s tsSearch) rank(ran []tsCandidateAt, alphas []float64) tsRanking {
	var r tsRanking
	weights := map[tsCandidateAt][]float64{}
	for k, c := range ran {
		r.profiles, r.last = append(r.profiles, s.profiles[c]), append(r.last, s.last[c] != nil)
		weights[c] = make([]float64, len(ran))
		weights[c][k] = 1
	}
	s.fit(ran, alphas, weights)
	r.candidates = slices.SortedFunc(maps.Keys(weights), tsCandidateAt.compare)
	for _, c := range r.candidates {
		r.weights = append(r.weights, weights[c])
	}
	return r
}

// fit sets the weights of the candidates on the curve. There is none through fewer than three
// prior strengths.
func (s tsSearch) fit(ran []tsCandidateAt, alphas []float64, weights map[tsCandidateAt][]float64) {
	var on []int
	var warm []int32
	for k, c := range ran {
		if s.last[c] != nil {
			on = append(on, k)
			if !slices.Contains(warm, c.M0) {
				warm = append(warm, c.M0)
			}
		}
	}
	if len(on) < 3*len(warm) {
		return
	}
	columns := 2 + len(warm)
	x, unit := mat.NewDense(len(on), columns, nil), mat.NewDense(len(on), len(on), nil)
	for row, k := range on {
		x.SetRow(row, parabola(ran[k], warm))
		unit.Set(row, row, 1)
	}
	var inverse mat.Dense
	if err := inverse.Solve(x, unit); err != nil {
		return
	}
	for _, alpha := range alphas {
		if alpha < ran[on[0]].Alpha || alpha > ran[on[len(on)-1]].Alpha {
			continue
		}
		for _, m0 := range warm {
			c := tsCandidateAt{ran[0].Budget, alpha, m0}
			if weights[c] != nil && s.last[c] == nil {
				continue
			}
			var hat mat.Dense
			hat.Mul(mat.NewDense(1, columns, parabola(c, warm)), &inverse)
			weights[c] = make([]float64, len(ran))
			for col, k := range on {
				weights[c][k] = hat.At(0, col)
			}
		}
	}
}

// parabola is a candidate's row of the curve: a parabola in log α, and a shift for every warm
// start but the first.
func parabola(c tsCandidateAt, warm []int32) []float64 {
	l := math.Log(c.Alpha)
	at := []float64{1, l, l * l}
	for _, m0 := range warm[1:] {
		if c.M0 == m0 {
			at = append(at, 1)
		} else {
			at = append(at, 0)
		}
	}
	return at
}

// mean is the mean of candidate k over the profiles.
func (r tsRanking) mean(k int) float64 { return r.combined(r.weights[k]).value }

// excess is the mean of candidate k less the mean of another, with the standard error of the
// difference.
func (r tsRanking) excess(k, other int) tsError {
	weights := slices.Clone(r.weights[k])
	for j, w := range r.weights[other] {
		weights[j] -= w
	}
	return r.combined(weights)
}

// combined is a linear combination of the candidates' means. Heats share no trajectories.
func (r tsRanking) combined(weights []float64) tsError {
	first, last := r.within(weights, false), r.within(weights, true)
	return tsError{first.value + last.value, math.Hypot(first.se, last.se)}
}

// within is the part of a linear combination that ran in the last heat, or before. Batches of
// the same number have the same outcomes, so that its error is seen in their spread.
func (r tsRanking) within(weights []float64, last bool) tsError {
	sum, squares := 0.0, 0.0
	for p := range r.profiles[0] {
		var values []float64 // of the batches
		for k, w := range weights {
			if w == 0 || r.last[k] != last {
				continue
			}
			batches := r.profiles[k][p].batches
			if values == nil {
				values = make([]float64, len(batches))
			}
			floats.AddScaled(values, w, batches)
		}
		if values == nil {
			return tsError{}
		}
		mean, square := moments(values)
		sum += mean
		squares += max(square-mean*mean, 0) / max(float64(len(values))-1, 1)
	}
	n := float64(len(r.profiles[0]))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
