package replay

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/seed"
	"speceval/internal/tsneyman"
)

// tsSpan is how many trajectories of a candidate are looked at, at a budget. At a
// smaller budget there are as many more: the error of its mean is as large, and
// so is the time.
type tsSpan struct{ budget, draws int }

// tsSpans are those of budgets in rising order, draws trajectories at the last.
// Budgets below the warm start are left out.
func tsSpans(budgets []int, warm, draws int) []tsSpan {
	var spans []tsSpan
	for _, b := range feasible(budgets, warm) {
		spans = append(spans, tsSpan{b, draws * budgets[len(budgets)-1] / b})
	}
	return spans
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
		uniform := uniformMSE(probabilities, s.budget)
		for t := range raw {
			raw[t] /= uniform
			controlled[t] /= uniform
		}
		all[k] = tsErrors{raw, controlled}
	}
	return all, nil
}

// uniformMSE is the mean squared error of Uniform.
func uniformMSE(probabilities []float64, budget int) float64 {
	sum := 0.0
	for _, p := range probabilities {
		sum += p * (1 - p)
	}
	tasks := float64(len(probabilities))
	return sum / (tasks * tasks * float64(budget))
}

// smoothing says how candidates are ranked: each by its own trajectories, or by a
// curve through those of all.
type smoothing bool

const (
	each   smoothing = false
	smooth smoothing = true
)

// tsRanking compares the candidates of a budget. The mean of each is a linear
// combination of what was seen of all.
type tsRanking struct {
	candidates []tsCandidateAt
	profiles   [][]tsProfile // of each candidate
	weights    [][]float64   // of each candidate, by candidate
}

// rank compares candidates, smoothly or not.
//
// The MSE is a smooth function of the prior strength, and changes little and
// smoothly with the warm start: within nearTheBest of the least, a cubic curve in
// log α, which each further warm start shifts and tilts, is fitted to what was
// seen, by least squares.
func (s tsSearch) rank(candidates []tsCandidateAt, using smoothing) tsRanking {
	r := tsRanking{candidates: candidates}
	for k, c := range candidates {
		r.profiles = append(r.profiles, s.profiles[c])
		r.weights = append(r.weights, make([]float64, len(candidates)))
		r.weights[k][k] = 1
	}
	if using == smooth {
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

// mean is that of a candidate over the profiles.
func (r tsRanking) mean(k int) float64 { return r.combined(r.weights[k]).value }

// excess is by how much the mean of candidate k is above that of another, with the
// standard error of the difference.
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

// tsBatches is how many batches the trajectories of a candidate on a profile are
// reported in: the spread between them tells how sure a comparison of candidates
// is, which share their outcomes.
const tsBatches = 8

// tsRow is a row of a part of the search: what a batch of trajectories of a
// candidate says of its MSE on a profile, relative to Uniform's.
type tsRow struct {
	Benchmark  string  `parquet:"benchmark"`
	Model      string  `parquet:"model"`
	NTasks     int32   `parquet:"n_tasks"`
	Budget     int32   `parquet:"budget"`
	Alpha      float64 `parquet:"alpha"`
	M0         int32   `parquet:"m0"`
	Batch      int32   `parquet:"batch"`
	MSE        float64 `parquet:"mse"`         // with the control variate
	Squares    float64 `parquet:"squares"`     // mean of the squares of what mse is the mean of
	Raw        float64 `parquet:"raw"`         // the plain mean of squared errors
	RawSquares float64 `parquet:"raw_squares"` // of the same
	Draws      int32   `parquet:"draws"`
}

// batched puts the errors of trajectories into rows that are like one.
func batched(like tsRow, errors tsErrors) []tsRow {
	draws := len(errors.raw)
	batches := min(tsBatches, draws)
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

func (r tsRow) candidate() tsCandidateAt { return tsCandidateAt{r.Budget, r.Alpha, r.M0} }

// tsProfile is what all batches of a candidate say of one profile.
type tsProfile struct {
	benchmark, model string
	tasks            int32
	draws            int32
	mse, raw         tsError
	batches          []float64 // their MSE
}

// tsError is an estimated MSE, relative to Uniform's, with its standard error.
type tsError struct{ value, se float64 }

// tsProfiles puts the rows of every candidate together, its profiles in the order
// of the rows.
func tsProfiles(rows []tsRow) map[tsCandidateAt][]tsProfile {
	type pair struct {
		tsCandidateAt
		benchmark, model string
	}
	parts := map[pair][]tsRow{}
	var order []pair
	for _, r := range rows {
		at := pair{r.candidate(), r.Benchmark, r.Model}
		if parts[at] == nil {
			order = append(order, at)
		}
		parts[at] = append(parts[at], r)
	}
	all := map[tsCandidateAt][]tsProfile{}
	for _, at := range order {
		batches := parts[at]
		slices.SortFunc(batches, func(a, b tsRow) int { return cmp.Compare(a.Batch, b.Batch) })
		all[at.tsCandidateAt] = append(all[at.tsCandidateAt], ofBatches(batches))
	}
	return all
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

// tsMean is the mean over profiles of independent estimates.
func tsMean(profiles []tsProfile, of func(tsProfile) tsError) tsError {
	var sum, squares float64
	for _, p := range profiles {
		e := of(p)
		sum += e.value
		squares += e.se * e.se
	}
	n := float64(len(profiles))
	return tsError{sum / n, math.Sqrt(squares) / n}
}
