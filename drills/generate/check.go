package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/rollout"
)

// readers is a Python program that reads parts with DuckDB.
//
//go:embed readers.py
var readers string

// check holds what is left to what was asked, prints a line for every check,
// and gives all that failed as one error.
func (l *lab) check(ctx context.Context, d *disturbance, stdout io.Writer) error {
	final, err := rollout.Stored(l.path("disturbed"))
	if err != nil {
		return err
	}
	checks := []struct {
		what  string
		fault error
	}{
		{"every kill came before the end", l.checkKills(d)},
		{"every rollout is there once", l.checkCounts(final)},
		{"seeds are different, and those of the rule", l.checkSeeds(final)},
		{"only these seeds were asked for", checkAsked(d, final)},
		{"nothing that was stored was asked for again", checkAgain(d)},
		{"nothing that was stored was lost", checkKept(d, final)},
		{"another run after the end asked for nothing", checkIdle(d)},
		{"DuckDB reads every part, and the same answers as without kills and faults", l.checkReaders(ctx)},
		{"no leftovers", l.checkLeftovers()},
	}
	var faults []error
	for _, c := range checks {
		verdict := "yes"
		if c.fault != nil {
			verdict = "NO: " + c.fault.Error()
			faults = append(faults, fmt.Errorf("not so: %s", c.what))
		}
		fmt.Fprintf(stdout, "%s: %s\n", c.what, verdict)
	}
	return errors.Join(faults...)
}

func (l *lab) checkKills(d *disturbance) error {
	if len(d.kills) != l.kills {
		return fmt.Errorf("%d of %d", len(d.kills), l.kills)
	}
	return nil
}

// key names a rollout whatever its seed.
type key struct {
	benchmark, model string
	task, rollout    int32
}

func keyOf(p rollout.Place) key { return key{p.Benchmark, p.Model, p.TaskIndex, p.Rollout} }

func (l *lab) checkCounts(final []rollout.Place) error {
	count := make(map[key]int, len(final))
	for _, p := range final {
		count[keyOf(p)]++
	}
	missing, twice := 0, 0
	for _, task := range l.tasks {
		for r := range l.rollouts {
			k := key{task.Benchmark, l.model, int32(task.Index), int32(r)}
			switch n := count[k]; {
			case n == 0:
				missing++
			case n > 1:
				twice++
			}
			delete(count, k)
		}
	}
	if missing+twice+len(count) > 0 {
		return fmt.Errorf("of %d rollouts %d are missing and %d are there more than once; %d others are there", l.total(), missing, twice, len(count))
	}
	return nil
}

func (l *lab) checkSeeds(final []rollout.Place) error {
	different := seedsOf(final)
	if len(different) != len(final) {
		return fmt.Errorf("%d seeds for %d rollouts", len(different), len(final))
	}
	for _, p := range final {
		if want := l.seedOf(p); p.Seed != want {
			return fmt.Errorf("%s, task %d, rollout %d has seed %d, the rule says %d", p.Benchmark, p.TaskIndex, p.Rollout, p.Seed, want)
		}
	}
	return nil
}

func checkAsked(d *disturbance, final []rollout.Place) error {
	if strange := unstored(d.asked, final); len(strange) > 0 {
		return fmt.Errorf("%d others, such as %d", len(strange), strange[0])
	}
	return nil
}

func checkAgain(d *disturbance) error {
	var faults []string
	for i, k := range d.kills {
		if again := sentAgain(d.asked[k.seen:], k.found); len(again) > 0 {
			faults = append(faults, fmt.Sprintf("%d after kill %d", len(again), i+1))
		}
	}
	return joined(faults)
}

// checkKept sees to it that what was stored at a kill was there at every later
// one, and at the end.
func checkKept(d *disturbance, final []rollout.Place) error {
	var faults []string
	for i, k := range d.kills {
		later := final
		if i+1 < len(d.kills) {
			later = d.kills[i+1].found
		}
		there := make(map[rollout.Place]bool, len(later))
		for _, p := range later {
			there[p] = true
		}
		lost := 0
		for _, p := range k.found {
			if !there[p] {
				lost++
			}
		}
		if lost > 0 {
			faults = append(faults, fmt.Sprintf("%d of kill %d", lost, i+1))
		}
	}
	return joined(faults)
}

func checkIdle(d *disturbance) error {
	if d.idle > 0 {
		return fmt.Errorf("it made %d requests", d.idle)
	}
	return nil
}

func joined(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, ", "))
}

// checkReaders reads both runs with DuckDB and compares their answers.
func (l *lab) checkReaders(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, l.python, "-c", readers, l.path("disturbed"), l.path("undisturbed"))
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", l.python, err, stderr.String())
	}
	var found struct {
		Folders map[string]struct {
			Parts             map[string]int
			Distinct, Unsound int
		}
		Different int
	}
	if err := json.Unmarshal(output, &found); err != nil {
		return err
	}
	if len(found.Folders) != 2 {
		return fmt.Errorf("%d runs were read, want the one with kills and the one without", len(found.Folders))
	}
	for folder, f := range found.Folders {
		rows := 0
		for _, n := range f.Parts {
			rows += n
		}
		if rows != l.total() || f.Distinct != rows || f.Unsound > 0 {
			return fmt.Errorf("%s: %d rows in %d parts, %d different, %d unsound", folder, rows, len(f.Parts), f.Distinct, f.Unsound)
		}
	}
	if found.Different != 0 {
		return fmt.Errorf("%d answers are others than without kills and faults", found.Different)
	}
	return nil
}

// checkLeftovers finds files that a finished run should have removed.
func (l *lab) checkLeftovers() error {
	var left []string
	err := filepath.WalkDir(l.path("disturbed"), func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); ext == rollout.JournalSuffix || ext == atomicfile.Suffix {
			left = append(left, path)
		}
		return err
	})
	return errors.Join(err, joined(left))
}
