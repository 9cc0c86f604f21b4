package replay

import (
	"cmp"
	"math"
	"slices"
)

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
