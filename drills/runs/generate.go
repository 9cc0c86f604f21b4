package runs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/rollout"
)

// Generate kills the generate stage with SIGKILL at random moments, on a simulated
// fleet with injected faults, and starts it again until it is done. Then it compares
// the stored rollouts with the requests: every rollout there once, none requested again
// after it was stored, none lost, all readable by DuckDB, and all as an undisturbed run
// gives them.
var Generate = lab.Drill{
	Name: "drill-generate", About: "a run of rollouts that is killed over and over, on a fleet with faults",
	Limit: 20 * time.Minute, Shared: []string{"speceval", "dir", "seed"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		g := &generation{model: "qwen2_5_3b"}
		flags.IntVar(&g.rollouts, "rollouts", 200, "rollouts of each of the 100 tasks")
		flags.IntVar(&g.kills, "kills", 20, "times that the run is killed")
		flags.IntVar(&g.replicas, "replicas", 4, "replicas of the fleet")
		flags.StringVar(&g.faults, "fail", "500=0.02,cut=0.015,garbage=0.01,slow=0.0046,crash=0.0002,hang=0.0002", "rates of the fleet's faults")
		flags.Float64Var(&g.speed, "speed", 100, "of the fleet; 0: it answers at once")
		return func(ctx context.Context, l *lab.Lab) error {
			g.Lab = l
			return g.do(ctx)
		}
	},
}

// generation is a lab with a configuration, task files and the outputs of two runs of
// the generate stage.
type generation struct {
	*lab.Lab
	rollouts int // of each task
	kills    int
	replicas int
	faults   string // as `speceval fleet --fail` takes them
	speed    float64
	model    string
	tasks    []benchmark.Task // of both benchmarks
	urls     []string         // of the replicas
}

func (g *generation) do(ctx context.Context) error {
	if err := g.prepare(); err != nil {
		return err
	}
	g.Printf("%d requests for %d tasks; %d replicas with the faults %s; seed %d; files in %s",
		g.total(), len(g.tasks), g.replicas, g.faults, g.Seed, g.Dir)
	d, err := g.disturbed(ctx)
	if err != nil {
		return err
	}
	if err := g.undisturbed(ctx); err != nil {
		return fmt.Errorf("undisturbed run: %w", err)
	}
	return g.check(ctx, d)
}

// masterSeed is the seed of the drill's experiment.
const masterSeed = 42

// prepare writes the configuration and the task files: the small benchmark and sums, so
// that there is more than one unit.
func (g *generation) prepare() error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	if g.tasks, err = (benchmark.Reader{Prompts: prompts}).Parse(data.SmallBenchmark(), data.SmallBenchmarkName); err != nil {
		return err
	}
	var sums []benchmark.Task
	for i := range 40 {
		prompt := fmt.Sprintf("How much is %d and %d?", 17+i, 4*i+3)
		sums = append(sums, benchmark.Task{
			Benchmark: "sums", ID: fmt.Sprintf("sum-%d", i), Index: i, Prompt: prompt,
			UserPrompt: prompt, Scorer: "math", Answer: strconv.Itoa(20 + 5*i),
		})
	}
	g.tasks = append(g.tasks, sums...)
	if err := os.Mkdir(g.Path("tasks"), 0o777); err != nil {
		return err
	}
	file, err := os.Create(g.Path("tasks", "sums.jsonl"))
	if err != nil {
		return err
	}
	if err := errors.Join(benchmark.WriteTasks(file, sums), file.Close()); err != nil {
		return err
	}
	if g.urls, err = lab.FreeURLs(g.replicas); err != nil {
		return err
	}
	return lab.WriteConfig(g.Path("experiments.toml"), lab.Settings{
		"experiment": lab.Settings{"seed": masterSeed},
		"corpus":     lab.Settings{"source": "vllm", "tasks": g.Path("tasks"), "rollouts_per_task": g.rollouts},
		"model":      []lab.Settings{{"id": g.model}},
		"benchmark":  []lab.Settings{{"id": "smallbench"}, {"id": "sums"}},
		"worker":     []lab.Settings{{"name": "fleet", "urls": g.urls}},
		"serving":    lab.Settings{"hang_seconds": 1, "outage_seconds": 60, "on_loss": "again"}, // the fleet repeats an answer by its seed
	})
}

func (g *generation) total() int { return len(g.tasks) * g.rollouts }

// fleet starts the fleet of a run and waits until every replica is healthy.
func (g *generation) fleet(ctx context.Context, name string, flags ...string) (*lab.Process, error) {
	flags = append(flags, "--log", g.requestLog(name), "--restart", "2s",
		"--seed", strconv.FormatUint(g.Seed, 10), "--speed", fmt.Sprint(g.speed))
	return g.Serve(ctx, name+"-fleet.txt", g.Path("experiments.toml"), g.urls, flags...)
}

// requestLog is where the fleet of a run logs its requests.
func (g *generation) requestLog(name string) string { return g.Path(name + "-requests.jsonl") }

