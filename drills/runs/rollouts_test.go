//go:build drill

package runs_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/drills/drill"
	"speceval/internal/atomicfile"
	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// readers is a Python program that reads parts with DuckDB.
//
//go:embed readers.py
var readers string

// check compares the stored rollouts with the requests.
func (g *generation) check(d *disturbance) {
	final := g.stored("disturbed")
	for _, check := range []struct {
		what string
		do   func(g *generation)
	}{
		{"every kill came before the end", func(g *generation) {
			if len(d.kills) != *kills {
				g.Errorf("%d of %d", len(d.kills), *kills)
			}
		}},
		{"every rollout is there once", func(g *generation) { g.checkCounts(final) }},
		{"seeds are different, and those of the rule", func(g *generation) { g.checkSeeds(final) }},
		{"only these seeds were requested", func(g *generation) {
			if strange := unstored(d.asked, final); len(strange) > 0 {
				g.Errorf("%d others, such as %d", len(strange), strange[0])
			}
		}},
		{"nothing that was stored was requested again", func(g *generation) {
			for i, k := range d.kills {
				if again := sentAgain(d.asked[k.seen:], k.found); len(again) > 0 {
					g.Errorf("%d after kill %d", len(again), i+1)
				}
			}
		}},
		{"nothing that was stored was lost", func(g *generation) { g.checkKept(d, final) }},
		{"another run after the end requested nothing", func(g *generation) {
			if d.idle > 0 {
				g.Errorf("it made %d requests", d.idle)
			}
		}},
		{"DuckDB reads every part, and the same answers as without kills and faults", (*generation).checkReaders},
		{"no leftovers", func(g *generation) {
			for _, path := range g.Walk(g.Path("disturbed")) {
				if ext := filepath.Ext(path); ext == rollout.JournalSuffix || ext == atomicfile.Suffix {
					g.Errorf("left over: %s", path)
				}
			}
		}},
	} {
		g.Sub(check.what, func(l *drill.Lab) {
			part := *g
			part.Lab = l
			check.do(&part)
		})
	}
}

func (g *generation) checkCounts(final []rollout.Place) {
	count := make(map[rollout.Place]int, len(final)) // by all but the seed
	for _, p := range final {
		p.Seed = 0
		count[p]++
	}
	missing, twice := 0, 0
	for _, task := range g.tasks {
		for r := range *rollouts {
			k := rollout.Place{Benchmark: task.Benchmark, Model: modelID, TaskIndex: int32(task.Index), Rollout: int32(r)}
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
		g.Errorf("of %d rollouts %d are missing and %d are there more than once; %d others are there", g.total(), missing, twice, len(count))
	}
}

func (g *generation) checkSeeds(final []rollout.Place) {
	if different := seedsOf(final); len(different) != len(final) {
		g.Errorf("%d seeds for %d rollouts", len(different), len(final))
	}
	for _, p := range final {
		if want := g.seedOf(p); p.Seed != want {
			g.Fatalf("%s, task %d, rollout %d has seed %d, the rule says %d", p.Benchmark, p.TaskIndex, p.Rollout, p.Seed, want)
		}
	}
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

// checkKept checks that what was stored at a kill was there at every later kill, and at
// the end.
func (g *generation) checkKept(d *disturbance, final []rollout.Place) {
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
			g.Errorf("%d of kill %d", lost, i+1)
		}
	}
}

// checkReaders reads both runs with DuckDB and compares their answers.
func (g *generation) checkReaders() {
	ctx, cancel := context.WithTimeout(g.Ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, drill.Python(), "-c", readers, g.Path("disturbed"), g.Path("undisturbed"))
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		g.Fatalf("%s: %v\n%s", drill.Python(), err, stderr.String())
	}
	var found struct {
		Folders map[string]struct {
			Parts             map[string]int
			Distinct, Unsound int
		}
		Different int
	}
	g.OK(json.Unmarshal(output, &found))
	if len(found.Folders) != 2 {
		g.Fatalf("%d runs were read, want the one with kills and the one without", len(found.Folders))
	}
	for folder, f := range found.Folders {
		rows := 0
		for _, n := range f.Parts {
			rows += n
		}
		if rows != g.total() || f.Distinct != rows || f.Unsound > 0 {
			g.Errorf("%s: %d rows in %d parts, %d different, %d unsound", folder, rows, len(f.Parts), f.Distinct, f.Unsound)
		}
	}
	if found.Different != 0 {
		g.Errorf("%d answers are others than without kills and faults", found.Different)
	}
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
