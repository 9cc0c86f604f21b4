//go:build drill

// Package servers_test has the drills of servers: of timed runs over HTTP on the simulated
// fleet (TestSystems), and of real servers compared with their imitation (TestVLLM).
package servers_test

import (
	"fmt"
	"os"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/store/profile"
)

// masterSeed is the seed of the experiments.
const masterSeed = 42

// trial is an experiment in the lab: a configuration and an output folder.
type trial struct {
	*drill.Lab
	config, out string
}

// newTrial writes a configuration, named by the trial, in a folder of the drill.
func newTrial(l *drill.Lab, name string, s drill.Settings) *trial {
	l.Helper()
	t := &trial{Lab: l, config: l.Path(name + ".toml"), out: l.Path(name)}
	l.WriteConfig(t.config, s)
	return t
}

// start starts a command of the program on the experiment.
func (t *trial) start(words ...string) *drill.Process {
	t.Helper()
	return t.Start(append(words, "--config", t.config, "--out", t.out)...)
}

// do runs a command on the experiment to its end, and returns its output.
func (t *trial) do(words ...string) string {
	t.Helper()
	p := t.start(words...)
	p.Wait()
	p.Says(0)
	return p.Text()
}

// Inputs of an experiment, in the lab's folder.
const (
	profilesFile = "profiles.csv"
	tasksFolder  = "tasks"
)

// writeInputs writes profiles, and task files with a made question for each of their
// tasks. Profiles of a benchmark have the same tasks.
func writeInputs(l *drill.Lab, profiles ...profile.Profile) {
	l.Helper()
	l.OK(os.Mkdir(l.Path(tasksFolder), 0o777))
	l.WriteProfiles(l.Path(profilesFile), profiles)
	for _, p := range profiles {
		var tasks []benchmark.Task
		for i, id := range p.TaskIDs {
			question := fmt.Sprintf("Task %s: how much is %d and %d?", id, i+2, 7*i+1)
			tasks = append(tasks, benchmark.Task{
				Benchmark: p.Benchmark, ID: id, Index: i, Prompt: question, UserPrompt: question,
				Scorer: "math", Answer: strconv.Itoa(8*i + 3),
			})
		}
		file, err := os.Create(l.Path(tasksFolder, p.Benchmark+".jsonl"))
		l.OK(err)
		l.OK(benchmark.WriteTasks(file, tasks), file.Close())
	}
}
