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
	"speceval/internal/results/variance"
	"speceval/internal/store/group"
	"speceval/pipeline/dag"
)

// tsGather reads the rows of all trials, heat by heat.
func tsGather(job *dag.Job, heats ...[]dag.Unit) (tsSearch, error) {
	all := make([][]tsRow, len(heats))
	for k, heat := range heats {
		var err error
		if all[k], err = dag.ReadRows[tsRow](job, outputs(0, heat...)...); err != nil {
			return tsSearch{}, err
		}
	}
	return newSearch(all...), nil
}

// tsPickUnit is the unit that picks the candidates that go on after some heats.
func (b *builder) tsPickUnit(id string, keys []string, pick func(tsSearch) []tsCandidateAt, heats ...[]dag.Unit) dag.Unit {
	u := b.gather(id, keys, []string{partFile(id)}, slices.Concat(heats...)...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		search, err := tsGather(job, heats...)
		if err != nil {
			return err
		}
		return dag.WriteRows(job, partFile(id), "ts_finalists.v2", pick(search))
	}
	return u
}

// tsSelectUnit is the unit that sums up the search: the mean of every candidate
// and the one that is best at each budget. Finalists are judged by their further
// trajectories alone, so that luck in the race does not count twice.
func (b *builder) tsSelectUnit(finals []dag.Unit, heats ...[]dag.Unit) dag.Unit {
	u := b.gather(tsID, []string{"replay.ts_neyman.search", "replay.ts_neyman.alphas"}, []string{variance.SearchFile, tsRatiosFile}, append(slices.Concat(heats...), finals...)...)
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
	type part struct {
		tsCandidateAt
		benchmark, model string
	}
	s := tsSearch{profiles: map[tsCandidateAt][]tsProfile{}}
	for _, rows := range heats {
		s.last = map[tsCandidateAt][]tsProfile{}
		for _, batches := range group.By(rows, func(r tsRow) part { return part{r.tsCandidateAt, r.Benchmark, r.Model} }) {
			at := batches[0].tsCandidateAt
			s.last[at] = append(s.last[at], ofBatches(batches))
		}
		maps.Copy(s.profiles, s.last)
	}
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

// atBudgets are the candidates of each budget, in order.
func (s tsSearch) atBudgets() [][]tsCandidateAt {
	all := slices.SortedFunc(maps.Keys(s.profiles), tsCandidateAt.compare)
	return group.By(all, func(c tsCandidateAt) int32 { return c.Budget })
}

// runners are the candidates of every budget with the prior strengths that did best.
func (s tsSearch) runners(warmStarts []int) (all []tsCandidateAt) {
	for _, group := range s.atBudgets() {
		slices.SortFunc(group, func(a, b tsCandidateAt) int {
			return cmp.Or(cmp.Compare(s.found(a).MSE, s.found(b).MSE), a.compare(b))
		})
		for _, c := range group[:min(strengths, len(group))] {
			for _, m0 := range warmStarts {
				if m0 <= int(c.Budget) {
					all = append(all, tsCandidateAt{c.Budget, c.Alpha, int32(m0)})
				}
			}
		}
	}
	slices.SortFunc(all, tsCandidateAt.compare)
	return all
}

// finalists are the best candidates of every budget, at most each of them, by the curve
// through the prior strengths.
func (s tsSearch) finalists(alphas []float64, each int) (all []tsCandidateAt) {
	for _, group := range s.atBudgets() {
		r := s.rank(group, alphas)
		best := slices.SortedFunc(maps.Keys(r.weights), func(a, b tsCandidateAt) int {
			return cmp.Or(cmp.Compare(r.mean(a).value, r.mean(b).value), a.compare(b))
		})
		all = append(all, best[:min(each, len(best))]...)
	}
	slices.SortFunc(all, tsCandidateAt.compare)
	return all
}

// selectTS sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. By how much the others are worse is of the first trajectories, by the
// curve through the prior strengths if there are some. A tie goes to the smaller prior
// strength and warm start.
func selectTS(first, last tsSearch, alphas []float64) (search []variance.Search, ratios []variance.Ratio) {
	for _, group := range first.atBudgets() {
		r := first.rank(group, alphas)
		for c := range r.weights {
			if first.profiles[c] == nil {
				group = append(group, c)
			}
		}
		slices.SortFunc(group, tsCandidateAt.compare)
		var rows []variance.Search
		selected := -1
		for k, c := range group {
			var row variance.Search
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
				mean, none := r.mean(c), math.NaN()
				row = variance.Search{Budget: c.Budget, Alpha: c.Alpha, M0: c.M0, MSE: mean.value, MSESE: mean.se, Raw: none, RawSE: none, RawSD: none}
			}
			rows = append(rows, row)
		}
		rows[selected].Selected = true
		best := r.mean(group[selected])
		for k, c := range group {
			excess := tsError{rows[k].MSE - best.value, math.Hypot(rows[k].MSESE, best.se)} // heats share no trajectories
			if r.weights[c] != nil {
				excess = r.excess(c, group[selected])
			}
			rows[k].Excess, rows[k].ExcessSE = excess.value, excess.se
		}
		search = append(search, rows...)
		ratios = append(ratios, last.ratios(group[selected])...)
	}
	return search, ratios
}

