package pilot

import (
	"math"

	"speceval/internal/policy/seed"
)

// Outcomes draws how many of a task's rollouts pass in a stage of an evaluation, each with
// probability p.
type Outcomes func(stage, task, rollouts int, p float64) int

// Independent draws the passes of one evaluation from a stream. Each task has a stream of
// its own in each stage, so that tasks of other probabilities meet the same numbers.
func Independent(random *seed.Stream) Outcomes {
	last := -1
	var tasks seed.Stream
	return func(stage, task, rollouts int, p float64) int {
		if stage != last {
			last, tasks = stage, random.Fork()
		}
		own := tasks.At(uint64(task))
		return Binomial(rollouts, p, &own)
	}
}

// InTurn draws from a stream, in the order of the calls.
func InTurn(random *seed.Stream) Outcomes {
	return func(_, _, rollouts int, p float64) int { return Binomial(rollouts, p, random) }
}

// Even draws several evaluations of the same tasks that fill the space of their outcomes
// evenly (Latin supercube sampling: Owen, ACM TOMACS 8, 1998). Every evaluation has the law
// of an independent one. Between them, each task goes once through the points of a lattice,
// whose dimensions are the stages, in an order and from a start of its own. So a mean over
// all owes nothing to what a single task adds in all of its stages, only to what tasks do
// together. Its error is seen between several Even.
type Even struct {
	points [][]uint64 // [draw][task]: in the first dimension, in units of 2^−64; the first is under way
	random seed.Stream
	starts []seed.Stream // by stage
}

// generator is the factor between the dimensions of a lattice: of the numbers that serve
// lattices of 27 and of 17 points, one with small errors in four dimensions.
const generator = 3301

// NewEven prepares the draws of some tasks. The first is under way.
func NewEven(draws, tasks int, random seed.Stream) *Even {
	e := &Even{random: random}
	for k := range draws {
		own, point := make([]uint64, tasks), uint64(k)*(^uint64(0)/uint64(draws))
		e.points = append(e.points, own)
		for task := range own {
			other := e.points[int(random.Float64()*float64(k+1))]
			own[task], other[task] = other[task], point
		}
	}
	return e
}

// Next goes on to the next draw.
func (e *Even) Next() { e.points = e.points[1:] }

// Uniform is the number from 0 to 1 of a task in a stage of the draw under way.
func (e *Even) Uniform(stage, task int) float64 {
	for k := len(e.starts); k <= stage; k++ {
		e.starts = append(e.starts, e.random.At(uint64(k)))
	}
	point := e.points[0][task]
	for range stage {
		point *= generator
	}
	return inside(point + e.starts[stage].Word(uint64(task)))
}

// Passes is Outcomes of the draw under way. Uniform decides on a task in a stage, whatever the
// number of rollouts.
func (e *Even) Passes(stage, task, rollouts int, p float64) int {
	u := e.Uniform(stage, task)
	if p > 0.5 {
		return rollouts - e.inverse(rollouts, 1-p, 1-u)
	}
	return e.inverse(rollouts, p, u)
}

// mostInverted is the number of rollouts of which the probability that none passes is in
// range.
const mostInverted = 512

// inverse is the least number of passes whose probability, with fewer ones, is above u,
// where p is at most a half.
func (e *Even) inverse(rollouts int, p, u float64) (passes int) {
	if rollouts > mostInverted {
		rest := e.random.At(math.Float64bits(u))
		return Binomial(rollouts-mostInverted, p, &rest) + e.inverse(mostInverted, p, u)
	}
	if p == 0 {
		return 0
	}
	mass, q := 1.0, 1-p
	for n, power := rollouts, q; n > 0; n, power = n/2, power*power {
		if n&1 == 1 {
			mass *= power
		}
	}
	odds := p / q
	for ; u >= mass && passes < rollouts; passes++ {
		u -= mass
		mass *= odds * float64(rollouts-passes) / float64(passes+1)
	}
	return passes
}
