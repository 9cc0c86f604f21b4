package main

import (
	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// masterSeed is that of the drill's experiment.
const masterSeed = 42

// seedOf is the seed that a rollout must have: of the node generate, benchmark,
// model, task id, number of the rollout in the tree of the experiment's seed,
// the first 63 bits. It says again what the stage does, so that neither can
// change alone.
func (l *lab) seedOf(p rollout.Place) int64 {
	for _, task := range l.tasks {
		if task.Benchmark == p.Benchmark && task.Index == int(p.TaskIndex) {
			node := seed.Root(masterSeed).Child("generate").Child(p.Benchmark).Child(p.Model).Child(task.ID)
			stream := node.Index(int(p.Rollout)).Stream()
			return int64(stream.Uint64() >> 1)
		}
	}
	return -1 // no seed: no such task
}