// ratios are the ratios of a candidate on the profiles.
func (s tsSearch) ratios(c tsCandidateAt) (ratios []variance.Ratio) {
	for _, p := range s.profiles[c] {
		ratios = append(ratios, variance.Ratio{
			Subject: variance.Subject{Benchmark: p.benchmark, Model: p.model, NTasks: p.tasks, Budget: c.Budget, Policy: policy.TS.Name, Donors: policy.TS.Donors.Name, Alpha: &c.Alpha}, M: &c.M0,
			VarianceRatio: p.mse.value, RatioSE: p.mse.se, Draws: p.draws,
		})
	}
	return ratios
}

// tsRanking compares candidates of a budget. The mean of each is a linear combination of the
// means of those that ran in the last heat.
type tsRanking struct {
	ran     [][]tsProfile
	weights map[tsCandidateAt][]float64 // by those that ran
}

// nearTheBest is how much more than the least an MSE may be, relative to Uniform's and beyond
// three standard errors, for its candidate to be on the curve.
const nearTheBest = 0.02

// rank compares the candidates of a budget that ran in the last heat, each by its own
// trajectories, or, with at least three near the best for each warm start, those near the best
// and all between them by a curve.
//
// The MSE is a smooth function of the prior strength, and changes little with the warm start:
// near the best it is a parabola in log α, which each further warm start shifts, fitted by
// least squares.
func (s tsSearch) rank(group []tsCandidateAt, alphas []float64) tsRanking {
	r := tsRanking{weights: map[tsCandidateAt][]float64{}}
	ran := slices.DeleteFunc(slices.Clone(group), func(c tsCandidateAt) bool { return s.last[c] == nil })
	own := mat.NewDense(len(ran), len(ran), nil)
	for k, c := range ran {
		own.Set(k, k, 1)
		r.ran, r.weights[c] = append(r.ran, s.last[c]), own.RawRowView(k)
	}
	best := slices.MinFunc(ran, func(a, b tsCandidateAt) int { return cmp.Compare(r.mean(a).value, r.mean(b).value) })
	near := slices.DeleteFunc(slices.Clone(ran), func(c tsCandidateAt) bool {
		excess := r.excess(c, best)
		return excess.value > nearTheBest+3*excess.se
	})
	var warm []int32
	for _, c := range near {
		if !slices.Contains(warm, c.M0) {
			warm = append(warm, c.M0)
		}
	}
	if len(alphas) == 0 || len(near) < 3*len(warm) {
		return r
	}
	parabola := func(c tsCandidateAt) []float64 {
		l := math.Log(c.Alpha)
		row := append([]float64{1, l, l * l}, make([]float64, len(warm)-1)...)
		if k := slices.Index(warm, c.M0); k > 0 {
			row[2+k] = 1
		}
		return row
	}
	columns := 2 + len(warm)
	x := mat.NewDense(len(ran), columns, nil) // rows of zeros, for those far from the best, weigh nothing
	for k, c := range ran {
		if slices.Contains(near, c) {
			x.SetRow(k, parabola(c))
		}
	}
	var inverse mat.Dense
	if inverse.Solve(x, own) != nil { // of too few prior strengths
		return r
	}
	for _, alpha := range alphas {
		for _, m0 := range warm {
			c := tsCandidateAt{ran[0].Budget, alpha, m0}
			if alpha < near[0].Alpha || alpha > near[len(near)-1].Alpha || s.profiles[c] != nil && !slices.Contains(near, c) {
				continue
			}
			var weights mat.Dense
			weights.Mul(mat.NewDense(1, columns, parabola(c)), &inverse)
			r.weights[c] = weights.RawRowView(0)
		}
	}
	return r
}

// mean is the mean of a candidate over the profiles.
func (r tsRanking) mean(c tsCandidateAt) tsError { return r.combined(r.weights[c]) }

// excess is the mean of a candidate less the mean of another, with the standard error of the
// difference.
func (r tsRanking) excess(c, other tsCandidateAt) tsError {
	weights := slices.Clone(r.weights[c])
	floats.Sub(weights, r.weights[other])
	return r.combined(weights)
}

// combined is a linear combination of the means of those that ran. Batches of the same number
// have the same outcomes, so that its error is seen in their spread.
func (r tsRanking) combined(weights []float64) tsError {
	sum, squares := 0.0, 0.0
	for p, first := range r.ran[0] {
		values := make([]float64, len(first.batches))
		for k, w := range weights {
			floats.AddScaled(values, w, r.ran[k][p].batches)
		}
		mean, square := moments(values)
		sum += mean
		squares += max(square-mean*mean, 0) / max(float64(len(values))-1, 1)
	}
	n := float64(len(r.ran[0]))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
