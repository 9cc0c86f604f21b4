package informed

import (
	"slices"

	"gonum.org/v1/gonum/floats"
)

// marginals are the log likelihoods of a pilot of m rollouts of a task, by what a
// source can tell apart: [level][S][node]. They are made when they are first used.
type marginals []float64

// longestPilot bounds the tables.
const longestPilot = 64

// alike is the size of a pilot, alike for all tasks; 0 if it is not, or longer than
// tables are made for.
func alike(rollouts []int) int {
	m := rollouts[0]
	if m > longestPilot {
		return 0
	}
	for _, n := range rollouts {
		if n != m {
			return 0
		}
	}
	return m
}

// addPilot updates the weights by a pilot of m rollouts of every task, and makes a
// kind of each level and number of successes.
func (b *belief) addPilot(m int, passes []int) {
	if b.pilots[m] == nil {
		b.pilots[m] = newMarginals(b.source, m)
	}
	b.list, b.places = b.list[:0], slices.Grow(b.places[:0], b.levels*(m+1))[:b.levels*(m+1)]
	clear(b.places)
	for i, level := range b.level {
		place := &b.places[int(level)*(m+1)+passes[i]]
		if *place == 0 {
			b.list = append(b.list, kind{level: level, rollouts: int32(m), passes: int32(passes[i])})
			*place = int32(len(b.list))
		}
		b.of[i] = *place - 1
		b.list[*place-1].tasks++
	}
	for k := range b.list {
		x := &b.list[k]
		row := int(x.level)*(m+1) + int(x.passes)
		floats.AddScaled(b.weight, float64(x.tasks), b.pilots[m][row*b.nodes:(row+1)*b.nodes])
	}
}

func newMarginals(s *source, m int) marginals {
	t := make(marginals, s.levels*(m+1)*s.nodes)
	for level := range s.levels {
		for node := range s.nodes {
			a, b := s.alpha[level*s.nodes+node], s.beta[level*s.nodes+node]
			for passed := range m + 1 {
				t[(level*(m+1)+passed)*s.nodes+node] = logOdds(a, b, passed, m-passed)
			}
		}
	}
	return t
}
