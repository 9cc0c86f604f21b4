// Package neyman is the mathematics of the paper's policy: posterior scores
// under the reference hierarchical prior, exact integer Neyman allocation, and
// the variance of the two-stage estimator. It is for programs that decide where
// rollouts of a stochastic model are spent, and for studies of such decisions.
//
//	prior, err := neyman.NewPrior(16)                                    // Eq. 5
//	scores := prior.Pilot(pilots).Scores(counts, prior.NewWork())        // Eqs. 6 and 7: scores.At(successes)
//	allocation, err := neyman.Allocate(variances, tasks*(budget-pilots)) // Eq. 8
//
// An allocation gives every task at least one rollout and then spends the rest
// where it reduces Σ v/L most, v being a task's score. Allocate does that task
// by task. Classes does it for groups of tasks with equal scores, and Ladder
// for groups whose scores stay the same from draw to draw; both exist because
// designs and replays need hundreds of millions of allocations, and both give
// the same optimum.
package neyman

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Allocate spends total rollouts on tasks with the given scores: at least one
// on each, the others where they reduce Σ v/L most, ties by task index. It is
// the exact integer Neyman allocation of Eq. 8 of the paper, and of Eq. 2 when
// the scores are the true variances. If every score is zero the allocation is
// uniform, as even as total allows.
//
// It is an error if total is less than the number of tasks, or if a score is
// negative or not finite.
func Allocate(scores []float64, total int) ([]int, error) {
	var a Allocator
	return a.Allocate(scores, total)
}

// Allocator makes allocations one after the other in the memory that it has. The
// zero value is ready for use.
type Allocator struct {
	Least int // rollouts that every task gets whatever its score; 0: 1
	Most  int // rollouts that no task gets more of; 0: any number

	classes    Classes
	class      []int
	kinds      map[float64]int // classes by their scores, of many tasks
	allocation []int

	below  []int     // tasks that have not come to Most
	scores []float64 // theirs
	capped []int     // the allocation of all tasks under Most
}

// manyTasks is the number from which on tasks of equal scores are one class: each step of
// Classes looks at all classes, and equal ones need as many steps.
const manyTasks = 2048

// Allocate is the function of that name, with at least Least and at most Most rollouts
// on each task. It is the exact optimum between these bounds: gains fall with every
// further rollout of a task, so that the greatest of them, from Least up, are the best to
// take. What it returns holds until the next call.
func (a *Allocator) Allocate(scores []float64, total int) ([]int, error) {
	allocation, err := a.unbounded(scores, total)
	if err != nil || a.Most == 0 || slices.Max(allocation) <= a.Most {
		return allocation, err
	}
	return a.bounded(scores, total)
}

// bounded is the allocation where Most is less than some task would get. A task that
// would get more gets Most, and the others divide the rest, which no task loses by: until
// none is above.
func (a *Allocator) bounded(scores []float64, total int) ([]int, error) {
	if max(1, a.Least) > a.Most || total > a.Most*len(scores) {
		return nil, fmt.Errorf("allocate %d rollouts to %d tasks: every task has at most %d", total, len(scores), a.Most)
	}
	a.capped, a.below = slices.Grow(a.capped[:0], len(scores))[:len(scores)], a.below[:0]
	for i := range scores {
		a.below = append(a.below, i)
	}
	for {
		a.scores = a.scores[:0]
		for _, i := range a.below {
			a.scores = append(a.scores, scores[i])
		}
		allocation, err := a.unbounded(a.scores, total)
		if err != nil {
			return nil, err
		}
		above, still := false, a.below[:0]
		for k, i := range a.below {
			a.capped[i] = min(allocation[k], a.Most)
			if allocation[k] > a.Most {
				above = true
				total -= a.Most
			} else {
				still = append(still, i)
			}
		}
		if a.below = still; !above {
			return a.capped, nil
		}
	}
}

// unbounded is the allocation with at least Least rollouts on each task.
func (a *Allocator) unbounded(scores []float64, total int) ([]int, error) {
	least := max(1, a.Least)
	if len(scores) == 0 || total/least < len(scores) {
		return nil, fmt.Errorf("allocate %d rollouts to %d tasks: every task needs at least %d", total, len(scores), least)
	}
	largest := 0.0
	for i, v := range scores {
		if !(v >= 0) || v > math.MaxFloat64 {
			return nil, fmt.Errorf("allocate: score %d is %v, want a finite number that is not negative", i, v)
		}
		largest = max(largest, v)
	}
	_, exponent := math.Frexp(largest)
	scale := math.Ldexp(1, -max(exponent, -1000))
	a.classes.Reset()
	a.classes.Least = least
	a.class, a.allocation = slices.Grow(a.class[:0], len(scores))[:len(scores)], slices.Grow(a.allocation[:0], len(scores))[:len(scores)]
	many := len(scores) >= manyTasks
	if clear(a.kinds); many && a.kinds == nil {
		a.kinds = make(map[float64]int)
	}
	for i, v := range scores {
		if many {
			if c, there := a.kinds[v]; there {
				a.classes.grow(c)
				a.class[i] = c
				continue
			}
		}
		a.class[i] = a.classes.Add(1, v*scale) // exact, so that ties stay ties
		if many {
			a.kinds[v] = a.class[i]
		}
	}
	if a.classes.weight == 0 {
		a.evenly(total)
		return a.allocation, nil
	}
	gain, extra := a.classes.Settle(total)
	for i, c := range a.class {
		a.allocation[i] = least
		if c < 0 {
			continue
		}
		a.allocation[i] = a.classes.Units(c)
		if extra > 0 && a.classes.Gain(c) == gain {
			a.allocation[i]++
			extra--
		}
	}
	return a.allocation, nil
}

