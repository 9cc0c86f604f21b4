package exante

import (
	"context"
	"math/bits"

	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// Masses estimates the continuation masses B of HBN (paper, Eq. 10) for each
// candidate, from one replicate of panels drawn from the reference prior. All
// candidates see the same panels, as nested paths.
func Masses(ctx context.Context, prior *neyman.Prior, cs Candidates, tasks, panels int, random seed.Stream) ([]float64, error) {
	sums := make([]float64, len(cs))
	err := NewPanels(prior, cs, tasks).add(ctx, panels, sums, independent(&random), &random)
	return divided(sums, panels), err
}

// EvenMasses is Masses of panels that AddEven adds: of fewer, for the same error.
func EvenMasses(ctx context.Context, prior *neyman.Prior, cs Candidates, tasks, panels int, random seed.Stream) ([]float64, error) {
	sums := make([]float64, len(cs))
	err := NewPanels(prior, cs, tasks).AddEven(ctx, panels, sums, NewLattice(&random), &random)
	return divided(sums, panels), err
}

func divided(sums []float64, by int) []float64 {
	for k := range sums {
		sums[k] /= float64(by)
	}
	return sums
}

// mostBlock is the number of panels that are taken through the pilot sizes
// together, so that the tables of a pilot size are made once for all of them
// and stay in the processor's cache. Fewer are where the paths of so many would
// take more than blockBytes. No result depends on either.
const (
	mostBlock  = 512
	blockBytes = 8 << 20
)

// narrowDrop is the loss of log weight at which a node is given up for the
// rest of a panel: far below anything that the eighth digit would show.
const narrowDrop = 30

// Panels are panels of the reference prior, evaluated for every candidate. They
// are the memory of one goroutine.
type Panels struct {
	prior    *neyman.Prior
	pilots   *neyman.Pilots
	cs       Candidates
	tasks    int
	words    int
	rollouts int
	arranger pilot.Arranger

	sizes     []int // pilot sizes of the candidates, ascending
	m         int   // pilot size reached
	which     []int // candidates with that pilot size
	posterior neyman.Posterior

	paths     []uint64 // [panel][task][word]
	successes []uint16 // [panel][task]
	works     []*neyman.Work
	counts    []int
	classes   neyman.Classes

	even bool         // whether the excess is taken off
	beta [][2]float64 // of each panel: ξκ and (1−ξ)κ
}

// NewPanels prepares for panels of so many tasks, at most 65,535.
func NewPanels(prior *neyman.Prior, cs Candidates, tasks int) *Panels {
	rollouts := cs.LongestPilot()
	words := pilot.Words(rollouts)
	block := max(1, min(mostBlock, blockBytes/(8*words*tasks)))
	p := &Panels{
		prior: prior, pilots: prior.Pilots(rollouts), cs: cs, tasks: tasks, rollouts: rollouts, words: words,
		arranger:  pilot.NewArranger(rollouts),
		paths:     make([]uint64, block*tasks*words),
		successes: make([]uint16, block*tasks),
		counts:    make([]int, rollouts+1),
		beta:      make([][2]float64, block),
	}
	for m := 1; m <= rollouts; m++ {
		if len(cs.WithPilot(m)) > 0 {
			p.sizes = append(p.sizes, m)
		}
	}
	for range block {
		p.works = append(p.works, prior.NewWork())
	}
	return p
}

// AddEven draws further panels, their hyperparameters the next of a lattice, and
// adds values to the sum of each candidate, panel by panel, that have the mean of
// Masses and far less of its error: Σ v/L, less the excess of the panel's variance
// divided as a uniform continuation would have it,
//
//	Σ v/L − {Σ E[p(1−p) | S, ξ, δ] − N·v̄}/(b−m).
//
// The excess has the mean zero, and explains most by which panels differ.
func (p *Panels) AddEven(ctx context.Context, panels int, sums []float64, lattice Lattice, random *seed.Stream) error {
	p.even = true
	defer func() { p.even = false }()
	return p.add(ctx, panels, sums, lattice.next, random)
}

// hyper draws ξ and δ of one panel after the other.
type hyper func() (xi, delta float64)

// independent draws them independently and uniformly.
func independent(random *seed.Stream) hyper {
	return func() (xi, delta float64) { return inside(random.Uint64()), inside(random.Uint64()) }
}

func (p *Panels) add(ctx context.Context, panels int, sums []float64, of hyper, random *seed.Stream) error {
	for first := 0; first < panels; first += len(p.works) {
		if err := p.block(ctx, min(len(p.works), panels-first), sums, of, random); err != nil {
			return err
		}
	}
	return nil
}

// block draws a block of panels and adds their values to sums.
func (p *Panels) block(ctx context.Context, panels int, sums []float64, of hyper, random *seed.Stream) error {
	clear(p.successes)
	var totals pilot.Totals
	for panel := range panels {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.works[panel].Restart()
		p.draw(panel, &totals, of, random)
	}
	p.m = 0
	for _, m := range p.sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := p.m
		p.m, p.which = m, p.cs.WithPilot(m)
		p.posterior.Set(p.pilots, m)
		for panel := range panels {
			p.count(panel, before)
			p.evaluate(panel, sums)
		}
	}
	return nil
}