// stage starts the generate stage with its outputs in the folder of that name.
func (g *generation) stage(name string) (*lab.Process, error) {
	return g.Start("run", "generate", "--config", g.Path("experiments.toml"), "--out", g.Path(name))
}

// undisturbed runs the stage once, on a fleet without faults.
func (g *generation) undisturbed(ctx context.Context) error {
	fleet, err := g.fleet(ctx, "undisturbed")
	if err != nil {
		return err
	}
	defer fleet.Kill()
	p, err := g.stage("undisturbed")
	if err != nil {
		return err
	}
	defer p.Kill()
	return p.Succeed(ctx)
}

// killPoint is when the stage is killed: a while after so many rollouts are stored.
type killPoint struct {
	stored int
	delay  time.Duration
}

// killPoints draws a kill point in every stretch of the run, which is cut into as many
// equal ones as there are kills.
func (g *generation) killPoints() []killPoint {
	const latest = 0.95 // so that the stage cannot be done before the last
	moments := g.Moments("generate")
	stretch := latest * float64(g.total()) / float64(g.kills)
	var all []killPoint
	for i := range g.kills {
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
	took     time.Duration
}

const (
	mostRestarts = 9               // times that the stage may give up by itself
	pause        = 5 * time.Second // before it is started again then: replicas may be down
)

// disturbed runs the stage on a fleet with faults, kills it at all kill points and then
// lets it end. It prints a line for every kill.
func (g *generation) disturbed(ctx context.Context) (*disturbance, error) {
	var flags []string
	if g.faults != "" {
		flags = []string{"--fail", g.faults}
	}
	fleet, err := g.fleet(ctx, "disturbed", flags...)
	if err != nil {
		return nil, err
	}
	defer fleet.Kill()
	d := &disturbance{}
	seen := &arrivals{log: tail{path: g.requestLog("disturbed")}}
	stored := &progress{folder: g.Path("disturbed")}
	begun := time.Now()
	points := g.killPoints()
	for {
		var next *killPoint
		if len(d.kills) < len(points) {
			next = &points[len(d.kills)]
		}
		killed, code, err := g.attempt(ctx, next, stored, seen)
		switch {
		case fleet.Gone():
			return nil, fmt.Errorf("the fleet ended by itself, exit code %d: %s", fleet.Code(), fleet.Last())
		case err != nil:
			return nil, err
		case killed != nil:
			d.kills = append(d.kills, *killed)
		case code != 0 && d.restarts == mostRestarts:
			return nil, fmt.Errorf("the stage gave up with exit code %d for the %dth time, see %s", code, mostRestarts+1, g.Dir)
		case code != 0:
			d.restarts++
			lab.Wait(ctx, pause) // the next attempt ends with ctx
		case next != nil:
			return nil, fmt.Errorf("the stage was done before kill %d", len(d.kills)+1)
		default:
			d.took = time.Since(begun)
			d.asked, d.others = seen.seeds, seen.others
			g.print(d)
			_, code, err := g.attempt(ctx, nil, stored, seen)
			if d.idle = len(seen.seeds) + seen.others - len(d.asked) - d.others; code != 0 {
				err = fmt.Errorf("run again after its end, the stage gave up with exit code %d, see %s", code, g.Dir)
			}
			return d, err
		}
	}
}

// attempt runs the stage until its next kill point or its end, whichever is first. It
// returns what was found after a kill, or the exit code.
func (g *generation) attempt(ctx context.Context, next *killPoint, stored *progress, seen *arrivals) (*kill, int, error) {
	p, err := g.stage("disturbed")
	if err != nil {
		return nil, 0, err
	}
	defer p.Kill()
	begun := time.Now()
	reached := func() (bool, error) {
		err := stored.poll()
		return p.Gone() || next != nil && stored.rollouts >= next.stored, err
	}
	if err := p.Until(ctx, reached); err != nil {
		return nil, 0, err
	}
	if !p.Gone() {
		if err := lab.Wait(ctx, next.delay); err != nil {
			return nil, 0, err
		}
	}
	p.Kill()
	if p.Code() >= 0 { // it ended by itself
		return nil, p.Code(), seen.settle(ctx)
	}
	k := &kill{ran: time.Since(begun)}
	if k.found, err = rollout.Stored(g.Path("disturbed")); err != nil {
		return nil, 0, err
	}
	err = seen.settle(ctx)
	k.seen = len(seen.seeds)
	return k, 0, err
}

// print prints all kills as a table.
func (g *generation) print(d *disturbance) {
	w := tabwriter.NewWriter(g.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kill\tafter s\trequests\tstored\tin flight\tsent again\t")
	for i, k := range d.kills {
		fmt.Fprintf(w, "%d\t%.2f\t%d\t%d\t%d\t%d\t\n", i+1, k.ran.Seconds(), k.seen, len(seedsOf(k.found)),
			len(unstored(d.asked[:k.seen], k.found)), len(sentAgain(d.asked[k.seen:], k.found)))
	}
	w.Flush()
	g.Printf("%d requests in %.1f s for %d rollouts, %d without a seed; the run gave up %d times by itself",
		len(d.asked), d.took.Seconds(), g.total(), d.others, d.restarts)
}
