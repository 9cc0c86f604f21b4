package replay

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/policy"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
)

// tsGather reads the rows of all trials.
func tsGather(job *dag.Job, trials []dag.Unit) (tsSearch, error) {
	var all []tsRow
	for _, trial := range trials {
		rows, err := dag.ReadRows[tsRow](job, partFile(trial.ID))
		if err != nil {
			return tsSearch{}, err
		}
		all = append(all, rows...)
	}
	return newSearch(all), nil
}

// tsFinalistsUnit is the unit that picks the candidates that go on from the race.
func (b *builder) tsFinalistsUnit(race []dag.Unit) dag.Unit {
	u := b.unit(tsFinalists, []string{keyTSAlphas, keyTSFinalists}, unitIDs(race)...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		raced, err := tsGather(job, race)
		if err != nil {
			return err
		}
		return dag.WriteRows(job, partFile(tsFinalists), "ts_finalists.v2", raced.finalists(b.TSNeyman.Finalists))
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
func (b *builder) tsSelectUnit(trials, more, finals []dag.Unit) dag.Unit {
	u := b.gather(tsID, []string{keyTSSearch, keyTSAlphas}, []string{variance.SearchFile, tsRatiosFile},
		append(unitIDs(trials), unitIDs(more)...)...)
	u.Run = func(_ context.Context, job *dag.Job) error {
		first, err := tsGather(job, trials)
		if err != nil {
			return err
		}
		last := first
		if len(finals) > 0 {
			if last, err = tsGather(job, finals); err != nil {
				return err
			}
		}
		search, ratios := selectTS(first, last, len(finals) > 0)
		if err := dag.WriteRows(job, variance.SearchFile, "ts_search.v2", search); err != nil {
			return err
		}
		return dag.WriteRows(job, tsRatiosFile, ratioSchema, ratios)
	}
	return u
}

// tsSearch is the results of the trajectories of all candidates.
type tsSearch struct {
	profiles map[tsCandidateAt][]tsProfile
	order    []tsCandidateAt
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

// newSearch puts the rows of every candidate together, its profiles in the order
// of the rows.
func newSearch(rows []tsRow) tsSearch {
	type pair struct {
		tsCandidateAt
		benchmark, model string
	}
	parts := map[pair][]tsRow{}
	var order []pair
	for _, r := range rows {
		at := pair{r.tsCandidateAt, r.Benchmark, r.Model}
		if parts[at] == nil {
			order = append(order, at)
		}
		parts[at] = append(parts[at], r)
	}
	s := tsSearch{profiles: map[tsCandidateAt][]tsProfile{}}
	for _, at := range order {
		batches := parts[at]
		slices.SortFunc(batches, func(a, b tsRow) int { return cmp.Compare(a.Batch, b.Batch) })
		s.profiles[at.tsCandidateAt] = append(s.profiles[at.tsCandidateAt], ofBatches(batches))
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

// finalists are the best candidates of every budget, at most each of them.
func (s tsSearch) finalists(each int) []tsCandidateAt {
	var all []tsCandidateAt
	for _, group := range s.atBudgets() {
		r := s.rank(group, true)
		best := slices.Clone(group)
		place := func(c tsCandidateAt) float64 { return r.mean(slices.Index(group, c)) }
		slices.SortStableFunc(best, func(a, b tsCandidateAt) int { return cmp.Compare(place(a), place(b)) })
		best = best[:min(each, len(best))]
		slices.SortFunc(best, tsCandidateAt.compare)
		all = append(all, best...)
	}
	return all
}

// selectTS sums up a search: every candidate as first found out, or for finalists
// as last, and of each budget the finalist with the least mean, with its ratios
// on the profiles. By how much the others are worse is of the first trajectories,
// which all of them have. A tie goes to the smaller prior strength and warm start.
func selectTS(first, last tsSearch, smooth bool) (search []variance.Search, ratios []variance.Ratio) {
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
		ranking := first.rank(group, smooth)
		for k := range rows {
			excess := ranking.excess(k, selected)
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
			Benchmark: p.benchmark, Model: p.model, NTasks: p.tasks, Budget: c.Budget,
			Policy: policy.TS.Name, Donors: policy.TS.Donors.Name, Alpha: &c.Alpha, M: &c.M0,
			VarianceRatio: p.mse.value, RatioSE: p.mse.se, Draws: p.draws,
		})
	}
	return ratios
}

// tsRanking compares the candidates of a budget. The mean of each is a linear
// combination of what was seen of all.
type tsRanking struct {
	candidates []tsCandidateAt
	profiles   [][]tsProfile // of each candidate
	weights    [][]float64   // of each candidate, by candidate
}

// rank compares candidates, each by its own trajectories, or smoothly by a curve through
// those of all.
//
// The MSE is a smooth function of the prior strength, and changes little and
// smoothly with the warm start: within nearTheBest of the least, a cubic curve in
// log α, which each further warm start shifts and tilts, is fitted to what was
// seen, by least squares.
func (s tsSearch) rank(candidates []tsCandidateAt, smooth bool) tsRanking {
	r := tsRanking{candidates: candidates}
	for k, c := range candidates {
		r.profiles = append(r.profiles, s.profiles[c])
		r.weights = append(r.weights, make([]float64, len(candidates)))
		r.weights[k][k] = 1
	}
	if smooth {
		r.fit()
	}
	return r
}

// nearTheBest is how much more than the least an MSE may be, relative to
// Uniform's, for its candidate to be on the curve.
const nearTheBest = 0.02

// fit replaces the weights of candidates near the best by those of a curve. It
// leaves them if there are fewer than two candidates for each of its parameters.
func (r *tsRanking) fit() {
	least := math.Inf(1)
	for k := range r.candidates {
		least = min(least, r.mean(k))
	}
	var on []int
	var warm []int32
	for k, c := range r.candidates {
		if r.mean(k) <= least+nearTheBest {
			on = append(on, k)
			if !slices.Contains(warm, c.M0) {
				warm = append(warm, c.M0)
			}
		}
	}
	columns := 4 + 2*(len(warm)-1)
	if len(on) < 2*columns {
		return
	}
	x := mat.NewDense(len(on), columns, nil)
	for row, k := range on {
		c := r.candidates[k]
		l := math.Log(c.Alpha)
		at := []float64{1, l, l * l, l * l * l}
		for _, m0 := range warm[1:] {
			if c.M0 == m0 {
				at = append(at, 1, l)
			} else {
				at = append(at, 0, 0)
			}
		}
		x.SetRow(row, at)
	}
	var qr mat.QR
	qr.Factorize(x)
	unit := mat.NewDense(len(on), len(on), nil)
	for k := range on {
		unit.Set(k, k, 1)
	}
	var inverse, hat mat.Dense
	if err := qr.SolveTo(&inverse, false, unit); err != nil {
		return // of too few prior strengths for a curve
	}
	hat.Mul(x, &inverse)
	for row, k := range on {
		r.weights[k] = make([]float64, len(r.candidates))
		for col, j := range on {
			r.weights[k][j] = hat.At(row, col)
		}
	}
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

// combined is a linear combination of the candidates' means. Batches of the same
// number have the same outcomes, so that its error is seen in their spread.
func (r tsRanking) combined(weights []float64) tsError {
	sum, squares := 0.0, 0.0
	for p, first := range r.profiles[0] {
		batches := len(first.batches)
		var total, square float64
		for b := range batches {
			value := 0.0
			for k, w := range weights {
				if w != 0 {
					value += w * r.profiles[k][p].batches[b]
				}
			}
			total += value
			square += value * value
		}
		n := float64(batches)
		sum += total / n
		squares += max(square/n-total/n*total/n, 0) / max(n-1, 1)
	}
	n := float64(len(r.profiles[0]))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