// draw draws ξ and δ, and the pilot paths of all tasks given them.
func (p *Panels) draw(panel int, totals *pilot.Totals, of hyper, random *seed.Stream) {
	xi, delta := of()
	kappa := (1 - delta) / delta
	p.beta[panel] = [2]float64{xi * kappa, (1 - xi) * kappa}
	totals.BetaBinomial(p.rollouts, xi*kappa, (1-xi)*kappa)
	for task := range p.tasks {
		i := (panel*p.tasks + task) * p.words
		p.arranger.Draw(p.paths[i:i+p.words], totals.Invert(random.Float64()), random)
	}
}

// count takes a panel from the pilot size before to the one reached: the number
// of tasks by successes.
func (p *Panels) count(panel, before int) {
	counts := p.counts[:p.m+1]
	clear(counts)
	successes := p.successes[panel*p.tasks : (panel+1)*p.tasks]
	paths := p.paths[panel*p.tasks*p.words:]
	for at := before; at < p.m; {
		word, shift := at>>6, uint(at)&63
		n := min(p.m-at, 64-int(shift))
		mask := ^uint64(0) >> (64 - uint(n))
		for task := range successes {
			successes[task] += uint16(bits.OnesCount64(paths[task*p.words+word] >> shift & mask))
		}
		at += n
	}
	for _, s := range successes {
		counts[s]++
	}
}

// evaluate adds the values of a panel's candidates of the pilot size reached.
func (p *Panels) evaluate(panel int, sums []float64) {
	counts := p.counts[:p.m+1]
	work := p.works[panel]
	scores := p.posterior.Scores(counts, work)
	work.Narrow(p.prior, narrowDrop)
	p.classes.Reset()
	for s, n := range counts {
		if n != 0 {
			p.classes.Add(n, scores.At(s))
		}
	}
	for _, k := range p.which {
		sums[k] += p.classes.Value(p.tasks * (p.cs[k].Budget - p.m))
	}
	if p.even {
		excess := p.excess(p.beta[panel])
		for _, k := range p.which {
			sums[k] -= excess / float64(p.cs[k].Budget-p.m)
		}
	}
}

// excess is by how much the expected Σ p(1−p) of the panel counted last, given its
// pilots and that p ~ Beta(a, b), is above N·v̄.
func (p *Panels) excess(beta [2]float64) float64 {
	a, b, m := beta[0], beta[1], float64(p.m)
	sum := 0.0
	for s, n := range p.counts[:p.m+1] {
		if n != 0 {
			sum += float64(n) * (a + float64(s)) * (b + m - float64(s))
		}
	}
	return sum/((a+b+m)*(a+b+m+1)) - float64(p.tasks)*neyman.MeanVariance
}