// evenly divides a total among the tasks, what is left over to the first.
func (a *Allocator) evenly(total int) {
	n := len(a.allocation)
	for i := range a.allocation {
		a.allocation[i] = total / n
		if i < total%n {
			a.allocation[i]++
		}
	}
}

// VarianceRatio is the variance of the estimate under an allocation of N·b
// rollouts relative to Uniform's (paper, Eq. 1): b·Σ(v/n) / Σv.
func VarianceRatio(variances []float64, allocation []int, budget int) float64 {
	sum, all := 0.0, 0.0
	for i, v := range variances {
		sum += v / float64(allocation[i])
		all += v
	}
	return float64(budget) * sum / all
}

// Weight is the optimal stage weight of the pilot, w = C/(1/m + C), for a pilot
// of m rollouts per task and a continuation coefficient C: the continuation's
// expected Σ v/L over Σ v (paper, Eqs. 12, 19 and 21).
func Weight(m int, coefficient float64) float64 {
	return coefficient / (1/float64(m) + coefficient)
}

// Risk is the variance relative to Uniform of the two-stage estimator at budget
// b with pilot size m and stage weight w (paper, Eqs. 9, 11 and 18):
// b·{w²/m + (1−w)²·C}. At the optimal weight it is b·w/m.
func Risk(budget, m int, w, coefficient float64) float64 {
	return float64(budget) * (w*w/float64(m) + (1-w)*(1-w)*coefficient)
}

// Ladder is every marginal gain of a fixed set of classes in decreasing order.
// Where the scores of the classes do not depend on the draw, as those of EN and
// IBN, an allocation is a place on the ladder, found by a guess and a short
// walk instead of by comparing all classes at every step.
//
// The ladder is cut into cells of equal width in t = 1/√gain. At the start of
// each cell it keeps the rollouts of every class, so that a walk can start there.
// The zero value is ready for Build.
type Ladder struct {
	roots   []float64 // √v
	perRoot float64   // 1/√v of the first class
	steps   []step
	starts  []int32   // first step of each cell, and the end
	next    []int32   // while building, where the next step of each cell goes
	scale   float64   // cells per unit of t
	units   []float64 // [cell][class]: L at the start of the cell
	values  []float64 // [cell][class]: worth/L there
}

// step is one more rollout for every task of a class.
type step struct {
	gain  float64 // v/[L(L+1)], L before the step; equal gains are equal floats
	drop  float64 // worth/[L(L+1)]
	class int32
}

// stepsPerCell balances the walk within a cell against the memory of the cells.
const stepsPerCell = 4

// mostMarks bounds the memory of a ladder: cells times classes.
const mostMarks = 1 << 19

// Build makes l the ladder of classes with the given positive scores, up to
// t = reach or as far as a bound on memory allows. A unit of weight of class c
// adds worth[c]/L to the value of an allocation: in a design that is the score
// itself, in a replay 1. If the scores are integers, gains are equal floats where
// they are equal as fractions, and differ where they do not as long as a score
// times L(L+1) stays below 2^52. Building again reuses the memory.
func (l *Ladder) Build(scores, worth []float64, reach float64) {
	l.roots = l.roots[:0]
	total := 0.0
	for _, v := range scores {
		root := math.Sqrt(v)
		l.roots = append(l.roots, root)
		total += root
	}
	l.perRoot = 1 / l.roots[0]
	cells := int(min(max(1, reach*total/stepsPerCell), max(1, float64(mostMarks/len(scores)))))
	l.scale = total / stepsPerCell
	l.fill(cells, scores, worth)
	l.mark(cells, worth)
}

