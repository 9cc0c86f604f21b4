package main

import (
	"context"
	"fmt"
	"math"

	"speceval/internal/fleet/workload"
)

// What a step takes beside its sequences, and how many answers go on to the limit,
// decide together how long the last answers are waited for: fast steps with many
// such answers give about the same times as slow steps with few. The steps of a
// search do not lead from one to the other, so it tries several of both.

// bases are tried for the base of a step, times the start's, from the slowest to the
// fastest and back: each search begins where the one before ended.
var bases = []float64{1.1, 0.97, 0.85, 0.75, 0.85, 0.97, 1.1}

// scanned is what the fit makes of a base.
type scanned struct {
	model string
	base  float64 // ns
	cost  float64 // −2 × the logarithm of the likelihood, but for a constant
}

// note keeps the better of the searches with a base.
func (s *search) note(found scanned) {
	for i := range s.scanned {
		if s.scanned[i].base == found.base {
			s.scanned[i].cost = math.Min(s.scanned[i].cost, found.cost)
			return
		}
	}
	s.scanned = append(s.scanned, found)
}

// held is the standard deviation of a base that is held.
const held = 1e-3

// scan fits with the base held at one value after the other, and goes where it was
// best, with what is believed of the base.
func (s *search) scan(ctx context.Context) error {
	const rounds = 4
	free, draws := s.timing[0], s.draws
	s.draws = max(1, draws/2)
	least, best := math.Inf(1), s.here()
	tried := bases
	if s.base > 0 {
		tried = []float64{s.base}
		defer func() { s.timing[0].prior = normal{free.prior.mean + math.Log(s.base), held} }()
	}
	for _, factor := range tried {
		at := free.prior.mean + math.Log(factor)
		s.timing[0].set(&s.model, at)
		s.timing[0].prior = normal{at, held}
		cost, err := s.descend(ctx, rounds)
		if err != nil {
			return err
		}
		cost += s.norm()
		s.note(scanned{s.model.Model, math.Exp(at), cost})
		fmt.Fprintf(s.log, "%s: with a base of %v: %.1f\n", s.model.Model, s.model.Timing.Base, cost)
		z := math.Log(factor) / free.prior.deviation
		cost += z * z
		if cost < least {
			least, best = cost, s.here()
		}
	}
	s.timing[0], s.draws = free, draws
	s.move(best)
	return nil
}

// norm is the part of the cost that does not hang on residuals: deviations by chance
// are the model's own.
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

// Shapes that are tried for a profile, beside the one that it has.
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
	try := func(l workload.Lengths) error {
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
