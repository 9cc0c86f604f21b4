package neyman

import (
	"cmp"
	"math"
	"slices"
)

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
