package pilot

import (
	"context"
	"math/bits"
	"slices"

	"speceval/internal/policy/seed"
	"speceval/method/neyman"
)

// A Sweep takes pilots of one fixed profile through all pilot sizes: drawn
// once as paths, shared by all policies and budgets as prefixes of them, and
// valued for a whole class of scores at once.

// Sweep takes draws of one fixed profile through the pilot sizes m = 1, 2, …:
// at every m it knows, for each draw, the folded count min(S, m−S) of every
// task, how many tasks have each count and the sum of their true variances.
// That is all that the symmetric scores of EN and IBN need. Tasks whose
// outcome is certain keep the count zero and are never drawn.
type Sweep struct {
	variances []float64 // p(1−p) by task
	total     float64   // their sum
	draws     int
	rollouts  int // length of the paths
	m         int // pilot size reached

	failing       []int     // tasks with p = 0
	passing       []int     // tasks with p = 1
	uncertain     []int     // the others
	probabilities []float64 // by uncertain task
	paths         []uint64  // [draw][uncertain task][word]
	words         int

	rises     []uint64 // [draw][m−1][task word]: tasks whose folded count rises
	taskWords int
	folded    []uint16  // [draw][task]
	counts    []float64 // [draw][class]: tasks
	masses    []float64 // [draw][class]: Σ p(1−p)
	lanes     int
}

// sweepBytes bounds the memory of a sweep, to stay in the processor's cache
// while it goes through the pilot sizes.
const sweepBytes = 8 << 20

// size is the number of draws that a sweep takes at a time. Results do not
// depend on it.
func (s *Sweep) size(draws int) int {
	each := 8*(len(s.uncertain)*s.words+s.rollouts*s.taskWords+2*s.lanes) + 2*len(s.variances)
	return min(draws, max(64, sweepBytes/each))
}

// EachSweep visits all draws of a profile, in order, as many at a time as a
// sweep holds. The first draw of a sweep has the given index among all.
func EachSweep(ctx context.Context, probabilities []float64, draws, rollouts int, random seed.Stream, visit func(sw *Sweep, first int) error) error {
	sw := newSweep(probabilities, rollouts)
	for first := 0; first < draws; first += sw.draws {
		if err := ctx.Err(); err != nil {
			return err
		}
		sw.start(min(sw.size(draws), draws-first), &random)
		if err := visit(sw, first); err != nil {
			return err
		}
	}
	return nil
}

// newSweep returns a sweep of a profile, still without draws.
func newSweep(probabilities []float64, rollouts int) *Sweep {
	s := &Sweep{
		rollouts: rollouts, words: PathWords(rollouts),
		taskWords: (len(probabilities) + 63) / 64, lanes: rollouts/2 + 1,
	}
	for i, p := range probabilities {
		s.variances = append(s.variances, p*(1-p))
		s.total += s.variances[i]
		switch p {
		case 0:
			s.failing = append(s.failing, i)
		case 1:
			s.passing = append(s.passing, i)
		default:
			s.uncertain = append(s.uncertain, i)
			s.probabilities = append(s.probabilities, p)
		}
	}
	return s
}

// start draws the paths of some draws and stands before the first rollout. Each task of each
// draw is independent.
func (s *Sweep) start(draws int, random *seed.Stream) {
	s.draws, s.m = draws, 0
	s.paths = sized(s.paths, draws*len(s.uncertain)*s.words)
	s.rises = zeroed(s.rises, draws*s.rollouts*s.taskWords)
	s.folded = zeroed(s.folded, draws*len(s.variances))
	s.counts = zeroed(s.counts, draws*s.lanes)
	s.masses = zeroed(s.masses, draws*s.lanes)
	events := make([]uint64, s.words)
	for draw := range draws {
		s.counts[draw*s.lanes] = float64(len(s.variances))
		s.masses[draw*s.lanes] = s.total
		rises := s.rises[draw*s.rollouts*s.taskWords:]
		for u, task := range s.uncertain {
			path := s.path(draw, u)
			Bernoulli(path, s.rollouts, s.probabilities[u], random)
			Fold(path, s.rollouts, events)
			bit := uint64(1) << (task & 63)
			for i, word := range events {
				for ; word != 0; word &= word - 1 {
					rises[(i<<6+bits.TrailingZeros64(word))*s.taskWords+task>>6] |= bit
				}
			}
		}
	}
}

// Tasks is the number of tasks of the profile.
func (s *Sweep) Tasks() int { return len(s.variances) }

