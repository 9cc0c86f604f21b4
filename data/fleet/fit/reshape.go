package main

import (
	"context"
	"math"

	"speceval/internal/fleet/workload"
)

// Many answers that go on to the limit, or a wide spread of the others: both make the
// last answers long, and by small changes a search does not get from one to the other.

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
