package informed

import (
	"math"
	"math/rand/v2"

	"speceval/method/neyman"
)

// Draw draws the probabilities of all tasks from the prior into ps.
func (p *Prior) Draw(source rand.Source, ps []float64) {
	p.draw(uniform(source), source, ps)
}

// DrawByDonors draws the probabilities of all tasks from the nodes of donors alone: of a
// model that they are of use for, as the prior has it. Without donors it is Draw.
func (p *Prior) DrawByDonors(source rand.Source, ps []float64) {
	place := uniform(source)
	if p.Donors() > 0 {
		place = coldWeight + (1-coldWeight)*place
	}
	p.draw(place, source, ps)
}

// draw draws from the node at a place among the prior weights.
func (p *Prior) draw(place float64, source rand.Source, ps []float64) {
	s, node := p.pick(place)
	for i, level := range s.level {
		a, b := s.alpha[int(level)*s.nodes+node], s.beta[int(level)*s.nodes+node]
		ps[i] = neyman.DrawBeta(a, b, source)
	}
}

// pick is the node at a place from 0 to 1 among the prior weights.
func (p *Prior) pick(place float64) (*source, int) {
	var last *source
	for k := range p.sources {
		last = &p.sources[k]
		for node, l := range last.log {
			if place -= math.Exp(l); place < 0 {
				return last, node
			}
		}
	}
	return last, last.nodes - 1
}

// uniform returns a uniform number in [0, 1).
func uniform(source rand.Source) float64 { return float64(source.Uint64()>>11) * 0x1p-53 }
