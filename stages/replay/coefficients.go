package replay

import (
	"fmt"
	"io"

	"speceval/internal/exante"
	"speceval/internal/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// coefficient is a row of a design unit's output: one estimate of the
// continuation coefficient C, the expected Σ v/L over Σ v, of a candidate.
type coefficient struct {
	Alpha       *float64 `parquet:"alpha"` // prior strength; null where there is none
	Budget      int32    `parquet:"budget"`
	M           int32    `parquet:"m"`
	Replicate   int32    `parquet:"replicate"` // replicate of a design, or batch of draws
	Coefficient float64  `parquet:"coefficient"`
}

// writeRows writes the rows of an output as Parquet.
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

// ofEachPair reads the rows of one output of each pair, in the pairs' order.
func ofEachPair[T any](job *dag.Job, pairs []pair.Pair, output func(pair.Pair) string) ([]T, error) {
	var all []T
	for _, p := range pairs {
		rows, err := readRows[T](job, output(p))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// coefficientRows are the estimates of a candidate, of replicate first and on.
func coefficientRows(c exante.Candidate, alpha *float64, estimates []float64, first int) []coefficient {
	var rows []coefficient
	for r, estimate := range estimates {
		rows = append(rows, coefficient{alpha, int32(c.Budget), int32(c.M), int32(first + r), estimate})
	}
	return rows
}

// gathered are the coefficients of all replicates of one policy and task count,
// for one prior strength: [candidate][replicate].
type gathered [][]float64

func newGathered(cs exante.Candidates, replicates int) gathered {
	g := make(gathered, len(cs))
	for k := range g {
		g[k] = make([]float64, replicates)
	}
	return g
}

// add adds a share of each row, which must be those of coefficientRows for one
// candidate after the other and some replicates, to what has been gathered.
func (g gathered) add(cs exante.Candidates, rows []coefficient, share float64) error {
	per := len(rows) / len(cs)
	if len(rows) != per*len(cs) || per == 0 {
		return fmt.Errorf("%d coefficients for %d candidates", len(rows), len(cs))
	}
	for i, row := range rows {
		k := i / per
		if c := cs[k]; int(row.Budget) != c.Budget || int(row.M) != c.M {
			return fmt.Errorf("row %d is of budget %d and m = %d, want %d and %d", i+1, row.Budget, row.M, c.Budget, c.M)
		}
		if row.Replicate < 0 || int(row.Replicate) >= len(g[k]) {
			return fmt.Errorf("row %d is of replicate %d, of %d", i+1, row.Replicate, len(g[k]))
		}
		g[k][row.Replicate] += share * row.Coefficient
	}
	return nil
}
