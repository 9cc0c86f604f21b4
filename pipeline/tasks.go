package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// smallBenchmark is the id of the benchmark that is built in.
const smallBenchmark = "smallbench"

// taskFile is the tasks of a benchmark and where they come from.
type taskFile struct {
	id    string
	path  string
	tasks []benchmark.Task
}

// readTasks reads the task file of every benchmark of the experiment. The error
// names all that cannot be used.
func readTasks(cfg *config.Config) ([]taskFile, error) {
	var all []taskFile
	var faults []error
	var absent []string
	for _, b := range cfg.Benchmarks {
		path := filepath.Join(cfg.Corpus.Tasks, b.ID+".jsonl")
		read, err := readTaskFile(b.ID, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, path)
		case err != nil:
			faults = append(faults, err)
		}
		all = append(all, read)
	}
	if len(absent) > 0 {
		faults = append(faults, fmt.Errorf("no task files %s: put them there, or name their folder in corpus.tasks", strings.Join(absent, ", ")))
	}
	return all, errors.Join(faults...)
}

// readTaskFile reads a task file, or the one that is built in where there is
// none.
func readTaskFile(id, path string) (taskFile, error) {
	tasks, err := benchmark.ReadTasks(path)
	if errors.Is(err, fs.ErrNotExist) && id == smallBenchmark {
		path = data.SmallBenchmarkName
		tasks, err = benchmark.ParseTasks(data.SmallBenchmark(), path)
	}
	if err != nil {
		return taskFile{}, fmt.Errorf("benchmark %s: %w", id, err)
	}
	if found := tasks[0].Benchmark; found != id {
		return taskFile{}, fmt.Errorf("benchmark %s: %s holds tasks of %s", id, path, found)
	}
	return taskFile{id, path, tasks}, nil
}

// prompts is the file as an input, as far as rollouts depend on it.
func (f taskFile) prompts() dag.Source {
	return dag.Source{Name: f.path + " (prompts)", SHA256: benchmark.PromptDigest(f.tasks)}
}
