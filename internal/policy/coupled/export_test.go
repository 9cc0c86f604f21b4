package coupled

// Bound is the number that the first 128 bits of a rollout's hash must be below for a pass.
func (r *Rewards) Bound(task int) (high, low uint64) { return r.tasks[task].high, r.tasks[task].low }
