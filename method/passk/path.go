package passk

import (
	"fmt"
	"math"
)

// stage is the rollouts of one task in one stage.
type stage struct {
	rollouts, passes int
	weight           float64 // in the mean, c
}

// path is a task's way through its stages.
type path struct {
	stages   []stage
	value    float64 // A_0 after the last
	variance polynomial
}

// nothing is how much of a task's weight may be left by rounding.
const nothing = 1e-9

// follow goes through the stages of a task.
func (q Question) follow(stages []stage) (path, error) {
	p := path{stages: stages, variance: make(polynomial, 2*q.K+1)}
	ahead := make([]float64, q.K+1) // A, by the number of rollouts to come
	ahead[q.K] = 1
	rest := 1.0
	for number, s := range stages {
		if s.weight == 0 && rest <= nothing { // after the task's last
			continue
		}
		fraction := min(1, s.weight/rest)
		if rest -= s.weight; rest <= nothing {
			fraction = 1
		}
		taken, err := q.take(ahead, s.rollouts, fraction)
		if err != nil {
			return path{}, fmt.Errorf("stage %d: %w", number, err)
		}
		p.variance.add(taken, ahead, s.rollouts)
		clear(ahead)
		for _, t := range taken {
			ahead[t.left] += t.weight * passing(t.taken, s.passes, s.rollouts)
		}
	}
	p.value = ahead[0]
	return p, nil
}

// part is a share of the estimate that takes so many rollouts of a stage, and leaves so
// many to come.
type part struct {
	taken, left int
	weight      float64 // A·q
}

// take decides what a stage takes, before its rollouts are seen: by the weights A, the
// number of its rollouts, and its fraction of the weight that the task has left.
func (q Question) take(ahead []float64, rollouts int, fraction float64) (parts []part, err error) {
	least := max(1, q.Least)
	for r, weight := range ahead {
		if weight == 0 {
			continue
		}
		low, high := max(0, r-least), min(r, rollouts)
		if fraction == 1 {
			low = r
		}
		if low > high {
			return nil, fmt.Errorf("%d rollouts, of which %d would be needed: take longer pilots, or a floor of %d rollouts in the stages after them", rollouts, low, q.K)
		}
		shares := hypergeometric(r, low, high, float64(rollouts), float64(rollouts)/fraction)
		for k, share := range shares {
			if share > 0 {
				parts = append(parts, part{low + k, r - low - k, weight * share})
			}
		}
	}
	return parts, nil
}

// hypergeometric is the chances that of r rollouts chosen among all i are of the stage,
// for i from low to high, given that i is one of these. all may be no whole number, and
// infinite.
func hypergeometric(r, low, high int, stage, all float64) []float64 {
	chances := make([]float64, high-low+1)
	sum := 0.0
	for k := range chances {
		i := low + k
		chance := choose(float64(r), i)
		for j := range r { // the j-th of the r rollouts that are chosen
			if j < i {
				chance *= max(0, stage-float64(j)) / max(1, all-float64(j))
			} else if !math.IsInf(all, 1) {
				chance *= max(0, all-stage-float64(j-i)) / max(1, all-float64(j))
			}
		}
		chances[k] = chance
		sum += chance
	}
	if sum == 0 { // none of these can be: take what is nearest
		nearest := min(high, max(low, int(math.Round(float64(r)*stage/all))))
		chances[nearest-low], sum = 1, 1
	}
	for k := range chances {
		chances[k] /= sum
	}
	return chances
}

// passing is the share of all sets of i of the n rollouts that passed whole, where s
// did: C(s,i)/C(n,i).
func passing(i, s, n int) float64 {
	share := 1.0
	for j := range i {
		share *= max(0, float64(s-j)) / float64(n-j)
	}
	return share
}

// choose is C(x, i).
func choose(x float64, i int) float64 {
	ways := 1.0
	for j := range i {
		ways *= (x - float64(j)) / float64(j+1)
	}
	return ways
}
