package timed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/rowfile"
)

// scratch is where an unfinished unit keeps its runs, below the outputs.
func scratch(out string) string { return filepath.Join(out, "scratch", "systems", Measured) }

// Voids lists the lines about void runs of units that are not finished.
func Voids(out string) ([]string, error) {
	paths, _ := filepath.Glob(filepath.Join(scratch(out), "*", "*", "*", "void.txt")) // the pattern is good
	var lines []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	return lines, nil
}

// Kept is when each run on servers was begun that is there, of finished units
// and of others, by its name.
func Kept(out string, settings []Setting) (map[string]string, error) {
	all := map[string]string{}
	results, err := ReadAll(out, Measured, settings, true)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		for _, run := range r.Runs {
			all[RunName(r, run)] = run.Started
		}
	}
	for _, s := range settings {
		unit := filepath.Join(scratch(out), s.Profile.Name(), fmt.Sprintf("budget=%d", s.Budget))
		paths, _ := filepath.Glob(filepath.Join(unit, "*", "*.run.parquet")) // the pattern is good
		for _, path := range paths {
			rows, _, err := rowfile.ReadFile[Run](path)
			if errors.Is(err, os.ErrNotExist) {
				continue // the unit was done just now
			}
			if err != nil || len(rows) != 1 {
				return nil, fmt.Errorf("%s: %d rows: %w", path, len(rows), err)
			}
			all[RunName(&Results{Setting: s}, rows[0])] = rows[0].Started
		}
	}
	return all, nil
}

// RunName names a run of results.
func RunName(r *Results, run Run) string {
	return fmt.Sprintf("%s, %s, repeat %d", r.Name(), run.Strategy, run.Repeat)
}
