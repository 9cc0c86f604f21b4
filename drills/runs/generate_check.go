package runs

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
	"speceval/internal/atomicfile"
	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// readers is a Python program that reads parts with DuckDB.
//
//go:embed readers.py
var readers string

// check compares the stored rollouts with the requests.
func (g *generation) check(ctx context.Context, d *disturbance) error {
	final, err := rollout.Stored(g.Path("disturbed"))
	if err != nil {
		return err
	}
	return lab.Report(g.Stdout, []lab.Check{
		{What: "every kill came before the end", Fault: g.checkKills(d)},
		{What: "every rollout is there once", Fault: g.checkCounts(final)},
		{What: "seeds are different, and those of the rule", Fault: g.checkSeeds(final)},
		{What: "only these seeds were asked for", Fault: checkAsked(d, final)},
		{What: "nothing that was stored was asked for again", Fault: checkAgain(d)},
		{What: "nothing that was stored was lost", Fault: checkKept(d, final)},
		{What: "another run after the end asked for nothing", Fault: checkIdle(d)},
		{What: "DuckDB reads every part, and the same answers as without kills and faults", Fault: g.checkReaders(ctx)},
		{What: "no leftovers", Fault: g.checkLeftovers()},
	})
}

func (g *generation) checkKills(d *disturbance) error {
	if len(d.kills) != g.kills {
		return fmt.Errorf("%d of %d", len(d.kills), g.kills)
	}
	return nil
}

func (g *generation) checkCounts(final []rollout.Place) error {
	count := make(map[rollout.Place]int, len(final)) // by all but the seed
	for _, p := range final {
		p.Seed = 0
		count[p]++
	}
	missing, twice := 0, 0
	for _, task := range g.tasks {
		for r := range g.rollouts {
			k := rollout.Place{Benchmark: task.Benchmark, Model: g.model, TaskIndex: int32(task.Index), Rollout: int32(r)}
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
		return fmt.Errorf("of %d rollouts %d are missing and %d are there more than once; %d others are there", g.total(), missing, twice, len(count))
	}
	return nil
}

func (g *generation) checkSeeds(final []rollout.Place) error {
	different := seedsOf(final)
	if len(different) != len(final) {
		return fmt.Errorf("%d seeds for %d rollouts", len(different), len(final))
	}
	for _, p := range final {
		if want := g.seedOf(p); p.Seed != want {
			return fmt.Errorf("%s, task %d, rollout %d has seed %d, the rule says %d", p.Benchmark, p.TaskIndex, p.Rollout, p.Seed, want)
		}
	}
	return nil
}

// seedOf is the seed that a rollout must have: of the node generate, benchmark,
// model, task id, number of the rollout in the tree of the experiment's seed,
// the first 63 bits. It repeats the rule of the stage, so that neither can change alone.
func (g *generation) seedOf(p rollout.Place) int64 {
	for _, task := range g.tasks {
		if task.Benchmark == p.Benchmark && task.Index == int(p.TaskIndex) {
			node := seed.Root(masterSeed).Child("generate").Child(p.Benchmark).Child(p.Model).Child(task.ID)
			stream := node.Index(int(p.Rollout)).Stream()
			return int64(stream.Uint64() >> 1)
		}
	}
	return -1 // no seed: no such task
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

// checkKept checks that what was stored at a kill was there at every later kill, and at
// the end.
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
func (g *generation) checkReaders(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, g.Python, "-c", readers, g.Path("disturbed"), g.Path("undisturbed"))
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", g.Python, err, stderr.String())
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
		if rows != g.total() || f.Distinct != rows || f.Unsound > 0 {
			return fmt.Errorf("%s: %d rows in %d parts, %d different, %d unsound", folder, rows, len(f.Parts), f.Distinct, f.Unsound)
		}
	}
	if found.Different != 0 {
		return fmt.Errorf("%d answers are others than without kills and faults", found.Different)
	}
	return nil
}

// checkLeftovers finds files that a finished run should have removed.
func (g *generation) checkLeftovers() error {
	var left []string
	err := filepath.WalkDir(g.Path("disturbed"), func(path string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); ext == rollout.JournalSuffix || ext == atomicfile.Suffix {
			left = append(left, path)
		}
		return err
	})
	return errors.Join(err, joined(left))
}

// unstored lists the different seeds that were requested and are not stored.
func unstored(asked []int64, stored []rollout.Place) []int64 {
	seeds := slices.Clone(asked)
	slices.Sort(seeds)
	there := seedsOf(stored)
	return slices.DeleteFunc(slices.Compact(seeds), func(s int64) bool { return there[s] })
}

// sentAgain lists the seeds that were requested though they were stored.
func sentAgain(asked []int64, stored []rollout.Place) []int64 {
	there := seedsOf(stored)
	return slices.DeleteFunc(slices.Clone(asked), func(s int64) bool { return !there[s] })
}

func seedsOf(places []rollout.Place) map[int64]bool {
	seeds := make(map[int64]bool, len(places))
	for _, p := range places {
		seeds[p.Seed] = true
	}
	return seeds
}
