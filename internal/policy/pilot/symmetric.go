package pilot

import (
	"math"

	"speceval/method/neyman"
)

// Symmetric values the continuation allocations of a score that depends on the
// folded count alone, as those of EN and IBN do, on the draws of a sweep. The zero
// value is ready for Prepare.
type Symmetric struct {
	scores []float64 // by folded count, scores[0] possibly zero
	roots  []float64
	ones   []float64
	zero   int // 1 if the count zero has score zero, else 0
	ladder neyman.Ladder

	tally   neyman.Tally
	classes neyman.Classes
	label   []int     // folded count of each class in classes
	drops   []float64 // by folded count: what a tied task's next rollout saves
}

// Prepare turns to the given scores and to allocations of up to longest
// rollouts to tasks.
func (s *Symmetric) Prepare(scores []float64, tasks, longest int) {
	s.scores, s.drops = scores, zeroed(s.drops, len(scores))
	s.roots, s.ones = s.roots[:0], s.ones[:0]
	for _, v := range scores {
		s.roots = append(s.roots, math.Sqrt(v))
		s.ones = append(s.ones, 1)
	}
	s.zero = 0
	if scores[0] == 0 {
		s.zero = 1
	}
	if positive := scores[s.zero:]; len(positive) > 0 {
		s.ladder.Build(positive, s.ones[s.zero:], s.reachFor(tasks, longest))
	}
}

// reachFor is how far the ladder goes: see LadderReach, but where the many tasks
// of the first class have score zero only the others count.
func (s *Symmetric) reachFor(tasks, longest int) float64 {
	if s.zero == 1 {
		return float64(longest) / (8 * s.roots[len(s.roots)-1])
	}
	return LadderReach(s.scores, tasks, longest)
}

// Value returns Σ p(1−p)/L over the tasks for the allocation of budget − m
// continuation rollouts a task after the pilot of a draw. Ties go to the tasks
// first in order; if all scores are zero the continuation is uniform.
func (s *Symmetric) Value(sw *Sweep, draw, budget int) float64 {
	tasks := len(sw.variances)
	counts := sw.counts[draw*sw.lanes : draw*sw.lanes+len(s.scores)]
	masses := sw.masses[draw*sw.lanes : draw*sw.lanes+len(s.scores)]
	total := tasks * (budget - sw.m)
	certain, sum := 0.0, 0.0
	if s.zero == 1 {
		certain, sum = counts[0], masses[0]
		if int(certain) == tasks {
			return sum / float64(budget-sw.m)
		}
	}
	total -= int(certain)
	s.count(counts[s.zero:], masses[s.zero:])
	folded := sw.folded[draw*tasks : (draw+1)*tasks]
	place, ok := s.ladder.Find(&s.tally, float64(total))
	if !ok {
		return sum + s.slowly(total, folded, sw.variances)
	}
	return sum + s.settle(place, folded, sw.variances)
}

// count fills the tally.
func (s *Symmetric) count(counts, masses []float64) {
	t := &s.tally
	t.Counts, t.Weights = counts, masses
	mass, top := 0.0, 0
	for j, n := range counts {
		if n != 0 {
			mass += n * s.roots[s.zero+j]
			top = j + 1
		}
	}
	t.Top = top
	t.SetMass(mass, counts[0]*s.roots[s.zero])
}

// settle gives the rollouts of the last, incomplete round to the first tasks
// among all that are tied for it.
func (s *Symmetric) settle(place neyman.Place, folded []uint16, variances []float64) float64 {
	first, end := s.ladder.Tied(place.Step)
	sum, extra := place.Value, place.Extra
	for at := first; at < place.Step; at++ {
		class := s.ladder.Class(at)
		extra += s.tally.Counts[class]
		sum += s.tally.Weights[class] * s.ladder.Drop(at)
	}
	if extra == 0 {
		return sum
	}
	for at := first; at < end; at++ {
		s.drops[s.zero+s.ladder.Class(at)] = s.ladder.Drop(at)
	}
	sum -= savings(int(extra), s.drops, folded, variances)
	for at := first; at < end; at++ {
		s.drops[s.zero+s.ladder.Class(at)] = 0
	}
	return sum
}

// slowly is Value without a ladder.
func (s *Symmetric) slowly(total int, folded []uint16, variances []float64) float64 {
	s.classes.Reset()
	s.label = s.label[:0]
	for j, n := range s.tally.Counts[:s.tally.Top] {
		if n != 0 {
			s.classes.AddRoot(int(n), s.scores[s.zero+j], s.roots[s.zero+j])
			s.label = append(s.label, j)
		}
	}
	gain, extra := s.classes.Settle(total)
	sum := 0.0
	for class, j := range s.label {
		l := float64(s.classes.Units(class))
		sum += s.tally.Weights[j] / l
		if s.classes.Gain(class) == gain {
			s.drops[s.zero+j] = 1 / (l * (l + 1))
		}
	}
	sum -= savings(extra, s.drops, folded, variances)
	clear(s.drops)
	return sum
}

// savings is the drop of Σ v/L when the first extra tasks whose class is tied,
// that is has a drop, get one more rollout. Which tasks are tied cannot be
// foreseen, so the sum goes without a branch on it.
func savings(extra int, drops []float64, class []uint16, variances []float64) float64 {
	sum := 0.0
	for task := 0; extra > 0; task++ {
		drop := drops[class[task]]
		sum += variances[task] * drop
		tied := 0
		if drop > 0 {
			tied = 1
		}
		extra -= tied
	}
	return sum
}

// LadderReach is how far a ladder is built: to where t lies when two tasks are
// in the middle class and all others in the first. Allocations beyond that are
// of so few classes that they are as cheap without a ladder.
func LadderReach(scores []float64, tasks, total int) float64 {
	first, last := math.Sqrt(scores[0]), math.Sqrt(scores[len(scores)-1])
	return float64(total) / (float64(tasks)*first + 2*last)
}
