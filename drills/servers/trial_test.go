//go:build drill

// Package servers_test is the drills of servers: of timed runs over HTTP on the simulated
// fleet (systems), of faults of real vLLM servers (live), and of real servers compared
// with their imitation (vllm).
package servers_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// masterSeed is that of the experiments.
const masterSeed = 42

// trial is an experiment in the lab: a configuration and an output folder.
type trial struct {
	*drill.Lab
	config, out string
	flags       []string // of all commands
}

// newTrial writes a configuration, named by the trial, in a folder of the drill.
func newTrial(l *drill.Lab, name string, s drill.Settings) *trial {
	t := &trial{Lab: l, config: l.Path(name + ".toml"), out: l.Path(name)}
	l.WriteConfig(t.config, s)
	return t
}

// start starts a command of the program on the experiment.
func (t *trial) start(words ...string) *drill.Process {
	t.Helper()
	return t.Start(slices.Concat(words, []string{"--config", t.config, "--out", t.out}, t.flags)...)
}

// do runs a command on the experiment to its end, and returns its output.
func (t *trial) do(words ...string) string {
	t.Helper()
	p := t.start(words...)
	p.Wait()
	p.Says(0)
	return p.Text()
}

// stored are the rollouts on disk.
func (t *trial) stored() []rollout.Place {
	t.Helper()
	all, err := rollout.Stored(t.out)
	t.OK(err)
	return all
}

// untilStored waits until so many rollouts are on disk.
func (t *trial) untilStored(p *drill.Process, n int) {
	t.Helper()
	p.Until(func() bool { return len(t.stored()) >= n })
}

// Inputs of an experiment, in the lab's folder.
const (
	profilesFile = "profiles.csv"
	tasksFolder  = "tasks"
)

// writeInputs writes profiles, and task files with a made question for each of their
// tasks. Profiles of a benchmark have the same tasks.
func writeInputs(l *drill.Lab, profiles ...profile.Profile) {
	l.OK(os.Mkdir(l.Path(tasksFolder), 0o777))
	l.WriteProfiles(l.Path(profilesFile), profiles)
	for _, p := range profiles {
		var tasks []benchmark.Task
		for i, id := range p.TaskIDs {
			question := fmt.Sprintf("Task %s: how much is %d and %d?", id, i+2, 7*i+1)
			tasks = append(tasks, benchmark.Task{
				Benchmark: p.Benchmark, ID: id, Index: i, Prompt: question, UserPrompt: question, Scorer: "math", Answer: strconv.Itoa(8*i + 3),
			})
		}
		file, err := os.Create(l.Path(tasksFolder, p.Benchmark+".jsonl"))
		l.OK(err)
		l.OK(benchmark.WriteTasks(file, tasks), file.Close())
	}
}

// quiz is a profile of a few tasks.
func quiz(benchmark, model string) profile.Profile {
	return profile.Profile{
		Benchmark: benchmark, Model: model, TestedK: 64,
		TaskIDs:    []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
		PassCounts: []int{0, 64, 32, 3, 60, 0, 64, 20, 45, 1, 64, 0},
	}
}

// replayPrecision is enough for designs.
func replayPrecision(draws int) drill.Settings {
	return drill.Settings{"draws": draws, "replicates": 2, "quadrature_order": 8}
}

// generation is rollouts to generate: so many of each task by a model.
type generation struct {
	benchmark, model string
	tasks            []string // ids
	rollouts         int      // of each
}

func (g generation) total() int { return g.rollouts * len(g.tasks) }

// rollout is a rollout with the seed that it must have, by the rule of the stage.
func (g generation) rollout(task, number int) rollout.Place {
	stream := seed.Root(masterSeed).Child("generate").Child(g.benchmark).Child(g.model).Child(g.tasks[task]).Index(number).Stream()
	return rollout.Place{Benchmark: g.benchmark, Model: g.model, TaskIndex: int32(task), Rollout: int32(number), Seed: int64(stream.Uint64() >> 1)}
}

// complete holds the rollouts that are stored to what was asked: every one once, by the
// seed of the rule, and all that were there before.
func (g generation) complete(t *trial, before []rollout.Place) {
	final, times := t.stored(), map[rollout.Place]int{}
	for _, p := range final {
		times[p]++
	}
	missing, twice, lost := 0, 0, 0
	for task := range g.tasks {
		for number := range g.rollouts {
			switch n := times[g.rollout(task, number)]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
		}
	}
	for _, p := range before {
		if times[p] == 0 {
			lost++
		}
	}
	if missing+twice+lost > 0 || len(final) != g.total() {
		t.Fatalf("%d rollouts are stored of %d: %d missing or of another seed, %d twice, %d lost of %d that were there before",
			len(final), g.total(), missing, twice, lost, len(before))
	}
}
