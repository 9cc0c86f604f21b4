package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"speceval/internal/benchmark"
	"speceval/internal/shown"
	"speceval/pipeline/config"
	"speceval/pipeline/experiment"
)

// benchmarksCheckOptions are the flags of benchmarks check.
type benchmarksCheckOptions struct{ unpublished bool }

func benchmarksCheckCommand() command {
	o := new(benchmarksCheckOptions)
	return command{
		name:  "check",
		args:  "PATH [--unpublished]",
		about: "check a task file, or those of a folder, and show what will be asked",
		examples: `  speceval benchmarks check tasks      task files, against the published ids
  speceval benchmarks check mine.csv   a file of your own, line by line
`,
		flags: func(fs *pflag.FlagSet) {
			fs.BoolVar(&o.unpublished, "unpublished", false, "compare with no published ids")
		},
		run: o.run,
	}
}

// run reports what is wrong with a task file, or with those of a
// folder, and what is asked if nothing is.
func (o *benchmarksCheckOptions) run(s *session, words []string) error {
	if err := wantWords(words, 1, 1, "check and a task file or a folder of them"); err != nil {
		return err
	}
	cfg, err := config.Load(s.config, s.sets)
	if err != nil {
		return &usageError{err}
	}
	if _, err := experiment.Prompts(cfg); err != nil {
		return &usageError{err}
	}
	path := words[0]
	info, err := os.Stat(path)
	if err != nil {
		return &usageError{err}
	}
	if info.IsDir() {
		return o.folder(s, cfg, path)
	}
	tasks, err := o.file(s, cfg, path)
	if err != nil {
		return err
	}
	s.showTask(tasks[0])
	for _, same := range experiment.AskedTwice(tasks) {
		s.say("note: %s is asked in the same words as %s: the mean counts it twice, and the simulated fleet refuses it", shown.Line(same[1].ID), shown.Line(same[0].ID))
	}
	return nil
}

// folder checks every task file in a folder, a line each. Faults of one
// do not keep it from the others.
func (o *benchmarksCheckOptions) folder(s *session, cfg *config.Config, folder string) error {
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
		_, err := o.file(s, cfg, filepath.Join(folder, entry.Name()))
		faults = append(faults, err)
	}
	if !found {
		return usagef("%s has no task files: names end in .jsonl or .csv", folder)
	}
	return errors.Join(faults...)
}

// file checks a task file and prints a line about its tasks.
func (o *benchmarksCheckOptions) file(s *session, cfg *config.Config, path string) ([]benchmark.Task, error) {
	tasks, paper, err := experiment.CheckTasks(cfg, path, o.unpublished)
	if err == nil {
		fmt.Fprintf(s.stdout, "%s: %s%s\n", path, experiment.Content(tasks), paper)
	}
	return tasks, err
}

// showTask prints a task as it will be asked.
func (s *session) showTask(t benchmark.Task) {
	fmt.Fprintf(s.stdout, "\nTask %s will be asked so", shown.Line(t.ID))
	if t.Answer != "" {
		fmt.Fprintf(s.stdout, ", and %q is right", t.Answer)
	}
	fmt.Fprintln(s.stdout, ":")
	if t.SystemPrompt != "" {
		fmt.Fprintf(s.stdout, "\n[system]\n%s\n", t.SystemPrompt)
	}
	fmt.Fprintf(s.stdout, "\n[user]\n%s\n", t.UserPrompt)
}
