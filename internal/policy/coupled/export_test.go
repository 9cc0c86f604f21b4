package coupled

import "speceval/method/controller"

// Draw is the hash behind a reward.
func (r *Rewards) Draw(id controller.ID) [32]byte { return r.draw(id) }

// Bound is what the first 128 bits of the hash are compared with.
func (r *Rewards) Bound(task int) (high, low uint64) { return r.tasks[task].high, r.tasks[task].low }
