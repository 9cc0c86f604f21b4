// Package tsneyman samples the sequential baseline: Bernoulli TS-Neyman, which
// gives each new rollout to the task whose posterior draw of
// p(1−p)/(n(n+1)) is largest (paper, Appendix C.3, Eq. 24). Its law is exact, and
// a step touches few of the tasks.
//
// # A race instead of draws
//
// Let task i's score have the distribution function F_i, and H_i(x) = −log F_i(x).
// Give the task a Poisson process on the scores with mean H_i(x) above x. Its top
// point is at most x if no point is above x: with probability exp(−H_i(x)) =
// F_i(x). So the top points have the law of the scores, and are independent as
// the scores are; and the largest score belongs to the task that owns the top
// point of all processes together, a Poisson process of mean T(x) = Σ H_i(x).
//
// That process meets a ladder of levels ([window]) whose cells have the masses
// T(x_l) − T(x_(l−1)). Counted by the mass above it, the top point is at an
// exponential number E, the next at E plus another, and so on: that gives the
// first cell with a point, and how many points it has. Given their number, the
// points of a cell are independent of each other, each is task i's in proportion
// to i's hazard in the cell, and lies uniformly in that hazard (race.owner).
//
//   - One point: its owner has the largest score. So it is if all owners are in
//     the same state, by symmetry: the order of drawing has nothing to do with
//     the order of scores.
//   - Otherwise each point's position in its owner's hazard says in which of eight
//     parts of the cell it is ([split]), and the highest part decides.
//   - Several owners in the highest part: it is known of each that its largest
//     point is in that part, and of no other task. So their scores are drawn from
//     their posteriors, restricted to the part, by rejection. What is
//     conditioned on is the set of owners; numbers of points would be wrong here.
//   - No point in the window: every score is below it. Scores are drawn from the
//     posteriors until they are. Of task i that takes 1/F_i draws, but happens
//     with probability Π F_j ≤ F_i: at most one draw a task and step on average.
//
// Which window is looked at does not matter to the law, as long as it does not
// look ahead; race.follow keeps it where the largest score is likely.
//
// # Exact sums
//
// After a rollout one task's hazards change. They are whole multiples of 2^−36, so
// that sums are kept up to date by integer additions: they do not drift, and do
// not depend on the order of what happened. The scheme has the exact law of these
// rounded hazards, which moves no probability by more than about N·2^−36 (10⁻⁹
// at N = 100) from the paper's.
//
// Rows of hazards and splits are functions of the state of a task, the window and
// the prior strength. They are computed when first needed and shared by all
// trajectories, profiles and warm starts; p(1−p) has the same law for S passes
// and for S failures, so one row serves both. Forgetting them changes nothing.
//
// Scores are handled by −log2, so that small prior strengths, where scores
// underflow, are no special case. Equal scores have probability 0; if rounding
// makes some, the lower task index wins, as the paper says.
//
// Limits: prior strengths from 10^−6 to 1000 and up to 500,000 tasks. Below,
// drawing scores within a part by rejection would take time like 1/alpha.
package tsneyman

import (
	"math"

	"speceval/internal/policy/seed"
)

// Sampler runs trajectories of one prior strength. It keeps tables that all
// profiles, warm starts and trajectories share. It is not safe for concurrent
// use.
type Sampler struct {
	race      race
	outcomes  *Outcomes
	spent     int
	rollouts  []int32
	successes []int32
	mostRows  int
}

// NewSampler takes the prior strength: success probabilities are Beta(alpha,
// alpha) before anything is seen. It must be from 10^−6 to 1000.
func NewSampler(alpha float64) *Sampler {
	return &Sampler{race: race{table: newTable(alpha), ziggurat: newZiggurat()}, mostRows: mostRows}
}

// Begin starts a trajectory on given outcomes, with the counts after warm
// rollouts of every task, at least 1. The trajectory depends on the prior
// strength, the outcomes and the stream only, bit for bit: never on what the
// sampler has done before.
func (s *Sampler) Begin(o *Outcomes, warm int, random seed.Stream) {
	s.outcomes = o
	s.rollouts, s.successes = s.rollouts[:0], s.successes[:0]
	for i := range o.Tasks() {
		passes := int32(0)
		for j := range warm {
			if o.Pass(i, j) {
				passes++
			}
		}
		s.rollouts, s.successes = append(s.rollouts, int32(warm)), append(s.successes, passes)
	}
	s.spent = warm * o.Tasks()
	s.race.random = random
	s.race.resize(o.Tasks())
	s.enter(s.race.table.window(around(warm)))
	s.race.follow()
}

// enter looks at all tasks in a window.
func (s *Sampler) enter(window int32) {
	r := &s.race
	r.window = window
	for i, n := range s.rollouts {
		r.at[i] = r.table.row(window, n, min(s.successes[i], n-s.successes[i]))
		r.tasks[i] = r.table.rows[r.at[i]].mass
	}
	r.sum()
}