// Total is the sum of p(1−p) over the tasks.
func (s *Sweep) Total() float64 { return s.total }

// Draws is the number of draws that the sweep holds.
func (s *Sweep) Draws() int { return s.draws }

// M is the pilot size that the sweep stands at; 0 before the first.
func (s *Sweep) M() int { return s.m }

// Rollouts is the length of the paths: the last pilot size.
func (s *Sweep) Rollouts() int { return s.rollouts }

// sized returns a slice of length n with any content, in the memory of s if it
// is large enough.
func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// zeroed is sized with zeros.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}

// path returns the outcomes of the u-th uncertain task in a draw.
func (s *Sweep) path(draw, u int) []uint64 {
	first := (draw*len(s.uncertain) + u) * s.words
	return s.paths[first : first+s.words]
}

// Advance takes every draw one pilot rollout further.
func (s *Sweep) Advance() {
	s.m++
	tasks := len(s.variances)
	for draw := range s.draws {
		counts := s.counts[draw*s.lanes : (draw+1)*s.lanes]
		masses := s.masses[draw*s.lanes : (draw+1)*s.lanes]
		folded := s.folded[draw*tasks : (draw+1)*tasks]
		first := (draw*s.rollouts + s.m - 1) * s.taskWords
		for i, word := range s.rises[first : first+s.taskWords] {
			for ; word != 0; word &= word - 1 {
				task := i<<6 + bits.TrailingZeros64(word)
				j, v := folded[task], s.variances[task]
				folded[task] = j + 1
				counts[j]--
				counts[j+1]++
				masses[j] -= v
				masses[j+1] += v
			}
		}
	}
}

// Scores sets the scores of a pilot: scores[S] of the tasks with S successes, where
// counts[S] tasks have S, for S = 0, …, m. Scores of no task are not read. The others must
// be positive.
type Scores func(counts []int, scores []float64)

// Counted values the continuation allocations of scores that depend on a task's
// successes and on the successes of all tasks, as HBN's do, on the draws of a
// sweep.
type Counted struct {
	rule Scores

	counts    []int     // tasks by pilot successes
	scores    []float64 // by pilot successes
	masses    []float64 // Σ p(1−p) by pilot successes
	of        *Sweep    // whose draws it values
	successes []uint16  // by task
	classes   neyman.Classes
	label     []int     // pilot successes of each class
	drops     []float64 // by pilot successes: what a tied task's next rollout saves
}

// NewCounted returns the continuation of some scores at pilot size m.
func NewCounted(m int, scores Scores) *Counted {
	return &Counted{
		rule:   scores,
		counts: make([]int, m+1),
		scores: make([]float64, m+1),
		masses: make([]float64, m+1),
		drops:  make([]float64, m+1),
	}
}

// Value returns Σ p(1−p)/L over the tasks for the allocation of budget − m
// continuation rollouts a task after the pilot of a draw. Ties go to the tasks
// first in order.
func (c *Counted) Value(sw *Sweep, draw, budget int) float64 {
	c.observe(sw, draw)
	c.rule(c.counts, c.scores)
	c.classes.Reset()
	c.label = c.label[:0]
	for s, n := range c.counts {
		if n != 0 {
			c.classes.Add(n, c.scores[s])
			c.label = append(c.label, s)
		}
	}
	gain, extra := c.classes.Settle(len(sw.variances) * (budget - sw.m))
	sum := 0.0
	for class, s := range c.label {
		l := float64(c.classes.Units(class))
		sum += c.masses[s] / l
		if c.classes.Gain(class) == gain {
			c.drops[s] = 1 / (l * (l + 1))
		}
	}
	sum -= savings(extra, c.drops, c.successes, sw.variances)
	clear(c.drops)
	return sum
}

// observe counts the pilot successes of a draw.
func (c *Counted) observe(sw *Sweep, draw int) {
	if c.of != sw {
		c.of = sw
		c.successes = make([]uint16, len(sw.variances))
		for _, task := range sw.passing {
			c.successes[task] = uint16(sw.m)
		}
	}
	clear(c.counts)
	clear(c.masses)
	c.counts[0], c.counts[sw.m] = len(sw.failing), len(sw.passing)
	for u, task := range sw.uncertain {
		s := Successes(sw.path(draw, u), sw.m)
		c.successes[task] = uint16(s)
		c.counts[s]++
		c.masses[s] += sw.variances[task]
	}
}
