//go:build drill

// Package servers_test has the drills of servers: of timed runs over HTTP on the simulated
// fleet (TestSystems), of faults of real vLLM servers (TestLive), and of real servers
// compared with their imitation (TestVLLM).
package servers_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"

	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/profile"
	"speceval/internal/rollout"
)

// Flags of the drills on real servers. Paths are relative to the folder of the repository.
var (
	part  = flag.String("part", "all", `a part of drill-live or drill-vllm, or "all"`)
	model = flag.String("model", "data/smallmodel", "folder of the small real model; one without weights gets random ones")
)

// masterSeed is the seed of the experiments.
const masterSeed = 42

// section is a part of a drill.
type section struct {
	name string
	do   func(l *drill.Lab)
}

// parts makes all parts of a drill, or the one that the flag -part names, each in a folder
// of its own.
func parts(l *drill.Lab, all ...section) {
	if *part != "all" && !slices.ContainsFunc(all, func(p section) bool { return p.name == *part }) {
		l.Fatalf("the drill has no part %q", *part)
	}
	for _, p := range all {
		if *part == p.name || *part == "all" {
			l.Sub(p.name, func(l *drill.Lab) {
				l.Dir = l.Path(p.name)
				l.OK(os.Mkdir(l.Dir, 0o777))
				p.do(l)
			})
		}
	}
}

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

// store waits until the program has so many rollouts on disk.
func (t *trial) store(p *drill.Process, n int) {
	t.Helper()
	p.Until(func() bool { return len(t.Stored(t.out)) >= n })
}

// finishes waits for the end of a generation, of which every rollout must be stored once.
func (t *trial) finishes(p *drill.Process, wanted, before []rollout.Place) {
	t.Helper()
	p.Wait()
	p.Says(0)
	t.Complete(t.Stored(t.out), wanted, before)
	t.Logf("it went on from %d rollouts, and each of %d is stored once", len(before), len(wanted))
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
