//go:build drill

package runs_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/rollout"
)

var (
	rollouts = flag.Int("rollouts", 200, "generate: rollouts of each of the 100 tasks")
	kills    = flag.Int("kills", 20, "generate: times that the run is killed")
	servers  = flag.Int("replicas", 4, "generate: replicas of the fleet")
	rates    = flag.String("fail", "500=0.02,cut=0.015,garbage=0.01,slow=0.0046,crash=0.0002,hang=0.0002", "generate: rates of the fleet's faults")
)

// TestGenerate kills the generate stage with SIGKILL at random moments, on a simulated
// fleet with injected faults, and starts it again until it is done. Then it compares
// the stored rollouts with the requests: every rollout there once, none requested again
// after it was stored, none lost, all readable by DuckDB, and all as an undisturbed run
// gives them.
func TestGenerate(t *testing.T) {
	g := &generation{Lab: drill.New(t, 20*time.Minute)}
	g.prepare()
	g.Logf("%d requests for %d tasks; %d replicas with the faults %s; seed %d", g.total(), len(g.tasks), *servers, *rates, drill.Seed())
	d := g.disturbed()
	fleet := g.fleet("undisturbed")
	g.Do(0, g.stage("undisturbed")...)
	fleet.Kill()
	g.check(d)
}

// modelID is the model that answers.
const modelID = "qwen2_5_3b"

// generation is a lab with a configuration, task files and the outputs of two runs of
// the generate stage.
type generation struct {
	*drill.Lab
	tasks []benchmark.Task // of both benchmarks
	urls  []string         // of the replicas
}

// masterSeed is the seed of the drill's experiment.
const masterSeed = 42

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
	g.tasks = append(smallBenchmark(g.Lab), sums...)
	g.OK(os.Mkdir(g.Path("tasks"), 0o777))
	file, err := os.Create(g.Path("tasks", "sums.jsonl"))
	g.OK(err)
	g.OK(benchmark.WriteTasks(file, sums), file.Close())
	g.urls = g.FreeURLs(*servers)
	g.WriteConfig(g.Path("experiments.toml"), drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed},
		"corpus":     drill.Settings{"source": "vllm", "tasks": g.Path("tasks"), "rollouts_per_task": *rollouts},
		"model":      []drill.Settings{{"id": modelID}},
		"benchmark":  []drill.Settings{{"id": "smallbench"}, {"id": "sums"}},
		"worker":     []drill.Settings{{"name": "fleet", "urls": g.urls}},
		"serving":    drill.Settings{"hang_seconds": 1, "outage_seconds": 60, "on_loss": "again"}, // the fleet repeats an answer by its seed
	})
}

func (g *generation) total() int { return len(g.tasks) * *rollouts }

// fleet starts the fleet of a run and waits until every replica is healthy.
func (g *generation) fleet(name string, flags ...string) *drill.Process {
	flags = append(flags, "--log", g.requestLog(name), "--restart", "2s",
		"--seed", strconv.FormatUint(drill.Seed(), 10), "--speed", fleetSpeed(100))
	return g.Serve(name+"-fleet.txt", g.Path("experiments.toml"), g.urls, flags...)
}

// requestLog is where the fleet of a run logs its requests.
func (g *generation) requestLog(name string) string { return g.Path(name + "-requests.jsonl") }

// stage is the command of the generate stage with its outputs in the folder of that name.
func (g *generation) stage(name string) []string {
	return []string{"run", "generate", "--config", g.Path("experiments.toml"), "--out", g.Path(name)}
}

// stored are the rollouts of a run.
func (g *generation) stored(name string) []rollout.Place {
	places, err := rollout.Stored(g.Path(name))
	g.OK(err)
	return places
}

// killPoint is when the stage is killed: a while after so many rollouts are stored.
type killPoint struct {
	stored int
	delay  time.Duration
}

// killPoints draws a kill point in every stretch of the run, which is cut into as many
// equal ones as there are kills.
func (g *generation) killPoints() (all []killPoint) {
	const latest = 0.95 // so that the stage cannot be done before the last
	moments := drill.NewMoments("generate")
	stretch := latest * float64(g.total()) / float64(*kills)
	for i := range *kills {
		stored := int((float64(i) + moments.Fraction()) * stretch)
		all = append(all, killPoint{stored, moments.Within(100 * time.Millisecond)})
	}
	return all
}

