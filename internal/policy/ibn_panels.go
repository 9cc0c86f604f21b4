package policy

import (
	"context"
	"math"
	"math/bits"

	"speceval/internal/policy/pilot"
	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// urns are the prior-predictive panels of IBN: for every panel and task the path of a Pólya
// urn, of use only by its folded count min(S, m−S). The uniforms behind totals and orders
// are drawn once and shared by all prior strengths, so that a panel changes little from one
// strength to the next and only the tasks whose total changed are drawn further.
type urns struct {
	panels, tasks, rollouts, words int

	uniforms []float64     // [panel][task], behind the total
	streams  []seed.Stream // [panel][task], behind the order
	totals   []int32       // [panel][task], min(S, M−S)
	paths    []uint64      // [panel][task][word]
	events   []uint64      // [panel][task][word], see pilot.Fold
	arranger pilot.Arranger

	// rises[block][m−1][panel][j] counts the tasks whose folded count goes from
	// j to j+1 at the m-th rollout.
	rises []uint16
	lanes int
}

// blockPanels is the number of panels whose rises lie together, to keep the
// update of a panel within the processor's cache.
const blockPanels = 32

func newUrns(panels, tasks, rollouts int, random *seed.Stream) *urns {
	u := &urns{
		panels: panels, tasks: tasks, rollouts: rollouts, words: pilot.PathWords(rollouts),
		uniforms: make([]float64, panels*tasks),
		streams:  make([]seed.Stream, panels*tasks),
		totals:   make([]int32, panels*tasks),
		arranger: pilot.NewArranger(rollouts),
		lanes:    max(1, rollouts/2),
	}
	u.paths = make([]uint64, panels*tasks*u.words)
	u.events = make([]uint64, panels*tasks*u.words)
	blocks := (panels + blockPanels - 1) / blockPanels
	u.rises = make([]uint16, blocks*blockPanels*rollouts*u.lanes)
	for i := range u.uniforms {
		u.uniforms[i] = random.Float64()
		u.streams[i] = random.Fork()
	}
	return u
}

// risesAt returns the rises of a panel at the m-th rollout.
func (u *urns) risesAt(panel, m int) []uint16 {
	block, inside := panel/blockPanels, panel%blockPanels
	first := ((block*u.rollouts+m-1)*blockPanels + inside) * u.lanes
	return u.rises[first : first+u.lanes]
}

// setPrior brings every panel to the prior Beta(α, α), with α no less than
// before. As α grows no total falls: their distribution has a monotone
// likelihood ratio in α.
func (u *urns) setPrior(alpha float64) {
	var totals pilot.Totals
	totals.BetaBinomial(u.rollouts, alpha, alpha)
	folded := totals.Folded()
	for i, uniform := range u.uniforms {
		total := int32(folded.InvertFrom(uniform, int(u.totals[i])))
		if total > u.totals[i] {
			u.raise(i, total)
		}
	}
}

// raise gives path i a greater total.
func (u *urns) raise(i int, total int32) {
	path := u.paths[i*u.words : (i+1)*u.words]
	events := u.events[i*u.words : (i+1)*u.words]
	u.count(i/u.tasks, events, ^uint16(0))
	u.arranger.Add(path, int(total-u.totals[i]), &u.streams[i])
	pilot.Fold(path, u.rollouts, events)
	u.count(i/u.tasks, events, 1)
	u.totals[i] = total
}

// count adds one, or minus one, to the rises of a panel at every event.
func (u *urns) count(panel int, events []uint64, one uint16) {
	block, inside := panel/blockPanels, panel%blockPanels
	base := (block*u.rollouts*blockPanels + inside) * u.lanes
	stride := blockPanels * u.lanes
	for i, word := range events {
		for ; word != 0; word &= word - 1 {
			u.rises[base+(i<<6+bits.TrailingZeros64(word))*stride] += one
			base++
		}
	}
}

// ibnMasses estimates the continuation masses B of IBN (paper, Eq. 20), for
// each prior strength, ascending, and candidate, from one replicate of
// prior-predictive panels.
func ibnMasses(ctx context.Context, alphas []float64, cs pilot.Candidates, tasks, panels int, even bool, random seed.Stream) ([][]float64, error) {
	masses := make([][]float64, len(alphas))
	for a := range masses {
		masses[a] = make([]float64, len(cs))
	}
	rollouts := cs.LongestPilot()
	piece := piecePanels(tasks, rollouts)
	var panel ibnPanel
	for first := 0; first < panels; first += piece {
		u := newUrns(min(piece, panels-first), tasks, rollouts, &random)
		for a, alpha := range alphas {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			u.setPrior(alpha)
			u.addMasses(&panel, masses[a], alpha, cs, even)
		}
	}
	for _, sums := range masses {
		for k := range sums {
			sums[k] /= float64(panels)
		}
	}
	return masses, nil
}

// ibnCoefficients estimates IBN's continuation coefficients C = B/(N·v̄) on one
// replicate of panels (paper, Eq. 20), of every prior strength.
func ibnCoefficients(ctx context.Context, p Panels, random seed.Stream) (coefficients [][][]float64, err error) {
	panels := p.Draws
	if p.Even {
		panels = p.fewer(p.Draws / 32)
	}
	all, err := ibnMasses(ctx, p.Alphas, p.Candidates, p.Tasks, panels, p.Even, random)
	for a, masses := range all {
		coefficients = append(coefficients, p.normalized(masses, ibnMeanVariance(p.Alphas[a])))
	}
	return coefficients, err
}

// piecePanels is the number of panels kept in memory at a time: all of the
// paper's 8192, fewer of larger benchmarks and budgets.
func piecePanels(tasks, rollouts int) int {
	const cells = 1 << 24
	fewest := min(cells/16/tasks, cells/(rollouts*max(1, rollouts/2)))
	return max(blockPanels, fewest)
}

// addMasses adds the value of every panel under the current prior to the sum of
// each candidate. If even, it takes off what the value would be if rollouts could be
// divided, (Σ √v)²/Σ L, and adds what that is on average: few panels are enough
// then, since rounding is all that is left to chance.
func (u *urns) addMasses(p *ibnPanel, sums []float64, alpha float64, cs pilot.Candidates, even bool) {
	above := make([]float64, u.panels*u.lanes) // [panel][j]: tasks with folded count > j
	for m := 1; m <= u.rollouts; m++ {
		which := cs.WithPilot(m)
		p.prepare(alpha, m, u.tasks, u.tasks*(cs.LargestBudget()-m))
		for panel := range u.panels {
			p.histogram(u.risesAt(panel, m), above[panel*u.lanes:], float64(u.tasks))
			for _, k := range which {
				total := float64(u.tasks * (cs[k].Budget - m))
				value := p.value(total)
				if even {
					value -= (p.mass*p.mass - p.square) / total
				}
				sums[k] += p.worth * value
			}
		}
	}
}

// ibnPanel values the allocations of one panel at a time for one prior and
// pilot size. The zero value is ready for prepare.
type ibnPanel struct {
	scores, roots []float64 // by folded count
	worth         float64   // posterior variance over score
	mass          float64   // Σ √score of the panel
	square        float64   // expectation of its square
	ladder        neyman.Ladder
	tally         neyman.Tally
	classes       neyman.Classes // for what the ladder does not reach
}

// prepare turns to panels of the given prior strength and pilot size, and to
// allocations of up to longest rollouts.
func (p *ibnPanel) prepare(alpha float64, m, tasks, longest int) {
	var unit float64
	p.scores, unit = ibnScores(alpha, m)
	p.worth = 1 / unit
	p.roots = p.roots[:0]
	for _, v := range p.scores {
		p.roots = append(p.roots, math.Sqrt(v))
	}
	p.ladder.Build(p.scores, p.scores, pilot.LadderReach(p.scores, tasks, longest))
	p.tally = neyman.Tally{Counts: make([]float64, len(p.scores))}
	p.tally.Weights = p.tally.Counts
	p.square = expectedSquare(p.roots, alpha, m, tasks)
}

// expectedSquare is E[(Σ √score)²] over panels: tasks are independent, each with a
// beta-binomial number of passes.
func expectedSquare(roots []float64, alpha float64, m, tasks int) float64 {
	var totals pilot.Totals
	totals.BetaBinomial(m, alpha, alpha)
	folded := totals.Folded()
	mean, square := 0.0, 0.0
	for j, root := range roots {
		p := folded.Probability(j)
		mean += p * root
		square += p * root * root
	}
	n := float64(tasks)
	return n*(n-1)*mean*mean + n*square
}

// histogram takes the panel one rollout further: above is updated by the rises
// and the tally becomes the number of tasks with each folded count.
func (p *ibnPanel) histogram(rises []uint16, above []float64, tasks float64) {
	last := len(p.roots) - 1
	counts, roots := p.tally.Counts[:last+1], p.roots[:last+1]
	above, rises = above[:last], rises[:last]
	clear(counts[:p.tally.Top])
	mass, before, j := 0.0, tasks, 0
	for ; j < last && before > 0; j++ {
		now := above[j] + float64(rises[j])
		above[j] = now
		n := before - now
		counts[j] = n
		mass += n * roots[j]
		before = now
	}
	if before > 0 {
		counts[j] = before
		mass += before * roots[j]
		j++
	}
	p.tally.Top, p.mass = j, mass
	p.tally.SetMass(mass, counts[0]*roots[0])
}

// value returns Σ score/L of the panel's optimal allocation of total rollouts, a
// multiple of the number of tasks.
func (p *ibnPanel) value(total float64) float64 {
	if p.tally.Top == 1 { // all tasks alike: an even split
		n := p.tally.Counts[0]
		return n * p.scores[0] / (total / n)
	}
	if place, ok := p.ladder.Find(&p.tally, total); ok {
		return place.Value - place.Extra*p.ladder.Drop(place.Step)
	}
	p.classes.Reset()
	for j, n := range p.tally.Counts[:p.tally.Top] {
		if n > 0 {
			p.classes.AddRoot(int(n), p.scores[j], p.roots[j])
		}
	}
	return p.classes.Value(int(total))
}
