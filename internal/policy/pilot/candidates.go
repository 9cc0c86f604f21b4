package pilot

import (
	"context"
	"math"
	"math/bits"

	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// An ex-ante design is the choice of a pilot size and a stage weight before any rollout has
// been made (paper, Eqs. 9 to 12): the candidates, their expected continuation
// on panels drawn from the reference prior, and which of them has the least risk.

// Candidate is a pilot size at a budget, both in rollouts per task.
type Candidate struct{ Budget, M int }

// Candidates are pilot sizes to choose from, at one budget or several.
type Candidates []Candidate

// AllCandidates are all pilot sizes m = 1, …, b−1 of every budget b, in that
// order.
func AllCandidates(budgets []int) Candidates {
	var cs Candidates
	for _, b := range budgets {
		for m := 1; m < b; m++ {
			cs = append(cs, Candidate{b, m})
		}
	}
	return cs
}

// LongestPilot is the largest pilot size of all candidates.
func (cs Candidates) LongestPilot() int {
	longest := 0
	for _, c := range cs {
		longest = max(longest, c.M)
	}
	return longest
}

// LargestBudget is the largest budget of all candidates.
func (cs Candidates) LargestBudget() int {
	largest := 0
	for _, c := range cs {
		largest = max(largest, c.Budget)
	}
	return largest
}

// WithPilot returns the indices of the candidates with pilot size m.
func (cs Candidates) WithPilot(m int) []int {
	var which []int
	for k, c := range cs {
		if c.M == m {
			which = append(which, k)
		}
	}
	return which
}

// Lattice is an endless sequence of hyperparameters (ξ, δ) that fills the unit
// square evenly: the Kronecker sequence of the plastic number ρ, with steps 1/ρ
// and 1/ρ² modulo 1, from a random start. Each point by itself is uniform, so
// that a mean over panels with these hyperparameters has the same expectation as
// over independent ones; but what the mean owes to where the points fell, which
// with many tasks is nearly all of its error, is gone.
type Lattice struct{ xi, delta uint64 } // in units of 2^−64

// The steps of a lattice, 2^64/ρ and 2^64/ρ² for ρ³ = ρ + 1, rounded to odd.
const (
	xiStep    = 0xc13fa9a902a6328f
	deltaStep = 0x91e10da5c79e7b1d
)

// NewLattice draws the start of a lattice.
func NewLattice(random *seed.Stream) *Lattice {
	return &Lattice{random.Uint64(), random.Uint64()}
}

// From is the lattice without its first n points.
func (l Lattice) From(n int) *Lattice {
	return &Lattice{l.xi + uint64(n)*xiStep, l.delta + uint64(n)*deltaStep}
}

// next returns a point and goes on to the one after it.
func (l *Lattice) next() (xi, delta float64) {
	xi, delta = inside(l.xi), inside(l.delta)
	l.xi, l.delta = l.xi+xiStep, l.delta+deltaStep
	return xi, delta
}

// inside is a number in (0, 1), uniform if the bits are.
func inside(bits uint64) float64 {
	return float64(bits>>12)*0x1p-52 + 0x1p-53
}

// Rated is a candidate with its optimal stage weight and the risk that it has.
type Rated struct {
	Candidate
	Weight float64 // of the pilot
	Risk   float64 // relative to Uniform
	RiskSE float64 // Monte Carlo standard error of Risk

	Selected bool    // least risk at its budget
	Gap      float64 // Risk minus the selected candidate's
	GapSE    float64 // its Monte Carlo standard error, of the same replicates
}

// Rate turns the continuation coefficients C of every candidate, estimated in
// independent replicates ([candidate][replicate]), into ratings: the mean
// coefficient gives the optimal weight and the risk in closed form (paper,
// Eqs. 12, 19 and 21), and the least risk at each budget is selected, ties
// going to the smaller pilot. Standard errors come from the spread over
// replicates, propagated to first order; they are NaN for a single replicate.
func Rate(cs Candidates, coefficients [][]float64) []Rated {
	rated := make([]Rated, len(cs))
	slopes := make([]float64, len(cs)) // of the risk in C
	best := map[int]int{}
	for k, c := range cs {
		mean, spread := MeanAndError(coefficients[k])
		w := neyman.Weight(c.M, mean)
		slopes[k] = float64(c.Budget) * (1 - w) * (1 - w)
		rated[k] = Rated{
			Candidate: c, Weight: w,
			Risk:   neyman.Risk(c.Budget, c.M, w, mean),
			RiskSE: slopes[k] * spread,
		}
		if at, ok := best[c.Budget]; !ok || rated[k].Risk < rated[at].Risk {
			best[c.Budget] = k
		}
	}
	for k, c := range cs {
		at := best[c.Budget]
		rated[k].Selected = k == at
		rated[k].Gap = rated[k].Risk - rated[at].Risk
		differences := make([]float64, len(coefficients[k]))
		for r := range differences {
			differences[r] = slopes[k]*coefficients[k][r] - slopes[at]*coefficients[at][r]
		}
		_, rated[k].GapSE = MeanAndError(differences)
	}
	return rated
}

// MeanAndError returns the mean of some independent estimates and its standard
// error, NaN if there is only one.
func MeanAndError(xs []float64) (mean, se float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x
	}
	mean /= n
	if len(xs) < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// Masses estimates the continuation masses B of HBN (paper, Eq. 10) for each
// candidate, from one replicate of panels drawn from the reference prior. All
// candidates see the same panels, as nested paths. Of even panels, fewer have the
// same error: see Panels.Add.
func Masses(ctx context.Context, prior *neyman.Prior, cs Candidates, tasks, panels int, even bool, random seed.Stream) ([]float64, error) {
	var lattice *Lattice
	if even {
		lattice = NewLattice(&random)
	}
	masses := make([]float64, len(cs))
	err := NewPanels(prior, cs, tasks).Add(ctx, panels, masses, lattice, &random)
	for k := range masses {
		masses[k] /= float64(panels)
	}
	return masses, err
}

// mostBlock is the number of panels that are taken through the pilot sizes together, so that
// the tables of a pilot size are made once for all of them and stay in the processor's
// cache. Blocks are smaller where their paths would take more than blockBytes. No result
// depends on either.
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
	arranger Arranger

	sizes     []int // pilot sizes of the candidates, ascending
	m         int   // pilot size reached
	which     []int // candidates with that pilot size
	posterior neyman.Posterior

	paths     []uint64 // [panel][task][word]
	successes []uint16 // [panel][task]
	works     []*neyman.Work
	counts    []int
	classes   neyman.Classes

	lattice *Lattice     // of even panels; nil of independent ones
	beta    [][2]float64 // of each panel: ξκ and (1−ξ)κ
}

