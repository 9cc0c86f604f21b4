//go:build drill

package runs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/store/rollout"
)

var (
	rollouts = flag.Int("rollouts", 200, "generate: rollouts of each of the 100 tasks")
	kills    = flag.Int("kills", 20, "generate: times that the run is killed")
)

// rates of faults, as `speceval fleet --fail` takes them.
const rates = "500=0.02,cut=0.015,garbage=0.01,slow=0.0046,crash=0.0002,hang=0.0002"

// TestGenerate kills the generate stage with SIGKILL at random moments, on a simulated
// fleet with injected faults, and starts it again until it is done. Then it compares
// the stored rollouts with the requests: every rollout there once, none requested again
// after it was stored, none lost, all readable by DuckDB, and all as an undisturbed run
// gives them.
func TestGenerate(t *testing.T) {
	g := &generation{Lab: drill.New(t, 20*time.Minute), tails: tails{}}
	g.prepare()
	g.Logf("%d requests for %d tasks; %d replicas with the faults %s; seed %d",
		g.total(), len(g.tasks), replicas, rates, drill.Seed())
	fleet := g.fleet("disturbed", "--fail", rates)
	g.disturb(fleet)
	fleet.Kill()
	fleet = g.fleet("undisturbed")
	g.Do(0, g.stage("undisturbed")...)
	fleet.Kill()
	g.check()
}

// generation is a lab with a configuration, task files and the outputs of two runs of
// the generate stage.
type generation struct {
	*drill.Lab
	tails
	tasks []benchmark.Task // of both benchmarks
	urls  []string         // of the replicas

	// Of the run that is killed over and over:
	killed []kill
	asked  []int64 // seeds of all requests, in the order in which they ended
	idle   int     // requests of another run after the end
}

// kill is what was found after a kill.
type kill struct {
	seen  int           // requests that had reached the fleet
	found []drill.Place // what was stored
}

const (
	masterSeed = 42 // of the experiment
	modelID    = "qwen2_5_3b"
)

// prepare writes the configuration and the task files: the small benchmark and sums, so
// that there is more than one unit.
func (g *generation) prepare() {
	var sums []benchmark.Task
	for i := range 40 {
		prompt := fmt.Sprintf("How much is %d and %d?", 17+i, 4*i+3)
		sums = append(sums, benchmark.Task{
			Benchmark: "sums", ID: fmt.Sprintf("sum-%d", i), Index: i, Prompt: prompt,
			UserPrompt: prompt, Scorer: "math", Answer: strconv.Itoa(20 + 5*i),
		})
	}
	var text strings.Builder
	g.OK(benchmark.WriteTasks(&text, sums))
	g.Write(g.Path("tasks", "sums.jsonl"), []byte(text.String()))
	g.tasks = append(smallBenchmark(g.Lab), sums...)
	g.urls = g.FreeURLs(replicas)
	g.WriteConfig(g.Path("experiments.toml"), drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed},
		"corpus":     drill.Settings{"source": "vllm", "tasks": g.Path("tasks"), "rollouts_per_task": *rollouts},
		"model":      []drill.Settings{{"id": modelID}},
		"benchmark":  []drill.Settings{{"id": "smallbench"}, {"id": "sums"}},
		"worker":     []drill.Settings{{"name": "fleet", "urls": g.urls}},
		// The fleet repeats an answer by its seed.
		"serving": drill.Settings{"hang_seconds": 1, "outage_seconds": 60, "on_loss": "again"},
	})
}

func (g *generation) total() int { return len(g.tasks) * *rollouts }

// fleet starts the fleet of a run and waits until every replica is healthy.
func (g *generation) fleet(name string, flags ...string) *drill.Process {
	flags = append(flags, "--log", g.log(name), "--restart", "2s",
		"--seed", strconv.FormatUint(drill.Seed(), 10), "--speed", "100")
	return g.Serve(name+"-fleet.txt", g.Path("experiments.toml"), g.urls, flags...)
}

// log is where the fleet of a run logs its requests.
func (g *generation) log(name string) string { return g.Path(name + "-requests.jsonl") }

// stage is the command of the generate stage with its outputs in the folder of that name.
func (g *generation) stage(name string) []string {
	return []string{"run", "generate", "--config", g.Path("experiments.toml"), "--out", g.Path(name)}
}

const (
	mostRestarts = 9               // times that the stage may give up by itself
	pause        = 5 * time.Second // before it is started again then: replicas may be down
)

