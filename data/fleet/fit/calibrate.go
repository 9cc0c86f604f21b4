package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/fleet"
)

// calibration is what the fit has found.
type calibration struct {
	workload fleet.Workload
	cells    []*cell
	fits     map[*cell][]fitted
}

// likeliestBase is the factor of the base that makes what was published likeliest;
// README.md in this folder has the others that were tried.
const likeliestBase = 0.97

// starts are where the search begins: close to what a GPU of this kind can do. The
// base of thinking models is what reading the weights takes at the rate of the others,
// whose looping answers say it well: 1.17 ms, and 0.665 ms for a billion parameters.
var starts = []fleet.Model{
	start("qwen2_5_32b", 128, 22000, 160, 125, 550),
	start("qwen2_5_3b", 256, 3500, 70, 17, 60),
	start("qwen2_5_7b", 192, 5000, 120, 30, 130),
	start("qwen3_5_27b", 64, 18200, 300, 80, 560),
	start("qwen3_5_4b", 128, 3970, 135, 20, 90),
	start("qwen3_5_9b", 128, 6450, 145, 28, 180),
}

// start is a model by its time per step and sequence in µs, context token in
// ns, prompt token in µs.
func start(model string, sequences, base, sequence, context, prompt int) fleet.Model {
	m := fleet.Model{
		Model: model, MaxSequences: sequences, MaxTokens: 16384, Handling: 645, Computation: 50 * time.Millisecond,
		Timing: fleet.Timing{
			Base: time.Duration(base) * time.Microsecond, Sequence: time.Duration(sequence) * time.Microsecond,
			Context: time.Duration(context), Prompt: time.Duration(prompt) * time.Microsecond, Graphs: true,
		},
	}
	if model[:7] == "qwen3_5" {
		m.ThinkingTokens = 8192
		m.Timing.Late, m.Timing.After = 15, m.ThinkingTokens
	}
	return m
}

// calibrate fits model after model and measures what is left unexplained.
func calibrate(ctx context.Context, facts []*fact, o options, log io.Writer) (*calibration, error) {
	c := &calibration{fits: map[*cell][]fitted{}}
	for _, m := range starts {
		if len(o.models) > 0 && !slices.Contains(o.models, m.Model) {
			continue
		}
		s := newSearch(m, facts, o, log)
		if err := s.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Model, err)
		}
		c.workload.Models = append(c.workload.Models, s.model)
		c.cells = append(c.cells, s.cells...)
	}
	if err := c.measure(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(c.cells, func(a, b *cell) int { return compareNames(a, b) })
	for _, cell := range c.cells {
		c.workload.Lengths = append(c.workload.Lengths, cell.final())
	}
	c.summary(log)
	return c, nil
}

// final are the lengths of a profile as they go into the file.
func (c *cell) final() fleet.Lengths {
	l := c.lengths
	l.Loop, l.Pace = c.loop, math.Exp(c.pace)
	return l
}

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
	vary := func(m fleet.Model, l fleet.Lengths, step float64) error {
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

// parameter is a number that is fitted, on a scale on which it is free, and
// what it is believed to be.
type parameter[T any] struct {
	name  string
	prior normal
	step  float64 // for derivatives
	most  float64 // change at a time
	get   func(*T) float64
	set   func(*T, float64)
}

// believed is what a value costs for being off what it is believed to be.
func (q parameter[T]) believed(t *T) float64 {
	z := (q.get(t) - q.prior.mean) / q.prior.deviation
	return z * z
}

// held is the deviation of what is as good as given.
const held = 1e-3

// timingParameters are those of a model, believed to be near where they start.
func timingParameters(m fleet.Model) []parameter[fleet.Model] {
	base := 0.3
	if m.ThinkingTokens > 0 {
		base = held // see likeliestBase
	}
	p := []parameter[fleet.Model]{
		scale("base", base, 0.02, 0.2, func(m *fleet.Model) (float64, func(float64)) { return span(&m.Timing.Base) }),
		scale("sequence", 0.5, 0.05, 0.3, func(m *fleet.Model) (float64, func(float64)) { return span(&m.Timing.Sequence) }),
		scale("context", 0.7, 0.1, 0.3, func(m *fleet.Model) (float64, func(float64)) { return span(&m.Timing.Context) }),
	}
	if m.ThinkingTokens > 0 {
		p = append(p, scale("late", 1, 0.2, 0.5, func(m *fleet.Model) (float64, func(float64)) { return span(&m.Timing.Late) }))
	} else {
		p = append(p,
			scale("prompt", 0.5, 0.1, 0.3, func(m *fleet.Model) (float64, func(float64)) { return span(&m.Timing.Prompt) }),
			scale("handling", 0.05, 0.03, 0.1, func(m *fleet.Model) (float64, func(float64)) {
				return m.Handling, func(v float64) { m.Handling = v }
			}))
	}
	for i := range p {
		p[i].prior.mean = p[i].get(&m)
	}
	return p
}

// shapeParameters are those of a profile. What they are believed to be is their
// mean over the model's profiles, which the search keeps up to date.
func shapeParameters(m fleet.Model) []parameter[fleet.Lengths] {
	p := []parameter[fleet.Lengths]{
		scale("spread", 0.4, 0.1, 0.3, func(l *fleet.Lengths) (float64, func(float64)) {
			return l.Spread, func(v float64) { l.Spread = math.Max(0.1, math.Min(2, v)) }
		}),
	}
	p = append(p,
		plain("hard", hardPrior, func(l *fleet.Lengths) *float64 { return &l.Hard }),
		plain("noisy", noisyPrior, func(l *fleet.Lengths) *float64 { return &l.Noisy }))
	if m.ThinkingTokens > 0 {
		p = append(p, parameter[fleet.Lengths]{
			name: "endless", prior: normal{0, endlessDeviation}, step: 0.3, most: 1,
			get: func(l *fleet.Lengths) float64 { return math.Log(l.Endless / (1 - l.Endless)) },
			set: func(l *fleet.Lengths, x float64) { l.Endless = 1 / (1 + math.Exp(-clamp(x, 5))) },
		})
	}
	return p
}

// endlessDeviation is by how much the log odds of going on endlessly differ
// between profiles.
const endlessDeviation = 1.8

// scale is a positive parameter, on the scale of its logarithm.
func scale[T any](name string, deviation, step, most float64, at func(*T) (float64, func(float64))) parameter[T] {
	return parameter[T]{
		name: name, prior: normal{0, deviation}, step: step, most: most,
		get: func(t *T) float64 { v, _ := at(t); return math.Log(v) },
		set: func(t *T, x float64) { _, set := at(t); set(math.Exp(x)) },
	}
}

// plain is a parameter on its own scale.
func plain[T any](name string, prior normal, at func(*T) *float64) parameter[T] {
	return parameter[T]{
		name: name, prior: prior, step: 0.15, most: 1,
		get: func(t *T) float64 { return *at(t) },
		set: func(t *T, x float64) { *at(t) = clamp(x, 4) },
	}
}

// span is a duration as a number, and how to set it.
func span(d *time.Duration) (float64, func(float64)) {
	return float64(*d), func(v float64) { *d = time.Duration(math.Round(v)) }
}
