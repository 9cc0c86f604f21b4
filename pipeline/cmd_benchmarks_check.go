package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"speceval/internal/benchmark"
	"speceval/internal/upstream"
	"speceval/pipeline/config"
)

// toldFaults is how many faults of a file the check tells. That is all, of a file
// that somebody means to mend.
const toldFaults = 10_000

// runBenchmarksCheck tells what is wrong with a task file, or with those of a
// folder, and what is asked if nothing is.
func runBenchmarksCheck(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "check and a task file or a folder of them"); err != nil {
		return err
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	prompts, err := promptsOf(cfg)
	if err != nil {
		return &usageError{err}
	}
	path := words[0]
	info, err := os.Stat(path)
	if err != nil {
		return &usageError{err}
	}
	if info.IsDir() {
		return s.checkTaskFolder(cfg, path, prompts)
	}
	tasks, err := s.checkTaskFile(cfg, path, prompts)
	if err != nil {
		return err
	}
	asked, err := s.paperWords(tasks)
	if err != nil {
		return err
	}
	s.showTasks(path, tasks, asked)
	return nil
}

// checkTaskFolder checks every task file in a folder, a line each. Faults of one
// do not keep it from the others.
func (s *session) checkTaskFolder(cfg *config.Config, folder string, prompts *benchmark.Prompts) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var faults []error
	found := false
	for _, entry := range entries {
		if ending := strings.ToLower(filepath.Ext(entry.Name())); ending != ".jsonl" && ending != ".csv" {
			continue
		}
		found = true
		path := filepath.Join(folder, entry.Name())
		tasks, err := s.checkTaskFile(cfg, path, prompts)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		words, err := s.paperWords(tasks)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.stdout, "%s: %s%s\n", path, content(tasks), words)
	}
	if !found {
		return usagef("%s has no task files: names end in .jsonl or .csv", folder)
	}
	return errors.Join(faults...)
}

// checkTaskFile reads all of a task file, its tests too. A file that the
// configuration names is of the benchmark that it is named for.
func (s *session) checkTaskFile(cfg *config.Config, path string, prompts *benchmark.Prompts) ([]benchmark.Task, error) {
	reader := benchmark.Reader{Prompts: prompts, MostTold: toldFaults}
	for _, b := range cfg.Benchmarks {
		if filepath.Clean(taskPath(cfg, b)) == filepath.Clean(path) {
			reader.Benchmark = b.ID
		}
	}
	tasks, err := reader.Read(path)
	if err != nil {
		return nil, err
	}
	faults := []error{usable(cmp.Or(reader.Benchmark, tasks[0].Benchmark), path, tasks)}
	for _, t := range tasks {
		_, err := benchmark.ReadTests(path, t)
		faults = append(faults, err)
	}
	if !s.benchmarks.unpublished {
		faults = append(faults, paperTasks(path, tasks))
	}
	return tasks, errors.Join(faults...)
}

// paperTasks holds the tasks of a benchmark of the paper against the published ids.
// Those of another benchmark are as they are.
func paperTasks(path string, tasks []benchmark.Task) error {
	published, err := publishedIDs()
	if err != nil {
		return err
	}
	want, ofPaper := published[tasks[0].Benchmark]
	if !ofPaper {
		return nil
	}
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	if err := upstream.Compare(ids, want, nil); err != nil {
		return fmt.Errorf("%s: %w (--unpublished checks it without those)", path, err)
	}
	return nil
}

// paperWords says how the tasks of a benchmark of the paper are asked; "" of another.
func (s *session) paperWords(tasks []benchmark.Task) (string, error) {
	groups, err := groupsNamed(nil)
	if err != nil {
		return "", err
	}
	for _, g := range groups {
		if g.ID == tasks[0].Benchmark && !s.benchmarks.unpublished {
			return "; the published ids in order; " + asked(g, benchmark.PromptDigest(tasks)), nil
		}
	}
	return "", nil
}

// showTasks prints how many tasks a file has, and the first as it will be asked.
// words say how a benchmark of the paper is asked.
func (s *session) showTasks(path string, tasks []benchmark.Task, words string) {
	fmt.Fprintf(s.stdout, "%s: %s%s\n", path, content(tasks), words)
	first := tasks[0]
	fmt.Fprintf(s.stdout, "\nTask %s will be asked so", first.ID)
	if first.Answer != "" {
		fmt.Fprintf(s.stdout, ", and %q is right", first.Answer)
	}
	fmt.Fprintln(s.stdout, ":")
	if first.SystemPrompt != "" {
		fmt.Fprintf(s.stdout, "\n[system]\n%s\n", first.SystemPrompt)
	}
	fmt.Fprintf(s.stdout, "\n[user]\n%s\n", first.UserPrompt)
	for _, same := range askedTwice(tasks) {
		s.say("note: %s is asked in the same words as %s: the mean counts it twice, and the simulated fleet refuses it", same[1].ID, same[0].ID)
	}
}

// content says how many tasks there are, in all and for each scorer.
func content(tasks []benchmark.Task) string {
	count := map[string]int{}
	for _, t := range tasks {
		count[t.Scorer]++
	}
	var each []string
	for _, scorer := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	}) {
		each = append(each, fmt.Sprintf("%d %s", count[scorer], scorer))
	}
	return fmt.Sprintf("%s of %s: %s", counted(len(tasks), "task", "tasks"), tasks[0].Benchmark, strings.Join(each, ", "))
}
