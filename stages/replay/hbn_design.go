package replay

import (
	"context"

	"speceval/internal/pilot"
	"speceval/internal/seed"
	"speceval/method/neyman"
)

// hbnMasses estimates the continuation masses B of HBN (paper, Eq. 10) for each
// candidate, from one replicate of panels drawn from the reference prior. All
// candidates see the same panels, as nested paths.
func hbnMasses(ctx context.Context, prior *neyman.Prior, cs candidates, tasks, panels int, random seed.Stream) ([]float64, error) {
	d := newPriorPanels(prior, cs, tasks)
	sums := make([]float64, len(cs))
	for first := 0; first < panels; first += priorBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.block(min(priorBlock, panels-first), sums, &random)
	}
	for k := range sums {
		sums[k] /= float64(panels)
	}
	return sums, nil
}

// priorBlock is the number of panels that are taken through the pilot sizes
// together, so that the tables of a pilot size are made once for all of them
// and stay in the processor's cache.
const priorBlock = 512

// narrowDrop is the loss of log weight at which a node is given up for the
// rest of a panel: far below anything that the eighth digit would show.
const narrowDrop = 30

// priorPanels are panels of the reference prior, evaluated for every candidate.
type priorPanels struct {
	prior    *neyman.Prior
	pilots   *neyman.Pilots
	cs       candidates
	tasks    int
	words    int
	rollouts int
	arranger pilot.Arranger

	m         int   // pilot size reached
	which     []int // candidates with that pilot size
	posterior neyman.Posterior

	paths     []uint64 // [panel][task][word]
	successes []uint16 // [panel][task]
	works     []*neyman.Work
	counts    []int
	classes   neyman.Classes
}

func newPriorPanels(prior *neyman.Prior, cs candidates, tasks int) *priorPanels {
	rollouts := cs.longestPilot()
	d := &priorPanels{
		prior: prior, cs: cs, tasks: tasks, rollouts: rollouts, words: pilot.Words(rollouts),
		arranger:  pilot.NewArranger(rollouts),
		successes: make([]uint16, priorBlock*tasks),
		counts:    make([]int, rollouts+1),
	}
	d.paths = make([]uint64, priorBlock*tasks*d.words)
	d.pilots = prior.Pilots(rollouts)
	for range priorBlock {
		d.works = append(d.works, prior.NewWork())
	}
	return d
}

// block draws a block of panels and adds their values to sums.
func (d *priorPanels) block(panels int, sums []float64, random *seed.Stream) {
	clear(d.successes)
	var totals pilot.Totals
	for panel := range panels {
		d.works[panel].Restart()
		d.draw(panel, &totals, random)
	}
	for d.m = 1; d.m <= d.rollouts; d.m++ {
		d.which = d.cs.withPilot(d.m)
		d.posterior.Set(d.pilots, d.m)
		for panel := range panels {
			d.evaluate(panel, sums)
		}
	}
}

// draw draws ξ and δ, and the pilot paths of all tasks given them.
func (d *priorPanels) draw(panel int, totals *pilot.Totals, random *seed.Stream) {
	xi, delta := open(random), open(random)
	kappa := (1 - delta) / delta
	totals.BetaBinomial(d.rollouts, xi*kappa, (1-xi)*kappa)
	for task := range d.tasks {
		i := (panel*d.tasks + task) * d.words
		d.arranger.Draw(d.paths[i:i+d.words], totals.Invert(random.Float64()), random)
	}
}

// open returns a uniform number in (0, 1).
func open(random *seed.Stream) float64 {
	return float64(random.Uint64()>>12)*0x1p-52 + 0x1p-53
}

// evaluate takes a panel to the pilot size reached and adds the values of its
// candidates of that size.
func (d *priorPanels) evaluate(panel int, sums []float64) {
	counts := d.counts[:d.m+1]
	clear(counts)
	word, shift := (d.m-1)>>6, uint(d.m-1)&63
	successes := d.successes[panel*d.tasks : (panel+1)*d.tasks]
	paths := d.paths[panel*d.tasks*d.words:]
	for task := range successes {
		s := successes[task] + uint16(paths[task*d.words+word]>>shift&1)
		successes[task] = s
		counts[s]++
	}
	work := d.works[panel]
	scores := d.posterior.Scores(counts, work)
	work.Narrow(d.prior, narrowDrop)
	d.classes.Reset()
	for s, n := range counts {
		if n != 0 {
			d.classes.Add(n, scores.At(s))
		}
	}
	for _, k := range d.which {
		sums[k] += d.classes.Value(d.tasks * (d.cs[k].budget - d.m))
	}
}
