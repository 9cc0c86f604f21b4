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

// taskFile is the tasks of a benchmark and where they come from.
type taskFile struct {
	id    string
	path  string
	tasks []benchmark.Task
}

// readTasks reads the task file of every benchmark of the experiment. The error
// names all that cannot be used.
func readTasks(cfg *config.Config) ([]taskFile, error) {
	all, absent, err := findTasks(cfg)
	if len(absent) > 0 {
		err = errors.Join(err, fmt.Errorf("no task files %s: put them there, or name their folder in corpus.tasks", strings.Join(absent, ", ")))
	}
	return all, err
}

// presentTasks reads the task files that are there.
func presentTasks(cfg *config.Config) ([]taskFile, error) {
	all, _, err := findTasks(cfg)
	return all, err
}

// findTasks reads the task files that are there, and lists those that are not.
func findTasks(cfg *config.Config) (all []taskFile, absent []string, err error) {
	var faults []error
	for _, b := range cfg.Benchmarks {
		path := filepath.Join(cfg.Corpus.Tasks, b.ID+".jsonl")
		read, err := readTaskFile(b.ID, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, path)
		case err != nil:
			faults = append(faults, err)
		default:
			all = append(all, read)
		}
	}
	return all, absent, errors.Join(faults...)
}

// readTaskFile reads a task file, or the one that is built in where there is
// none.
func readTaskFile(id, path string) (taskFile, error) {
	tasks, err := benchmark.ReadTasks(path)
	if builtIn, name, ok := data.BuiltIn(id); ok && errors.Is(err, fs.ErrNotExist) {
		path = name
		tasks, err = benchmark.ParseTasks(builtIn, path)
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