// sized returns a slice of length n with any content, in the memory of s if it
// is large enough.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// fill makes the steps, sorted by falling gain and then by class.
func (l *Ladder) fill(cells int, scores, worth []float64) {
	l.starts = sized(l.starts, cells+1)
	clear(l.starts)
	each := func(visit func(cell int, s step)) {
		for c, v := range scores {
			for units := 1.0; ; units++ {
				product := units * (units + 1)
				gain := v / product
				cell := int(l.scale / math.Sqrt(gain))
				if cell >= cells {
					break
				}
				visit(cell, step{gain, worth[c] / product, int32(c)})
			}
		}
	}
	each(func(cell int, _ step) { l.starts[cell+1]++ })
	for i := range cells {
		l.starts[i+1] += l.starts[i]
	}
	l.steps = sized(l.steps, int(l.starts[cells]))
	l.next = append(l.next[:0], l.starts...)
	each(func(cell int, s step) { l.steps[l.next[cell]] = s; l.next[cell]++ })
	for i := range cells {
		slices.SortFunc(l.steps[l.starts[i]:l.starts[i+1]], func(a, b step) int {
			return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.class, b.class))
		})
	}
}

// mark keeps the rollouts at the start of each cell.
func (l *Ladder) mark(cells int, worth []float64) {
	classes := len(l.roots)
	l.units = sized(l.units, cells*classes)
	l.values = sized(l.values, cells*classes)
	units := make([]float64, classes)
	for c := range units {
		units[c] = 1
	}
	for cell := range cells {
		copy(l.units[cell*classes:], units)
		for c, u := range units {
			l.values[cell*classes+c] = worth[c] / u
		}
		for _, s := range l.steps[l.starts[cell]:l.starts[cell+1]] {
			units[s.class]++
		}
	}
}

// Tally is the classes of one draw on a ladder.
type Tally struct {
	Counts  []float64 // tasks by class
	Weights []float64 // what each class weighs in the value; in a design, Counts
	Top     int       // classes from here on are empty

	perMass float64 // 1/Σ n√v
	perRest float64 // the same without the first class; 0 if there is no other
}

// SetMass tells the tally Σ n√v over its classes, the first with the given part.
func (t *Tally) SetMass(mass, first float64) {
	if t.Top < 2 {
		t.perMass, t.perRest = 1/mass, 0
		return
	}
	rest := mass - first
	inverse := 1 / (mass * rest)
	t.perMass, t.perRest = rest*inverse, mass*inverse
}

// Place is where an allocation ends on a ladder: the steps before Step are
// taken in full, and of the tasks in the class of Step only Extra.
type Place struct {
	Step  int
	Extra float64
	Value float64 // Σ weight·worth/L without the extra rollouts
}

// Find allocates total rollouts to the tasks of a tally, at least one to each.
// It reports false when the place is beyond the ladder's reach.
func (l *Ladder) Find(tally *Tally, total float64) (Place, bool) {
	cell := int(l.guess(tally, total) * l.scale)
	if cell >= len(l.starts)-1 {
		return Place{}, false
	}
	first := cell * len(l.roots)
	units, values := l.units[first:first+tally.Top], l.values[first:first+tally.Top]
	counts, weights := tally.Counts[:len(l.roots)], tally.Weights[:len(l.roots)]
	used, value := 0.0, 0.0
	for c, u := range units {
		used += counts[c] * u
		value += weights[c] * values[c]
	}
	left, at := total-used, int(l.starts[cell])
	for left < 0 {
		at--
		s := &l.steps[at]
		left += counts[s.class]
		value += weights[s.class] * s.drop
	}
	for at < len(l.steps) {
		s := &l.steps[at]
		n := counts[s.class]
		if n > left {
			return Place{at, left, value}, true
		}
		left -= n
		value -= weights[s.class] * s.drop
		at++
	}
	return Place{}, false
}

// guess returns t near the place of total. The first class is usually by far
// the largest: its rollouts are rounded as they will be, and t is kept where
// they hold, so that only the small classes are left to chance.
func (l *Ladder) guess(tally *Tally, total float64) float64 {
	root := l.roots[0]
	t := total * tally.perMass
	if tally.perRest == 0 {
		return t
	}
	units := float64(int(t*root + 0.5))
	low := (units - 0.5) * l.perRoot
	if units < 1.5 {
		units, low = 1, 0
	}
	t = (total - tally.Counts[0]*units) * tally.perRest
	if t < low {
		return low
	}
	if high := (units + 0.5) * l.perRoot; t > high {
		return high
	}
	return t
}

// Drop returns by how much the value falls for each unit of weight that takes
// the given step.
func (l *Ladder) Drop(at int) float64 { return l.steps[at].drop }

// Class returns the class of a step.
func (l *Ladder) Class(at int) int { return int(l.steps[at].class) }

// Tied returns the range of steps that have the same gain as the given one.
func (l *Ladder) Tied(at int) (first, end int) {
	gain := l.steps[at].gain
	first, end = at, at+1
	for first > 0 && l.steps[first-1].gain == gain {
		first--
	}
	for end < len(l.steps) && l.steps[end].gain == gain {
		end++
	}
	return first, end
}
