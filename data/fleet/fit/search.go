package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/fleet"

	"gonum.org/v1/gonum/mat"
)

// search fits one model and its profiles: the timing, which they share, and the
// spread, slopes and endlessness of each one's answers, together, by Levenberg
// and Marquardt's method on the logarithms of times and of HBN's useful FLOPs.
// The location follows from the mean FLOPs in every trial.
type search struct {
	options
	log     io.Writer
	model   fleet.Model
	cells   []*cell
	timing  []parameter[fleet.Model]
	shape   []parameter[fleet.Lengths]
	damping float64
}

func newSearch(m fleet.Model, facts []*fact, o options, log io.Writer) *search {
	s := &search{options: o, log: log, model: m, damping: 0.1}
	if m.ThinkingTokens > 0 {
		s.model.Timing.Base = time.Duration(math.Round(o.base * float64(m.Timing.Base)))
	}
	s.timing = timingParameters(s.model)
	s.shape = shapeParameters(m)
	for _, f := range facts {
		if f.Model == m.Model {
			s.cells = append(s.cells, newCell(f, &s.model, o.without))
		}
	}
	return s
}

func newCell(f *fact, m *fleet.Model, without []int) *cell {
	c := &cell{fact: f, model: m, held: func(u uniform) bool {
		for _, b := range without {
			if u.reference == b {
				return true
			}
		}
		return false
	}}
	c.lengths = fleet.Lengths{
		Benchmark: f.Benchmark, Model: f.Model, Prompt: f.prompt, TaskSpread: 0.3, Spread: 0.65,
		Hard: hardPrior.mean, Noisy: noisyPrior.mean, Location: 8,
	}
	if m.ThinkingTokens > 0 {
		c.lengths.Closing, c.lengths.Endless = 500, 0.8
		flops, rollouts := 0.0, 0.0
		for _, r := range f.uniform {
			if !c.held(r) {
				flops += r.flops
				rollouts += float64(f.N() * r.budget)
			}
		}
		c.target = flops / rollouts
	} else {
		c.lengths.Location, c.lengths.Spread = 6, 0.5
	}
	return c
}

// each calls f for every cell.
func (s *search) each(f func(i int, c *cell) error) error { return each(s.cells, f) }

// each calls f for every cell, on all processors, and gives the first fault.
func each(cells []*cell, f func(i int, c *cell) error) error {
	faults := make([]error, len(cells))
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(cells)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(cells); i = int(next.Add(1)) - 1 {
				faults[i] = f(i, cells[i])
			}
		})
	}
	workers.Wait()
	return errors.Join(faults...)
}

// point is a place that the search may move to.
type point struct {
	model   fleet.Model
	lengths []fleet.Lengths // by cell
}

func (s *search) here() point {
	p := point{model: s.model}
	for _, c := range s.cells {
		p.lengths = append(p.lengths, c.lengths)
	}
	return p
}

func (s *search) move(p point) {
	s.model = p.model
	for i, c := range s.cells {
		c.lengths = p.lengths[i]
	}
}

// run searches, a few steps with half the draws first.
func (s *search) run(ctx context.Context) error {
	if err := s.each(func(_ int, c *cell) error { return c.prepare(ctx, s.draws) }); err != nil {
		return err
	}
	if s.model.ThinkingTokens > 0 {
		draws := s.draws
		s.draws = max(1, draws/2)
		if _, err := s.descend(ctx, 4); err != nil {
			return err
		}
		s.draws = draws
	}
	cost, err := s.descend(ctx, s.rounds)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.log, "%s: base %v, -2 log likelihood %.1f\n", s.model.Model, s.model.Timing.Base, cost+s.norm())
	return s.each(func(_ int, c *cell) error {
		r, err := c.residuals(ctx, s.model, c.lengths, s.draws)
		if err == nil {
			c.pace = r[len(r)-1]
		}
		return err
	})
}

// descend takes so many steps, goes where it was best, and returns the cost there.
func (s *search) descend(ctx context.Context, rounds int) (float64, error) {
	least, best := math.Inf(1), s.here()
	for round := range rounds {
		if round < rounds/2 {
			s.recenter()
		}
		if round%3 == 1 && round < rounds-2 {
			if err := s.each(func(_ int, c *cell) error { return s.reshape(ctx, c) }); err != nil {
				return 0, err
			}
		}
		now, err := s.linearize(ctx)
		if err != nil {
			return 0, err
		}
		if round >= rounds/2 && now.cost < least {
			least, best = now.cost, s.here()
		}
		fmt.Fprintf(s.log, "%s: round %d: cost %.1f, damping %.2g, %s\n", s.model.Model, round+1, now.cost, s.damping, s.describe())
		if err := s.step(ctx, now); err != nil {
			return 0, err
		}
		if err := s.each(func(_ int, c *cell) error {
			return c.refresh(ctx, s.draws, round < rounds/2 && round%3 == 2)
		}); err != nil {
			return 0, err
		}
	}
	s.move(best)
	return least, nil
}

// prepare makes a first guess of all that follows from FLOPs.
func (c *cell) prepare(ctx context.Context, draws int) error {
	if c.model.ThinkingTokens == 0 {
		c.findLoops(make([]float64, len(c.uniform)))
	}
	return c.refresh(ctx, draws, true)
}