// Advance steps until all tasks together have had total rollouts. It does
// nothing if they already have.
func (s *Sampler) Advance(total int) {
	for ; s.spent < total; s.spent++ {
		s.step(int(s.race.winner()))
		if s.spent&7 == 0 {
			s.race.follow()
		}
		if t := s.race.table; len(t.rows) > s.mostRows+8*len(s.rollouts) || len(t.splits) > mostSplits {
			t.empty()
			s.enter(s.race.window)
		}
	}
}

// step gives a task a rollout.
func (s *Sampler) step(task int) {
	n, passes := s.rollouts[task], s.successes[task]
	less := min(passes, n-passes)
	if s.outcomes.Pass(task, int(n)) {
		passes++
		s.successes[task] = passes
	}
	n++
	s.rollouts[task] = n
	s.race.change(task, s.race.table.after(s.race.at[task], min(passes, n-passes)-less))
}

// Rollouts counts the rollouts of each task. It is valid until the next call.
func (s *Sampler) Rollouts() []int32 { return s.rollouts }

// The window follows the scores as they fall. Any rule is right that does not
// look ahead; this one is cheap. With T as in the package's comment, it keeps T
// at the first level below high and T at the level stride further down above
// low, and lets the even cells reach down to where T is at least few, but not
// waste more than half of them on where T exceeds many.
const (
	high     = unit
	low      = unit * 2 / 5
	few      = unit
	many     = 4 * unit
	manyStep = 6
	finest   = 40    // resolution, for the precision of depths
	coarsest = -1060 // resolution, for their range
)

// wanted says into which direction the window should move, if at all.
//
// Moves come to an end. Higher is taken while T at the first level exceeds high,
// and no other move makes it do so again: lower starts where T is below low,
// finer keeps the first level, and coarser does not put it deeper. Once the even
// cells reach few they stay there: lower makes them reach further, and finer is
// taken only where half of them reach many.
func (r *race) wanted() (direction int, move bool) {
	var sums masses
	sum := uint64(0)
	for l, m := range &r.total {
		sum += m
		sums[l] = sum
	}
	p := &r.table.windows[r.window].windowKey
	switch {
	case sums[0] > high:
		return higher, true
	case sums[steps] < few && p.resolution > coarsest:
		return coarser, true
	case sums[stride] < low:
		return lower, true
	case sums[manyStep] > many && p.resolution < finest:
		return finer, true
	}
	return 0, false
}

// follow moves the window to where it is wanted.
func (r *race) follow() {
	for {
		direction, move := r.wanted()
		if !move {
			return
		}
		r.window = r.table.window(r.table.windows[r.window].neighbour(direction))
		for i, row := range r.at {
			r.moved[i] = r.table.rows[row].neighbours[direction] // in a loop of its own, for loads that overlap
		}
		for i, row := range r.moved {
			if row == 0 {
				row = r.table.neighbourRow(r.at[i], direction, r.window)
			}
			r.at[i], r.tasks[i] = row, r.table.rows[row].mass
		}
		r.sum()
	}
}

// parts is into how many parts a cell is split.
const parts = 8

// split divides the hazard of a cell of a row among the cell's parts. It fills a
// cache line.
type split struct {
	below [parts - 1]uint64 // hazard from the cell's upper end to the lower end of each part but the last
	flat  [parts]uint8      // 256 times a lower bound of flatness
}

// part is the part with a point of the cell's hazard.
func (s *split) part(point uint64) int {
	j := 0
	for _, b := range s.below {
		if point >= b {
			j++
		}
	}
	return j
}

// split finds the split of a cell. It holds until the next one is made.
func (t *table) split(row int32, cell int) *split {
	if i := t.rows[row].splits[cell]; i != 0 {
		return &t.splits[i]
	}
	t.splits = append(t.splits, t.newSplit(row, cell))
	i := int32(len(t.splits) - 1)
	t.rows[row].splits[cell] = i
	return &t.splits[i]
}

func (t *table) newSplit(row int32, cell int) split {
	r := &t.rows[row]
	w := &t.windows[r.window]
	p := &r.posterior
	var s split
	depth, start, last := math.Inf(-1), uint64(0), uint64(0)
	if cell > 0 {
		depth = w.depth[cell-1]
	}
	for _, m := range r.mass[:cell] {
		start += m
	}
	upper := p.at(depth)
	for j := range parts {
		_, depth := w.bounds(cell, j)
		lower := p.at(depth)
		s.flat[j] = uint8(256 * p.flatness(upper, lower))
		if j < parts-1 {
			h := p.hazard(lower)
			last = min(max(last, h-min(h, start)), r.mass[cell])
			s.below[j] = last
		}
		upper = lower
	}
	return s
}
