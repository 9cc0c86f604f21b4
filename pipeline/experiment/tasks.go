package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/scoring/family"
	"speceval/internal/store/files"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
)

// TaskFile is the tasks of a benchmark and where they come from.
type TaskFile struct {
	ID    string // of the benchmark
	Path  string // or the name of the file that is built in
	Tasks []benchmark.Task
}

// ReadTasks reads the task file of a benchmark, or the one that is built in
// where the benchmark names none and there is none. The error is fs.ErrNotExist
// where there is neither.
func ReadTasks(cfg *config.Config, b config.Benchmark) (TaskFile, error) {
	prompts, err := Prompts(cfg)
	if err != nil {
		return TaskFile{}, err
	}
	reader, path := benchmark.Reader{Prompts: prompts, Benchmark: b.ID}, taskPath(cfg, b)
	tasks, err := reader.Read(path)
	if builtIn, name := data.BuiltIn(b.ID); builtIn != nil && b.Tasks == "" && errors.Is(err, fs.ErrNotExist) {
		path = name
		tasks, err = reader.Parse(builtIn, path)
	}
	if err == nil {
		err = usable(b.ID, path, tasks)
	}
	if err != nil {
		return TaskFile{}, fmt.Errorf("benchmark %s: %w", b.ID, err)
	}
	return TaskFile{b.ID, path, tasks}, nil
}

// readTasks reads the task files of the experiment that are there. absent names the others,
// and err all files that cannot be used.
func readTasks(cfg *config.Config) (all []TaskFile, absent, err error) {
	if _, err := Prompts(cfg); err != nil {
		return nil, nil, err // once
	}
	var faults []error
	var lacking []string
	for _, b := range cfg.Benchmarks {
		switch read, err := ReadTasks(cfg, b); {
		case errors.Is(err, fs.ErrNotExist):
			lacking = append(lacking, taskPath(cfg, b))
		case err != nil:
			faults = append(faults, err)
		default:
			all = append(all, read)
		}
	}
	if len(lacking) > 0 {
		absent = fmt.Errorf("no task files %s: put them there, or name their folder in corpus.tasks, or each in tasks of its [[benchmark]]", strings.Join(lacking, ", "))
	}
	return all, absent, errors.Join(faults...)
}

// taskPath is where the task file of a benchmark is looked for.
func taskPath(cfg *config.Config, b config.Benchmark) string {
	return cmp.Or(b.Tasks, filepath.Join(cfg.Corpus.Tasks, b.ID+".jsonl"))
}

// usable is an error if the tasks of a file do not make the benchmark.
func usable(id, path string, tasks []benchmark.Task) error {
	if found := tasks[0].Benchmark; found != id {
		return fmt.Errorf("%s holds tasks of %s", path, found)
	}
	if len(tasks) < 2 {
		return fmt.Errorf("%s has 1 task, allocation needs at least 2", path)
	}
	return nil
}

// Prompts is the file as an input, as far as rollouts depend on it.
func (f TaskFile) Prompts() dag.Source {
	return dag.Source{Name: f.Path + " (prompts)", SHA256: benchmark.PromptDigest(f.Tasks)}
}

// Prompts are the templates that problems are asked by: ours, and the user's
// before them. Those may be for a benchmark of the experiment, or for a source of
// the paper's.
func Prompts(cfg *config.Config) (*benchmark.Prompts, error) {
	if cfg.Corpus.Prompts == "" {
		return ourPrompts(), nil
	}
	var names []string
	for _, b := range cfg.Benchmarks {
		names = append(names, b.ID)
	}
	for _, g := range upstream.Groups() {
		if !slices.Contains(names, g.Source.ID) {
			names = append(names, g.Source.ID)
		}
	}
	prompts, err := ourPrompts().With(files.InputFolder(cfg.Corpus.Prompts, files.Prompt), names...)
	if err != nil {
		return nil, fmt.Errorf("corpus.prompts: %s: %w", cfg.Corpus.Prompts, err)
	}
	return prompts, nil
}

// AskedTwice finds tasks with the user turn of an earlier one, each behind that. The
// same task again, from another file, does not count.
func AskedTwice(tasks []benchmark.Task) (pairs [][2]benchmark.Task) {
	first := make(map[string]benchmark.Task, len(tasks))
	for _, t := range tasks {
		earlier, again := first[t.UserPrompt]
		switch {
		case !again:
			first[t.UserPrompt] = t
		case earlier.Benchmark != t.Benchmark || earlier.ID != t.ID:
			pairs = append(pairs, [2]benchmark.Task{earlier, t})
		}
	}
	return pairs
}

// judgedBlind reports whether a judge scores a task without its answer.
func judgedBlind(t benchmark.Task) bool {
	f, err := family.Named(t.Scorer)
	return err == nil && f.Need == family.Judge && t.Answer == ""
}
