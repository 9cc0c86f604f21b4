//go:build drill

package runs_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"

	"speceval/drills/drill"
	"speceval/internal/atomicfile"
	"speceval/internal/rollout"
	"speceval/internal/seed"
)

// check compares the stored rollouts with the requests.
func (g *generation) check() {
	final, want := stored(g.Lab, g.Path("disturbed")), g.rule()
	g.Sub("every kill came before the end", func(l *drill.Lab) {
		if len(g.killed) != *kills {
			l.Errorf("%d of %d", len(g.killed), *kills)
		}
	})
	g.Sub("every rollout is there once", func(l *drill.Lab) {
		count := make(map[rollout.Place]int)
		for _, p := range final {
			count[bare(p)]++
		}
		missing, twice := 0, 0
		for p := range want {
			if n := count[p]; n == 0 {
				missing++
			} else if n > 1 {
				twice++
			}
			delete(count, p)
		}
		if missing+twice+len(count) > 0 {
			l.Errorf("of %d rollouts %d are missing and %d are there more than once; %d others are there",
				g.total(), missing, twice, len(count))
		}
	})
	g.Sub("seeds are different, and those of the rule", func(l *drill.Lab) {
		if n := len(seedsOf(final)); n != len(final) {
			l.Errorf("%d seeds for %d rollouts", n, len(final))
		}
		for _, p := range final {
			if seed := want[bare(p)]; p.Seed != seed {
				l.Fatalf("%s, task %d, rollout %d has seed %d, the rule says %d", p.Benchmark, p.TaskIndex, p.Rollout, p.Seed, seed)
			}
		}
	})
	g.Sub("only these seeds were requested", func(l *drill.Lab) {
		if strange := unstored(g.asked, final); len(strange) > 0 {
			l.Errorf("%d others, such as %d", len(strange), strange[0])
		}
	})
	g.Sub("nothing that was stored was requested again", func(l *drill.Lab) {
		for i, k := range g.killed {
			if n := len(sentAgain(g.asked[k.seen:], k.found)); n > 0 {
				l.Errorf("%d after kill %d", n, i+1)
			}
		}
	})
	g.Sub("nothing that was stored was lost", func(l *drill.Lab) {
		later := final // what was found after the next kill, or at the end
		for i := len(g.killed) - 1; i >= 0; i-- {
			there := make(map[rollout.Place]bool)
			for _, p := range later {
				there[p] = true
			}
			later = g.killed[i].found
			lost := 0
			for _, p := range later {
				if !there[p] {
					lost++
				}
			}
			if lost > 0 {
				l.Errorf("%d of kill %d", lost, i+1)
			}
		}
	})
	g.Sub("another run after the end requested nothing", func(l *drill.Lab) {
		if g.idle > 0 {
			l.Errorf("it made %d requests", g.idle)
		}
	})
	g.Sub("DuckDB reads every part, and the same answers as without kills and faults", g.checkReaders)
	g.Sub("no leftovers", func(l *drill.Lab) {
		for _, path := range l.Walk(l.Path("disturbed")) {
			if ext := filepath.Ext(path); ext == rollout.JournalSuffix || ext == atomicfile.Suffix {
				l.Errorf("left over: %s", path)
			}
		}
	})
}

// bare is a rollout without its seed.
func bare(p rollout.Place) rollout.Place {
	p.Seed = 0
	return p
}

// rule has the seed of every rollout: of the node generate, benchmark, model, task id,
// number of the rollout in the tree of the experiment's seed, the first 63 bits. It
// repeats the rule of the stage, so that neither can change alone.
func (g *generation) rule() map[rollout.Place]int64 {
	seeds := make(map[rollout.Place]int64)
	for _, task := range g.tasks {
		node := seed.Root(masterSeed).Child("generate").Child(task.Benchmark).Child(modelID).Child(task.ID)
		for r := range *rollouts {
			p := rollout.Place{Benchmark: task.Benchmark, Model: modelID, TaskIndex: int32(task.Index), Rollout: int32(r)}
			stream := node.Index(r).Stream()
			seeds[p] = int64(stream.Uint64() >> 1)
		}
	}
	return seeds
}

// readers is a Python program that reads parts with DuckDB.
//
//go:embed readers.py
var readers string

// checkReaders reads both runs with DuckDB and compares their answers.
func (g *generation) checkReaders(l *drill.Lab) {
	command := exec.CommandContext(l.Ctx, drill.Python(), "-c", readers, l.Path("disturbed"), l.Path("undisturbed"))
	command.Stderr = os.Stderr
	output, err := command.Output()
	l.OK(err)
	var found struct {
		Folders map[string]struct {
			Parts             map[string]int
			Distinct, Unsound int
		}
		Different int
	}
	l.OK(json.Unmarshal(output, &found))
	if len(found.Folders) != 2 {
		l.Errorf("%d runs were read, want the one with kills and the one without", len(found.Folders))
	}
	for folder, f := range found.Folders {
		rows := 0
		for _, n := range f.Parts {
			rows += n
		}
		if rows != g.total() || f.Distinct != rows || f.Unsound > 0 {
			l.Errorf("%s: %d rows in %d parts, %d different, %d unsound", folder, rows, len(f.Parts), f.Distinct, f.Unsound)
		}
	}
	if found.Different != 0 {
		l.Errorf("%d answers are others than without kills and faults", found.Different)
	}
}
