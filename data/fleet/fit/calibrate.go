package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/fleet"
)

// likeliestBase is the factor of the base that makes what was published likeliest;
// README.md in this folder has the others that were tried.
const likeliestBase = 0.97

// starts are where the search begins: close to what a GPU of this kind can do. The base of
// thinking models is the time of reading the weights at the rate of the others, whose
// looping answers show it well: 1.17 ms, and 0.665 ms for a billion parameters.
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

// calibrate fits one model after another.
func calibrate(facts []*fact) *fleet.Workload {
	workload := &fleet.Workload{}
	for _, m := range starts {
		if m.ThinkingTokens > 0 {
			m.Timing.Base = time.Duration(math.Round(likeliestBase * float64(m.Timing.Base)))
		}
		s := newSearch(m, facts)
		s.run()
		workload.Models = append(workload.Models, s.model)
		for _, c := range s.cells {
			c.lengths.Loop, c.lengths.Pace = c.loop, math.Exp(c.pace)
			workload.Lengths = append(workload.Lengths, c.lengths)
		}
	}
	slices.SortFunc(workload.Lengths, func(a, b fleet.Lengths) int {
		return cmp.Or(strings.Compare(a.Benchmark, b.Benchmark), strings.Compare(a.Model, b.Model))
	})
	return workload
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

// loss is the cost of a residual of z standard deviations, and its weight.
func loss(z float64) (cost, weight float64) {
	t := 1 + z*z/(tolerance*tolerance)
	return tolerance * tolerance * math.Log(t), 1 / t
}

// linearize differentiates all residuals.
func (s *search) linearize() *linear {
	here := s.here()
	timing, shape := len(s.timing), len(s.shape)
	size := timing + shape*len(s.cells)
	l := &linear{cost: s.cost(here), normal: mat.NewSymDense(size, nil), slope: mat.NewVecDense(size, nil)}
	rows := make([][][]float64, len(s.cells)) // by cell and run: derivatives, then the residual, weighted
	s.each(func(i int, c *cell) { rows[i] = s.rows(c) })
	for i := range s.cells {
		columns := make([]int, timing+shape)
		for j := range columns {
			if columns[j] = j; j >= timing {
				columns[j] += i * shape
			}
		}
		for _, row := range rows[i] {
			l.addResidual(columns, row)
		}
		for j, q := range s.shape {
			l.addResidual(columns[timing+j:][:1], q.residual(&here.lengths[i]))
		}
	}
	for j, q := range s.timing {
		l.addResidual([]int{j}, q.residual(&here.model))
	}
	return l
}

// addResidual takes up a residual with its derivatives in some columns.
func (l *linear) addResidual(columns []int, row []float64) {
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
func (s *search) rows(c *cell) [][]float64 {
	base := c.residuals(s.model, c.lengths, s.draws)
	var derivatives [][]float64
	vary := func(m fleet.Model, l fleet.Lengths, step float64) {
		r := c.residuals(m, l, s.draws)
		for k := range r {
			r[k] = (r[k] - base[k]) / step
		}
		derivatives = append(derivatives, r)
	}
	for _, q := range s.timing {
		m := s.model
		q.set(&m, q.get(&m)+q.step)
		vary(m, c.lengths, q.get(&m)-q.get(&s.model))
	}
	for _, q := range s.shape {
		l := c.lengths
		q.set(&l, q.get(&l)+q.step)
		c.locate(&l)
		vary(s.model, l, q.step)
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
	return rows
}

// parameter is a number that is fitted, on a scale on which it is free, and
// what it is believed to be.
type parameter[T any] struct {
	prior  normal
	pooled bool    // the prior has the mean of a model's profiles
	step   float64 // for derivatives
	most   float64 // change at a time
	get    func(*T) float64
	set    func(*T, float64)
}

// residual is how far a value is from what it is believed to be, in standard
// deviations, after its derivative.
func (q parameter[T]) residual(t *T) []float64 {
	return []float64{1 / q.prior.deviation, (q.get(t) - q.prior.mean) / q.prior.deviation}
}

// believed is the cost of that distance, in units of −2 log likelihood.
func (q parameter[T]) believed(t *T) float64 {
	z := q.residual(t)[1]
	return z * z
}

// timingParameters lists the timing of a model, with priors around where it starts.
func timingParameters(m fleet.Model) []parameter[fleet.Model] {
	base := 0.3
	if m.ThinkingTokens > 0 {
		base = 1e-3 // as good as given, see likeliestBase
	}
	p := []parameter[fleet.Model]{
		duration(base, 0.02, 0.2, func(t *fleet.Timing) *time.Duration { return &t.Base }),
		duration(0.5, 0.05, 0.3, func(t *fleet.Timing) *time.Duration { return &t.Sequence }),
		duration(0.7, 0.1, 0.3, func(t *fleet.Timing) *time.Duration { return &t.Context }),
	}
	if m.ThinkingTokens > 0 {
		p = append(p, duration(1, 0.2, 0.5, func(t *fleet.Timing) *time.Duration { return &t.Late }))
	} else {
		p = append(p,
			duration(0.5, 0.1, 0.3, func(t *fleet.Timing) *time.Duration { return &t.Prompt }),
			scale(0.05, 0.03, 0.1, func(m *fleet.Model) float64 { return m.Handling }, func(m *fleet.Model, v float64) { m.Handling = v }))
	}
	for i := range p {
		p[i].prior.mean = p[i].get(&m)
	}
	return p
}

// shapeParameters lists the shape of a profile's lengths.
func shapeParameters(m fleet.Model) []parameter[fleet.Lengths] {
	spread := scale(0.4, 0.1, 0.3, func(l *fleet.Lengths) float64 { return l.Spread },
		func(l *fleet.Lengths, v float64) { l.Spread = math.Max(0.1, math.Min(2, v)) })
	spread.pooled = true
	p := []parameter[fleet.Lengths]{
		spread,
		plain(hardPrior, func(l *fleet.Lengths) *float64 { return &l.Hard }),
		plain(noisyPrior, func(l *fleet.Lengths) *float64 { return &l.Noisy }),
	}
	if m.ThinkingTokens > 0 {
		p = append(p, parameter[fleet.Lengths]{
			prior: normal{0, endlessDeviation}, pooled: true, step: 0.3, most: 1,
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
func scale[T any](deviation, step, most float64, get func(*T) float64, set func(*T, float64)) parameter[T] {
	return parameter[T]{
		prior: normal{0, deviation}, step: step, most: most,
		get: func(t *T) float64 { return math.Log(get(t)) },
		set: func(t *T, x float64) { set(t, math.Exp(x)) },
	}
}

// duration is a time of a step, likewise.
func duration(deviation, step, most float64, at func(*fleet.Timing) *time.Duration) parameter[fleet.Model] {
	return scale(deviation, step, most, func(m *fleet.Model) float64 { return float64(*at(&m.Timing)) },
		func(m *fleet.Model, v float64) { *at(&m.Timing) = time.Duration(math.Round(v)) })
}

// plain is a parameter on its own scale.
func plain[T any](prior normal, at func(*T) *float64) parameter[T] {
	return parameter[T]{
		prior: prior, step: 0.15, most: 1,
		get: func(t *T) float64 { return *at(t) },
		set: func(t *T, x float64) { *at(t) = clamp(x, 4) },
	}
}
