package replay

import "math"

// crossed is a table with a row for every redrawn profile and a column for every
// pilot draw: each profile meets the same draws. The value of a cell is a
// common mean, an effect of its row, one of its column, and a rest, all
// uncorrelated, whatever the law of the value (the two-way analysis of variance
// with random effects). What is wanted is the spread of row effects, which no
// column effect can blur.
type crossed struct {
	rows, columns []float64 // sums
	square        float64   // sum of all squares
}

func newCrossed(rows, columns int) *crossed {
	return &crossed{rows: make([]float64, rows), columns: make([]float64, columns)}
}

// set gives a cell its value.
func (c *crossed) set(row, column int, value float64) {
	c.rows[row] += value
	c.columns[column] += value
	c.square += value * value
}

// squares are the mean squares between rows, between columns and of the rest.
// Their expectations, with the variances of the effects and R rows and D
// columns, are rest + D·row, rest + R·column and rest.
func (c *crossed) squares() (row, column, rest float64) {
	r, d := float64(len(c.rows)), float64(len(c.columns))
	mean := total(c.rows) / (r * d)
	between := func(sums []float64, each float64) float64 {
		sum := 0.0
		for _, x := range sums {
			away := x/each - mean
			sum += each * away * away
		}
		return sum
	}
	rows, columns := between(c.rows, d), between(c.columns, r)
	all := c.square - r*d*mean*mean
	return rows / (r - 1), columns / (d - 1), max(0, all-rows-columns) / ((r - 1) * (d - 1))
}

// pooled sums tables of one kind, with equally many columns, that have neither
// rows nor columns in common.
type pooled struct {
	rows, degrees float64
	sum           float64 // of the rows' means
	between, rest float64 // variance of a row's mean, and its part from the rest, by degrees of freedom
	error, least  float64 // variance of sum, and the part that rows alone explain
}

func (p *pooled) add(c *crossed) {
	row, column, rest := c.squares()
	r, d := float64(len(c.rows)), float64(len(c.columns))
	p.rows += r
	p.degrees += r - 1
	p.sum += total(c.rows) / d
	p.between += (r - 1) * row / d
	p.rest += (r - 1) * rest / d
	p.error += r * (row + column - rest) / d
	p.least += r * row / d
}

// spread estimates the standard deviation of the row effects. Its square is
// unbiased but for this: where the rest happens to exceed what is seen between
// rows the spread is zero, which means too small to be seen with these draws.
func (p *pooled) spread() float64 {
	return math.Sqrt(max(0, p.between-p.rest) / p.degrees)
}

// mean is the mean of all cells with its standard error, over other rows and
// other columns.
func (p *pooled) mean() (mean, se float64) {
	return p.sum / p.rows, math.Sqrt(max(p.error, p.least)) / p.rows
}
