package main

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/fleet/workload"
)

// linear is the problem at a point, as least squares: the normal equations.
type linear struct {
	cost   float64
	normal *mat.SymDense
	slope  *mat.VecDense
}

// tolerance is how many standard deviations off a time has to be to count for
// little.
const tolerance = 3.5

// loss is what a residual of z standard deviations costs, and its weight.
func loss(z float64) (cost, weight float64) {
	t := 1 + z*z/(tolerance*tolerance)
	return tolerance * tolerance * math.Log(t), 1 / t
}

// linearize differentiates all residuals.
func (s *search) linearize(ctx context.Context) (*linear, error) {
	here := s.here()
	cost, err := s.cost(ctx, here)
	if err != nil {
		return nil, err
	}
	size := len(s.timing) + len(s.shape)*len(s.cells)
	l := &linear{cost: cost, normal: mat.NewSymDense(size, nil), slope: mat.NewVecDense(size, nil)}
	rows := make([][][]float64, len(s.cells)) // by cell and run: derivatives, then the residual, weighted
	err = s.each(func(i int, c *cell) error {
		var err error
		rows[i], err = s.rows(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range s.cells {
		columns := make([]int, 0, len(s.timing)+len(s.shape))
		for j := range s.timing {
			columns = append(columns, j)
		}
		for j := range s.shape {
			columns = append(columns, len(s.timing)+i*len(s.shape)+j)
		}
		for _, row := range rows[i] {
			l.add(columns, row)
		}
		for j, q := range s.shape {
			l.add(columns[len(s.timing)+j:][:1], []float64{1 / q.prior.deviation, (q.get(&here.lengths[i]) - q.prior.mean) / q.prior.deviation})
		}
	}
	for j, q := range s.timing {
		l.add([]int{j}, []float64{1 / q.prior.deviation, (q.get(&here.model) - q.prior.mean) / q.prior.deviation})
	}
	return l, nil
}

// add takes up a residual with its derivatives in some columns.
func (l *linear) add(columns []int, row []float64) {
	r := row[len(columns)]
	for a, i := range columns {
		l.slope.SetVec(i, l.slope.AtVec(i)-row[a]*r)
		for b, j := range columns {
			if j >= i {
				l.normal.SetSym(i, j, l.normal.At(i, j)+row[a]*row[b])
			}
		}
	}
}

// rows are the residuals of a cell's runs with their derivatives.
func (s *search) rows(ctx context.Context, c *cell) ([][]float64, error) {
	base, err := c.residuals(ctx, s.model, c.lengths, s.draws)
	if err != nil {
		return nil, err
	}
	var derivatives [][]float64
	vary := func(m workload.Model, l workload.Lengths, step float64) error {
		r, err := c.residuals(ctx, m, l, s.draws)
		for k := range r {
			r[k] = (r[k] - base[k]) / step
		}
		derivatives = append(derivatives, r)
		return err
	}
	for _, q := range s.timing {
		m := s.model
		q.set(&m, q.get(&m)+q.step)
		if err := vary(m, c.lengths, q.get(&m)-q.get(&s.model)); err != nil {
			return nil, err
		}
	}
	for _, q := range s.shape {
		l := c.lengths
		q.set(&l, q.get(&l)+q.step)
		c.locate(&l)
		if err := vary(s.model, l, q.step); err != nil {
			return nil, err
		}
	}
	var rows [][]float64
	for k := range base {
		if !c.usable(k) {
			continue
		}
		_, weight := loss(base[k] / c.deviations[k])
		weight = math.Sqrt(weight) / c.deviations[k]
		var row []float64
		for _, d := range derivatives {
			row = append(row, d[k]*weight)
		}
		rows = append(rows, append(row, base[k]*weight))
	}
	return rows, nil
}
