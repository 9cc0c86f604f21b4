//go:build drill

package runs_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"speceval/drills/drill"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rollout"
)

// check compares the stored rollouts with the requests.
func (g *generation) check() {
	final := g.Stored(g.Path("disturbed"))
	g.Sub("every kill came before the end", func(l *drill.Lab) {
		if len(g.killed) != *kills {
			l.Errorf("%d of %d", len(g.killed), *kills)
		}
	})
	g.Sub("every rollout is there once, by the seed of the rule, and nothing that was stored was lost", func(l *drill.Lab) {
		var before []drill.Place
		for _, k := range g.killed {
			before = append(before, k.found...)
		}
		l.Complete(final, g.rule(), before)
		if n := len(seedsOf(final)); n != len(final) {
			l.Errorf("%d seeds for %d rollouts", n, len(final))
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

// rule are the rollouts of both benchmarks.
func (g *generation) rule() []drill.Place {
	ids := map[string][]string{}
	for _, task := range g.tasks {
		ids[task.Benchmark] = append(ids[task.Benchmark], task.ID)
	}
	return slices.Concat(drill.Rollouts(masterSeed, "smallbench", modelID, ids["smallbench"], *rollouts),
		drill.Rollouts(masterSeed, "sums", modelID, ids["sums"], *rollouts))
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
