package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"speceval/internal/fleet"
)

// search fits one model and its profiles: the timing, which they share, and the
// spread, slopes and endlessness of each one's answers, together, by Levenberg
// and Marquardt's method on the logarithms of times and of HBN's useful FLOPs.
// The location follows from the mean FLOPs in every trial.
type search struct {
	model   fleet.Model
	cells   []*cell
	timing  []parameter[fleet.Model]
	shape   []parameter[fleet.Lengths]
	rounds  int // steps of the fit
	draws   int // rollouts per task, at least, that a simulated time is the mean of
	damping float64
}

func newSearch(m fleet.Model, facts []*fact) *search {
	s := &search{model: m, timing: timingParameters(m), shape: shapeParameters(m), rounds: 12, draws: 32, damping: 0.1}
	for _, f := range facts {
		if f.Model == m.Model {
			s.cells = append(s.cells, newCell(f, &s.model))
		}
	}
	return s
}

func newCell(f *fact, m *fleet.Model) *cell {
	c := &cell{fact: f, model: m, lengths: fleet.Lengths{
		Benchmark: f.Benchmark, Model: f.Model, Prompt: f.prompt, TaskSpread: 0.3, Spread: 0.65,
		Hard: hardPrior.mean, Noisy: noisyPrior.mean, Location: 8,
	}}
	if m.ThinkingTokens == 0 {
		c.lengths.Location, c.lengths.Spread = 6, 0.5
		return c
	}
	c.lengths.Closing, c.lengths.Endless = 500, 0.8
	flops, rollouts := 0.0, 0.0
	for _, r := range f.uniform {
		flops += r.flops
		rollouts += float64(f.N() * r.budget)
	}
	c.target = flops / rollouts
	return c
}

// each calls f for every cell, on all processors, and returns all faults.
func (s *search) each(f func(i int, c *cell) error) error {
	faults := make([]error, len(s.cells))
	next := atomic.Int64{}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(faults); i = int(next.Add(1)) - 1 {
				faults[i] = f(i, s.cells[i])
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
	if err := s.each(func(_ int, c *cell) error {
		if c.model.ThinkingTokens == 0 {
			c.findLoops(make([]float64, len(c.uniform)))
		}
		return c.refresh(ctx, s.draws, true)
	}); err != nil {
		return err
	}
	if s.model.ThinkingTokens > 0 {
		draws := s.draws
		s.draws = max(1, draws/2)
		if err := s.descend(ctx, 4); err != nil {
			return err
		}
		s.draws = draws
	}
	if err := s.descend(ctx, s.rounds); err != nil {
		return err
	}
	return s.each(func(_ int, c *cell) error {
		r, err := c.residuals(ctx, s.model, c.lengths, s.draws)
		if err == nil {
			c.pace = r[len(r)-1]
		}
		return err
	})
}

// descend takes a number of steps, and ends at the best of them.
func (s *search) descend(ctx context.Context, rounds int) error {
	least, best := math.Inf(1), s.here()
	for round := range rounds {
		if round < rounds/2 {
			s.recenter()
		}
		if round%3 == 1 && round < rounds-2 {
			if err := s.each(func(_ int, c *cell) error { return s.reshape(ctx, c) }); err != nil {
				return err
			}
		}
		now, err := s.linearize(ctx)
		if err != nil {
			return err
		}
		if round >= rounds/2 && now.cost < least {
			least, best = now.cost, s.here()
		}
		if err := s.step(ctx, now); err != nil {
			return err
		}
		if err := s.each(func(_ int, c *cell) error {
			return c.refresh(ctx, s.draws, round < rounds/2 && round%3 == 2)
		}); err != nil {
			return err
		}
	}
	s.move(best)
	return nil
}

// refresh brings up to date what follows from FLOPs once the model has moved.
func (c *cell) refresh(ctx context.Context, draws int, all bool) error {
	c.locate(&c.lengths)
	if c.model.ThinkingTokens == 0 && all {
		bulk := make([]float64, len(c.uniform))
		for i, r := range c.uniform {
			var err error
			if bulk[i], err = c.seconds(ctx, *c.model, c.lengths, load{budget: r.budget}, c.seed("bulk").Index(r.budget)); err != nil {
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
	for j, q := range s.shape {
		sum := 0.0
		for _, c := range s.cells {
			sum += q.get(&c.lengths)
		}
		if q.pooled {
			s.shape[j].prior.mean = sum / float64(len(s.cells))
		}
	}
}

// cost is the cost of a point, over all profiles.
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

// costOf is the cost of lengths for a profile.
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

// Shapes that are tried for a profile, as well as its own. Many answers that go on to
// the limit, or a wide spread of the others: both make the last answers long, and by
// small changes a search does not get from one to the other.
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
	for _, times := range spreads {
		for _, going := range endless {
			l := c.lengths
			l.Spread = math.Max(0.1, math.Min(2, times*l.Spread))
			if c.model.ThinkingTokens > 0 {
				l.Endless = going
			}
			c.locate(&l)
			cost, err := s.costOf(ctx, c, s.model, l)
			if err != nil {
				return err
			}
			if cost < least {
				least, best = cost, l
			}
			if c.model.ThinkingTokens == 0 {
				break
			}
		}
	}
	c.lengths = best
	return nil
}
