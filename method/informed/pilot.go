package informed

import "gonum.org/v1/gonum/floats"

// marginals are the log likelihoods of a pilot of m rollouts of a task, by what a
// source can tell apart: [level][S][node].
type marginals struct {
	m   int
	log []float64
}

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
	if b.pilot.m != m {
		b.pilot.build(b.source, m)
	}
	b.list = b.list[:0]
	for level := range b.levels {
		for s := range m + 1 {
			b.list = append(b.list, kind{level: int32(level), rollouts: int32(m), passes: int32(s)})
		}
	}
	for i, level := range b.level {
		at := int(level)*(m+1) + passes[i]
		b.of[i] = int32(at)
		b.list[at].tasks++
	}
	for k := range b.list {
		if n := b.list[k].tasks; n != 0 {
			floats.AddScaled(b.weight, float64(n), b.pilot.log[k*b.nodes:(k+1)*b.nodes])
		}
	}
}

// build makes the tables for pilots of m rollouts.
func (t *marginals) build(s *source, m int) {
	t.m = m
	t.log = make([]float64, s.levels*(m+1)*s.nodes)
	for level := range s.levels {
		for node := range s.nodes {
			a, b := s.alpha[level*s.nodes+node], s.beta[level*s.nodes+node]
			for passed := range m + 1 {
				t.log[(level*(m+1)+passed)*s.nodes+node] = logOdds(a, b, passed, m-passed)
			}
		}
	}
}