// disturb runs the stage on a fleet with faults, kills it in every stretch of the run,
// which is cut into as many equal ones as there are kills, and then lets it end.
func (g *generation) disturb(fleet *drill.Process) {
	const latest = 0.95 // so that the stage cannot be done before the last
	moments := drill.NewMoments("generate")
	restarts, journaled := 0, 0
	gaveUp := func(p *drill.Process) bool { // after it has ended by itself
		g.asked = append(g.asked, g.settled(g.Lab, g.log("disturbed"))...)
		switch {
		case fleet.Gone():
			g.Fatalf("the fleet ended by itself, exit code %d: %s", fleet.Code(), fleet.Last())
		case p.Code() == 0:
			return false
		case restarts == mostRestarts:
			g.Fatalf("the stage gave up with exit code %d for the %dth time, see %s", p.Code(), restarts+1, g.Dir)
		}
		restarts++
		g.Wait(pause)
		return true
	}
	for i := range *kills {
		enough := int((float64(i) + moments.Fraction()) * latest * float64(g.total()) / float64(*kills))
		delay := moments.Within(100 * time.Millisecond)
		for len(g.killed) == i {
			p := g.Start(g.stage("disturbed")...)
			p.Until(func() bool {
				journaled += g.journaled(g.Lab, g.Path("disturbed"))
				return p.Gone() || journaled >= enough
			})
			if p.KillAfter(delay) {
				k := kill{found: g.Stored(g.Path("disturbed"))}
				g.asked = append(g.asked, g.settled(g.Lab, g.log("disturbed"))...)
				k.seen = len(g.asked)
				g.killed = append(g.killed, k)
			} else if !gaveUp(p) {
				g.Fatalf("the stage was done before kill %d", i+1)
			}
		}
	}
	for again := true; again; {
		p := g.Start(g.stage("disturbed")...)
		p.Wait()
		again = gaveUp(p)
	}
	g.Logf("%d requests for %d rollouts; the run gave up %d times by itself", len(g.asked), g.total(), restarts)
	g.Do(0, g.stage("disturbed")...)
	g.idle = len(g.settled(g.Lab, g.log("disturbed")))
}

// tails read the lines of files that grow: of each path how far it was read.
type tails map[string]int64

// lines are the whole lines that were written to a file since the last call.
func (t tails) lines(l *drill.Lab, path string) [][]byte {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not there yet, or just removed
	}
	l.OK(err)
	defer file.Close()
	fresh, err := io.ReadAll(io.NewSectionReader(file, t[path], 1<<40))
	l.OK(err)
	lines := bytes.SplitAfter(fresh, []byte("\n"))
	rest := lines[len(lines)-1] // of a line that is not whole yet
	t[path] += int64(len(fresh) - len(rest))
	return lines[:len(lines)-1]
}

// journaled counts the rollouts that a run has stored since the last call, by the lines
// of its journals. It need not be exact: it decides when to kill.
func (t tails) journaled(l *drill.Lab, out string) (n int) {
	for _, path := range l.Walk(out) {
		if filepath.Ext(path) == rollout.JournalSuffix {
			n += len(t.lines(l, path))
		}
	}
	return n
}

// noSeed stands for a request without an id or a seed, which asks whether a replica is
// back; no rollout has it.
const noSeed = -1

// requests are the seeds of the requests that a fleet logged since the last call, in the
// order in which they ended.
func (t tails) requests(l *drill.Lab, log string) (seeds []int64) {
	for _, line := range t.lines(l, log) {
		var request struct {
			ID   string
			Seed *int64
		}
		l.OK(json.Unmarshal(line, &request))
		if request.ID == "" || request.Seed == nil {
			seeds = append(seeds, noSeed)
			continue
		}
		seeds = append(seeds, *request.Seed)
	}
	return seeds
}

// settled are the requests of a process that was killed. They end when its connections
// do, at once: all are written when the log has been quiet for a while.
func (t tails) settled(l *drill.Lab, log string) (seeds []int64) {
	for before := int64(-1); t[log] != before; {
		before = t[log]
		l.Wait(500 * time.Millisecond)
		seeds = append(seeds, t.requests(l, log)...)
	}
	return seeds
}

// sentAgain lists the seeds that were requested though they were stored.
func sentAgain(asked []int64, stored []drill.Place) []int64 {
	there := seedsOf(stored)
	return slices.DeleteFunc(slices.Clone(asked), func(s int64) bool { return !there[s] })
}

// unstored lists the different seeds that were requested and are not stored.
func unstored(asked []int64, stored []drill.Place) []int64 {
	there := seedsOf(stored)
	asked = slices.Compact(slices.Sorted(slices.Values(asked)))
	return slices.DeleteFunc(asked, func(s int64) bool { return there[s] || s == noSeed })
}

// seedsOf are the different seeds of rollouts.
func seedsOf(places []drill.Place) map[int64]bool {
	seeds := make(map[int64]bool, len(places))
	for _, p := range places {
		seeds[p.Seed] = true
	}
	return seeds
}