// kill is what was found after a kill.
type kill struct {
	ran   time.Duration   // from the start of the stage to its end
	seen  int             // requests that had reached the fleet
	found []rollout.Place // what was stored
}

// disturbance is the run that was killed over and over.
type disturbance struct {
	kills    []kill
	restarts int     // runs that gave up by themselves
	asked    []int64 // seeds of all requests, in order of arrival
	others   int     // requests without a seed
	idle     int     // requests of another run after the end
}

const (
	mostRestarts = 9               // times that the stage may give up by itself
	pause        = 5 * time.Second // before it is started again then: replicas may be down
)

// disturbed runs the stage on a fleet with faults, kills it at all kill points and then
// lets it end. It prints a line for every kill.
func (g *generation) disturbed() *disturbance {
	var flags []string
	if *rates != "" {
		flags = []string{"--fail", *rates}
	}
	fleet := g.fleet("disturbed", flags...)
	d := &disturbance{}
	seen := &arrivals{log: tail{path: g.requestLog("disturbed")}}
	stored := &progress{folder: g.Path("disturbed")}
	points, begun := g.killPoints(), time.Now()
	for {
		var next *killPoint
		if len(d.kills) < len(points) {
			next = &points[len(d.kills)]
		}
		killed, code := g.attempt(next, stored, seen)
		switch {
		case fleet.Gone():
			g.Fatalf("the fleet ended by itself, exit code %d: %s", fleet.Code(), fleet.Last())
		case killed != nil:
			d.kills = append(d.kills, *killed)
		case code != 0 && d.restarts == mostRestarts:
			g.Fatalf("the stage gave up with exit code %d for the %dth time, see %s", code, mostRestarts+1, g.Dir)
		case code != 0:
			d.restarts++
			g.Wait(pause)
		case next != nil:
			g.Fatalf("the stage was done before kill %d", len(d.kills)+1)
		default:
			d.asked, d.others = seen.seeds, seen.others
			g.print(d, time.Since(begun))
			if _, code := g.attempt(nil, stored, seen); code != 0 {
				g.Fatalf("run again after its end, the stage gave up with exit code %d, see %s", code, g.Dir)
			}
			d.idle = len(seen.seeds) + seen.others - len(d.asked) - d.others
			fleet.Kill()
			return d
		}
	}
}

// attempt runs the stage until its next kill point or its end, whichever is first. It
// returns what was found after a kill, or the exit code.
func (g *generation) attempt(next *killPoint, stored *progress, seen *arrivals) (*kill, int) {
	p := g.Start(g.stage("disturbed")...)
	begun := time.Now()
	p.Until(func() bool {
		stored.poll(g.Lab)
		return p.Gone() || next != nil && stored.rollouts >= next.stored
	})
	if !p.Gone() {
		g.Wait(next.delay)
	}
	p.Kill()
	k := &kill{ran: time.Since(begun)}
	if p.Code() < 0 {
		k.found = g.stored("disturbed")
	}
	seen.settle(g.Lab)
	if k.seen = len(seen.seeds); p.Code() < 0 {
		return k, 0
	}
	return nil, p.Code() // it ended by itself
}

// print prints all kills as a table.
func (g *generation) print(d *disturbance, took time.Duration) {
	var rows [][]any
	for i, k := range d.kills {
		rows = append(rows, []any{i + 1, fmt.Sprintf("%.2f", k.ran.Seconds()), k.seen, len(seedsOf(k.found)),
			len(unstored(d.asked[:k.seen], k.found)), len(sentAgain(d.asked[k.seen:], k.found))})
	}
	drill.Table([]string{"kill:", "after s:", "requests:", "stored:", "in flight:", "sent again:"}, rows)
	g.Logf("%d requests in %.1f s for %d rollouts, %d without a seed; the run gave up %d times by itself",
		len(d.asked), took.Seconds(), g.total(), d.others, d.restarts)
}