// refresh brings up to date what follows from FLOPs once the model has moved.
func (c *cell) refresh(ctx context.Context, draws int, all bool) error {
	c.locate(&c.lengths)
	if c.model.ThinkingTokens == 0 && all {
		bulk := make([]float64, len(c.uniform))
		for i, r := range c.uniform {
			var err error
			if bulk[i], err = c.execution(*c.model, c.lengths, r.budget, 0, "bulk").seconds(ctx); err != nil {
				return err
			}
		}
		c.findLoops(bulk)
		c.locate(&c.lengths)
	}
	if all {
		return c.chance(ctx, draws)
	}
	return nil
}

// recenter sets what shapes are believed to be to their mean.
func (s *search) recenter() {
	for j := range s.shape {
		if s.shape[j].name == "hard" || s.shape[j].name == "noisy" {
			continue
		}
		sum := 0.0
		for _, c := range s.cells {
			sum += s.shape[j].get(&c.lengths)
		}
		s.shape[j].prior.mean = sum / float64(len(s.cells))
	}
}

// cost is what a point costs.
func (s *search) cost(ctx context.Context, p point) (float64, error) {
	costs := make([]float64, len(s.cells))
	err := s.each(func(i int, c *cell) error {
		var err error
		costs[i], err = s.costOf(ctx, c, p.model, p.lengths[i])
		return err
	})
	sum := 0.0
	for _, v := range costs {
		sum += v
	}
	for _, q := range s.timing {
		sum += q.believed(&p.model)
	}
	return sum, err
}

// costOf is what lengths cost a profile.
func (s *search) costOf(ctx context.Context, c *cell, m fleet.Model, l fleet.Lengths) (float64, error) {
	r, err := c.residuals(ctx, m, l, s.draws)
	sum := 0.0
	for k := range r {
		if c.usable(k) {
			cost, _ := loss(r[k] / c.deviations[k])
			sum += cost
		}
	}
	for _, q := range s.shape {
		sum += q.believed(&l)
	}
	return sum, err
}

// norm is the part of −2 times the logarithm of the likelihood that does not hang on
// residuals: deviations by chance are the model's own.
func (s *search) norm() float64 {
	sum := 0.0
	for _, c := range s.cells {
		for k, d := range c.deviations {
			if c.usable(k) {
				sum += 2 * math.Log(d)
			}
		}
	}
	return sum
}

// step goes where the linear problem says it is better. Simulated times jump a
// little: where no step is better, the least bad is taken, and run remembers the
// best place.
func (s *search) step(ctx context.Context, l *linear) error {
	least, best := math.Inf(1), point{}
	for range 3 {
		size := l.slope.Len()
		damped := mat.NewSymDense(size, nil)
		damped.CopySym(l.normal)
		for i := range size {
			damped.SetSym(i, i, l.normal.At(i, i)*(1+s.damping))
		}
		var factors mat.Cholesky
		var move mat.VecDense
		if !factors.Factorize(damped) {
			return errors.New("the normal equations are singular")
		}
		if err := factors.SolveVecTo(&move, l.slope); err != nil {
			return err
		}
		p := s.target(&move)
		if err := s.each(func(i int, c *cell) error { c.locate(&p.lengths[i]); return nil }); err != nil {
			return err
		}
		cost, err := s.cost(ctx, p)
		if err != nil {
			return err
		}
		if cost < least {
			least, best = cost, p
		}
		if cost < l.cost {
			s.damping = math.Max(s.damping/4, 1e-3)
			break
		}
		s.damping = math.Min(4*s.damping, 10)
	}
	s.move(best)
	return nil
}

// target is where a move leads to.
func (s *search) target(move *mat.VecDense) point {
	p := s.here()
	for j, q := range s.timing {
		q.set(&p.model, q.get(&p.model)+clamp(move.AtVec(j), q.most))
	}
	for i := range s.cells {
		for j, q := range s.shape {
			q.set(&p.lengths[i], q.get(&p.lengths[i])+clamp(move.AtVec(len(s.timing)+i*len(s.shape)+j), q.most))
		}
	}
	return p
}

// describe is the model as it stands.
func (s *search) describe() string {
	t := s.model.Timing
	text := fmt.Sprintf("base %v, sequence %v, context %v, late %v, prompt %v, handling %.1f ns", t.Base, t.Sequence, t.Context, t.Late, t.Prompt, s.model.Handling)
	for _, q := range s.shape {
		text += fmt.Sprintf(", %s about %.2f", q.name, q.prior.mean)
	}
	return text
}

// Many answers that go on to the limit, or a wide spread of the others: both make the
// last answers long, and by small changes a search does not get from one to the other.

// Shapes that are tried for a profile, as well as the one that it has.
var (
	spreads = []float64{0.5, 0.7, 1, 1.4}            // times the spread
	endless = []float64{0.02, 0.12, 0.5, 0.88, 0.98} // of thinking models
)

// reshape gives a profile the best of these.
func (s *search) reshape(ctx context.Context, c *cell) error {
	best := c.lengths
	least, err := s.costOf(ctx, c, s.model, best)
	if err != nil {
		return err
	}
	try := func(l fleet.Lengths) error {
		c.locate(&l)
		cost, err := s.costOf(ctx, c, s.model, l)
		if cost < least {
			least, best = cost, l
		}
		return err
	}
	for _, times := range spreads {
		l := c.lengths
		l.Spread = math.Max(0.1, math.Min(2, times*l.Spread))
		if c.model.ThinkingTokens == 0 {
			if err := try(l); err != nil {
				return err
			}
			continue
		}
		for _, l.Endless = range endless {
			if err := try(l); err != nil {
				return err
			}
		}
	}
	c.lengths = best
	return nil
}
