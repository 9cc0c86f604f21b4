package coupled

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"

	"speceval/internal/profile"
	"speceval/method/controller"
)

// Rewards gives the rollouts of a profile their coupled rewards. It is safe for
// concurrent use.
type Rewards struct {
	start string // of every text that is hashed, up to the task id
	tasks []chance
}

// chance is a task and its success probability as a bound on 128 random bits:
// a rollout passes when they are less.
type chance struct {
	id        string
	high, low uint64 // the bound; 0 when no rollout passes
	certain   bool   // every rollout passes: the bound would be 2^128
}

// NewRewards returns the rewards of a profile, given its digest (see Releases)
// and the master seed.
func NewRewards(p profile.Profile, digest string, seed uint64) *Rewards {
	r := &Rewards{
		start: "profile_bernoulli_v1|seed=" + strconv.FormatUint(seed, 10) + "|profile=" + digest + "|task=",
		tasks: make([]chance, p.N()),
	}
	for i, count := range p.PassCounts {
		r.tasks[i] = newChance(p.TaskIDs[i], count, p.Rollouts(i))
	}
	return r
}

// newChance bounds a pass count out of k by ⌊count·2^128/k⌋, exactly.
func newChance(id string, count, k int) chance {
	c := chance{id: id, certain: count >= k}
	if count > 0 && !c.certain {
		var rest uint64
		c.high, rest = bits.Div64(uint64(count), 0, uint64(k))
		c.low, _ = bits.Div64(rest, 0, uint64(k))
	}
	return c
}

// Reward reports whether a rollout passes: with its task's pass rate as the
// probability, as a hash of profile, task, phase and ordinal has it.
func (r *Rewards) Reward(id controller.ID) bool {
	c := &r.tasks[id.Task]
	if c.certain || c.high|c.low == 0 {
		return c.certain
	}
	draw := r.draw(id)
	high, low := binary.BigEndian.Uint64(draw[:8]), binary.BigEndian.Uint64(draw[8:16])
	return high < c.high || high == c.high && low < c.low
}

// draw is the hash whose first 128 bits decide on a rollout.
func (r *Rewards) draw(id controller.ID) [sha256.Size]byte {
	text := append(make([]byte, 0, 256), r.start...) // on the stack
	text = append(text, r.tasks[id.Task].id...)
	text = append(text, "|phase="...)
	text = append(text, id.Phase.String()...)
	text = append(text, "|ordinal="...)
	text = strconv.AppendInt(text, int64(id.Ordinal), 10)
	text = append(text, "|replicate=0"...)
	return sha256.Sum256(text)
}

// Pilot counts, by task, the successes of a pilot of m rollouts per task.
func (r *Rewards) Pilot(m int) []int {
	successes := make([]int, len(r.tasks))
	for task := range successes {
		for ordinal := range m {
			if r.Reward(controller.ID{Task: int32(task), Phase: controller.Pilot, Ordinal: int32(ordinal + 1)}) {
				successes[task]++
			}
		}
	}
	return successes
}