// NewPanels prepares for panels of the given tasks, at most 65,535.
func NewPanels(prior *neyman.Prior, cs Candidates, tasks int) *Panels {
	rollouts := cs.LongestPilot()
	words := PathWords(rollouts)
	block := max(1, min(mostBlock, blockBytes/(8*words*tasks)))
	p := &Panels{
		prior: prior, pilots: prior.Pilots(rollouts), cs: cs, tasks: tasks, rollouts: rollouts, words: words,
		arranger:  NewArranger(rollouts),
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

// Add draws further panels, panel by panel, and adds Σ v/L to the sum of each candidate.
//
// With a lattice the panels are even: their hyperparameters are its next points, and what is
// added has the same mean and far less of the error. It is Σ v/L, less the excess of the
// panel's variance divided as a uniform continuation would have it,
//
//	Σ v/L − {Σ E[p(1−p) | S, ξ, δ] − N·v̄}/(b−m).
//
// The excess has the mean zero, and explains most by which panels differ.
func (p *Panels) Add(ctx context.Context, panels int, sums []float64, lattice *Lattice, random *seed.Stream) error {
	p.lattice = lattice
	for first := 0; first < panels; first += len(p.works) {
		if err := p.block(ctx, min(len(p.works), panels-first), sums, random); err != nil {
			return err
		}
	}
	return nil
}

// block draws a block of panels and adds their values to sums.
func (p *Panels) block(ctx context.Context, panels int, sums []float64, random *seed.Stream) error {
	clear(p.successes)
	var totals Totals
	for panel := range panels {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.works[panel].Restart()
		p.draw(panel, &totals, random)
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
func (p *Panels) draw(panel int, totals *Totals, random *seed.Stream) {
	xi, delta := 0.0, 0.0
	if p.lattice != nil {
		xi, delta = p.lattice.next()
	} else {
		xi, delta = inside(random.Uint64()), inside(random.Uint64())
	}
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
	if p.lattice != nil {
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
