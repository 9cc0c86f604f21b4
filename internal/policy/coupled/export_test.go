package coupled

// Bound is what the first 128 bits of the hash behind a reward are compared with.
func (r *Rewards) Bound(task int) (high, low uint64) { return r.tasks[task].high, r.tasks[task].low }
