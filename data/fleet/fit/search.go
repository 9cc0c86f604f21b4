package main

import (
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"
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

// each calls f for every cell, on all processors.
func (s *search) each(f func(i int, c *cell)) {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range s.cells {
		all.Go(func() error {
			f(i, c)
			return nil
		})
	}
	_ = all.Wait() // no f fails
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
func (s *search) run() {
	s.each(func(_ int, c *cell) {
		if c.model.ThinkingTokens == 0 {
			c.findLoops(make([]float64, len(c.uniform)))
		}
		c.refresh(s.draws, true)
	})
	if s.model.ThinkingTokens > 0 {
		draws := s.draws
		s.draws = max(1, draws/2)
		s.descend(4)
		s.draws = draws
	}
	s.descend(s.rounds)
	s.each(func(_ int, c *cell) {
		r := c.residuals(s.model, c.lengths, s.draws)
		c.pace = r[len(r)-1]
	})
}

// descend takes a number of steps, and ends at the best of them.
func (s *search) descend(rounds int) {
	least, best := math.Inf(1), s.here()
	for round := range rounds {
		if round < rounds/2 {
			s.recenter()
		}
		if round%3 == 1 && round < rounds-2 {
			s.each(func(_ int, c *cell) { s.reshape(c) })
		}
		now := s.linearize()
		if round >= rounds/2 && now.cost < least {
			least, best = now.cost, s.here()
		}
		s.step(now)
		s.each(func(_ int, c *cell) { c.refresh(s.draws, round < rounds/2 && round%3 == 2) })
	}
	s.move(best)
}

// refresh brings up to date what follows from FLOPs once the model has moved.
func (c *cell) refresh(draws int, all bool) {
	c.locate(&c.lengths)
	if c.model.ThinkingTokens == 0 && all {
		bulk := make([]float64, len(c.uniform))
		for i, r := range c.uniform {
			bulk[i] = c.seconds(*c.model, c.lengths, load{budget: r.budget}, c.seed("bulk").Index(r.budget))
		}
		c.findLoops(bulk)
		c.locate(&c.lengths)
	}
	if all {
		c.chance(draws)
	}
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
func (s *search) cost(p point) float64 {
	costs := make([]float64, len(s.cells))
	s.each(func(i int, c *cell) { costs[i] = s.costOf(c, p.model, p.lengths[i]) })
	sum := 0.0
	for _, v := range costs {
		sum += v
	}
	for _, q := range s.timing {
		sum += q.believed(&p.model)
	}
	return sum
}

// costOf is the cost of lengths for a profile.
func (s *search) costOf(c *cell, m fleet.Model, l fleet.Lengths) float64 {
	r := c.residuals(m, l, s.draws)
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
	return sum
}

// step goes where the linear problem says it is better. Simulated times jump a
// little: where no step is better, the least bad is taken, and run remembers the
// best place.
func (s *search) step(l *linear) {
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
			panic("the normal equations are singular")
		}
		if err := factors.SolveVecTo(&move, l.slope); err != nil {
			panic(err)
		}
		p := s.target(&move)
		s.each(func(i int, c *cell) { c.locate(&p.lengths[i]) })
		cost := s.cost(p)
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
func (s *search) reshape(c *cell) {
	best := c.lengths
	least := s.costOf(c, s.model, best)
	for _, times := range spreads {
		for _, going := range endless {
			l := c.lengths
			l.Spread = math.Max(0.1, math.Min(2, times*l.Spread))
			if c.model.ThinkingTokens > 0 {
				l.Endless = going
			}
			c.locate(&l)
			if cost := s.costOf(c, s.model, l); cost < least {
				least, best = cost, l
			}
			if c.model.ThinkingTokens == 0 {
				break
			}
		}
	}
	c.lengths = best
}
