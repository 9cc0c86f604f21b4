package tsneyman

import (
	"math"

	"speceval/internal/seed"
)

// Outcomes fixes the outcome of every rollout of a trajectory: rollout j of task
// i passes or not, whatever the order in which rollouts happen, so that all
// policies and prior strengths meet the same outcomes (common random numbers).
type Outcomes struct {
	limits []uint64 // by task: of 2^63 words, those that pass
	random seed.Stream
}

// NewOutcomes takes the success probabilities of a fixed profile, each within
// [0, 1]. There are no outcomes before Begin.
func NewOutcomes(probabilities []float64) *Outcomes {
	limits := make([]uint64, len(probabilities))
	for i, p := range probabilities {
		limits[i] = uint64(math.Ldexp(p, 63)) // exact where p is a multiple of 2^-63, so for 0, 1 and k/1024
	}
	return &Outcomes{limits: limits}
}

// Begin starts a new trajectory. Equal streams give equal outcomes.
func (o *Outcomes) Begin(random seed.Stream) { o.random = random }

// Tasks is the number of tasks.
func (o *Outcomes) Tasks() int { return len(o.limits) }

// Pass says whether rollout j of a task passes, both counted from 0 and rollout
// below 2^32. The probability is that of the profile: 0 and 1 are certain.
func (o *Outcomes) Pass(task, rollout int) bool {
	return o.random.Word(uint64(task)<<32|uint64(rollout))>>1 < o.limits[task]
}
