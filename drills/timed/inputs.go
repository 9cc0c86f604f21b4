package timed

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"speceval/internal/benchmark"
	"speceval/internal/profile"
)

// Inputs of an experiment, in its folder.
const (
	ProfilesFile = "profiles.csv"
	TasksFolder  = "tasks"
)

// WriteInputs writes profiles, and task files with a made question for each of
// their tasks, into a folder. Profiles of a benchmark have the same tasks.
func WriteInputs(dir string, profiles []profile.Profile) error {
	if err := os.Mkdir(filepath.Join(dir, TasksFolder), 0o777); err != nil {
		return err
	}
	if err := WriteProfiles(filepath.Join(dir, ProfilesFile), profiles); err != nil {
		return err
	}
	for _, p := range profiles {
		if err := writeTasks(filepath.Join(dir, TasksFolder, p.Benchmark+".jsonl"), p); err != nil {
			return err
		}
	}
	return nil
}

// WriteProfiles writes profiles into a new CSV file.
func WriteProfiles(path string, profiles []profile.Profile) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	rows.Write(profile.Columns) // errors: see rows.Error
	for _, p := range profiles {
		for i, id := range p.TaskIDs {
			rows.Write([]string{p.Benchmark, p.Model, strconv.Itoa(i), id, strconv.Itoa(p.PassCounts[i]), strconv.Itoa(p.TestedK)})
		}
	}
	rows.Flush()
	return errors.Join(rows.Error(), file.Close())
}

// writeTasks makes a question for every task of a profile.
func writeTasks(path string, p profile.Profile) error {
	var tasks []benchmark.Task
	for i, id := range p.TaskIDs {
		question := fmt.Sprintf("Task %s: how much is %d and %d?", id, i+2, 7*i+1)
		tasks = append(tasks, benchmark.Task{
			Benchmark: p.Benchmark, ID: id, Index: i, Prompt: question, UserPrompt: question, Scorer: "math", Answer: strconv.Itoa(8*i + 3),
		})
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(benchmark.WriteTasks(file, tasks), file.Close())
}
