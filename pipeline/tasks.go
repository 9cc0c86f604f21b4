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
	"speceval/stages/generate"
)

// smallBenchmark is the id of the benchmark that is built in.
const smallBenchmark = "smallbench"

// benchmarks reads the task file of every benchmark of the experiment. The
// error names all that cannot be used.
func benchmarks(cfg *config.Config) ([]generate.Benchmark, error) {
	var all []generate.Benchmark
	var faults []error
	var absent []string
	for _, b := range cfg.Benchmarks {
		path := filepath.Join(cfg.Corpus.Tasks, b.ID+".jsonl")
		read, err := readBenchmark(b.ID, path)
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

// readBenchmark reads a task file, or the one that is built in where there is
// none.
func readBenchmark(id, path string) (generate.Benchmark, error) {
	tasks, err := benchmark.ReadTasks(path)
	if errors.Is(err, fs.ErrNotExist) && id == smallBenchmark {
		path = data.SmallBenchmarkName
		tasks, err = benchmark.ParseTasks(data.SmallBenchmark(), path)
	}
	if err != nil {
		return generate.Benchmark{}, fmt.Errorf("benchmark %s: %w", id, err)
	}
	if found := tasks[0].Benchmark; found != id {
		return generate.Benchmark{}, fmt.Errorf("benchmark %s: %s holds tasks of %s", id, path, found)
	}
	return generate.Benchmark{
		ID: id, Tasks: tasks,
		Source: dag.Source{Name: path + " (prompts)", SHA256: benchmark.PromptDigest(tasks)},
	}, nil
}
