//go:build drill

// Package evaluations_test tries `speceval evaluate` on models whose mean is known: whether
// estimates are unbiased, intervals cover the truth as often as they claim, variances are
// as predicted, and evaluations resume after kills. TestEvaluate draws evaluations of all
// published profiles, and lets the built program evaluate on the simulated fleet;
// TestEvaluateLive does so on real servers.
package evaluations_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/store/profile"
	"speceval/method/neyman"
)

var (
	only   = flag.String("part", "", "coverage, fleet, losses, policies or suites; empty: all")
	number = flag.Int("n", 0, "evaluations of each arm over HTTP, at least 10 (500; small: 150, 60 or 40)")
)

// TestMain lets as many jobs run at a time as are wanted: they are parallel subtests.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", strconv.Itoa(max(jobs, runtime.GOMAXPROCS(0))))
	m.Run()
}

// parts are the parts of TestEvaluate, in order. coverage needs no program and no server;
// fleet evaluates models of known probabilities over HTTP, where wrong answers take
// longer; losses kills evaluations there, on servers that do not repeat themselves; and
// policies does so with policies in stages, with donors good and bad, that stop by what
// they find, and that are extended; and suites holds several benchmarks under one budget to
// the replay.
var parts = []struct {
	name string
	do   func(b *bench)
}{{"coverage", coverage}, {"fleet", overHTTP}, {"losses", losses}, {"policies", policies}, {"suites", suites}}

func TestEvaluate(t *testing.T) {
	l := drill.New(t, 4*time.Hour)
	did := 0
	for _, part := range parts {
		if !drill.Wanted(*only, part.name) {
			continue
		}
		did++
		l.Sub(part.name, func(l *drill.Lab) {
			l.Dir = l.Path(part.name)
			l.OK(os.Mkdir(l.Dir, 0o777))
			part.do(&bench{
				Lab: l, prior: reference(l), config: l.Path("experiments.toml"), out: l.Path("out"), model: "model",
				answers: map[string]map[string]string{},
			})
		})
	}
	if did == 0 {
		l.Fatalf("-part %q: want coverage, fleet, losses, policies or suites", *only)
	}
}

// bench is the place of evaluations: a configuration, an output folder and servers.
type bench struct {
	*drill.Lab
	config, out, model string
	prior              *neyman.Prior
	urls               []string // of the servers; nil until they are needed
	pace               float64  // seconds of an evaluation per rollout of each task, by the last one on real servers
	profiles           []profile.Profile
	answers            map[string]map[string]string // by benchmark and task; none on real servers
}

// reference is the prior of the paper.
func reference(l *drill.Lab) *neyman.Prior {
	prior, err := neyman.NewPrior(quadratureOrder)
	l.OK(err)
	return prior
}

// often is the number of evaluations of an arm: the flag -n, or by the size of the drill.
func (b *bench) often(small, full int) int {
	if *number > 0 {
		return max(10, *number)
	}
	return b.Often(small, full)
}

// inParallel does something for all numbers from first up to n, in several jobs at a
// time. The first job that fails ends it.
func inParallel(l *drill.Lab, jobs, first, n int, do func(l *drill.Lab, job, i int)) {
	l.Helper()
	var next atomic.Int64
	next.Store(int64(first))
	done := l.Sub("jobs", func(all *drill.Lab) {
		for job := range jobs {
			all.Sub(fmt.Sprint(job), func(l *drill.Lab) {
				l.Parallel()
				for i := int(next.Add(1)) - 1; i < n && !all.Failed(); i = int(next.Add(1)) - 1 {
					do(l, job, i)
				}
			})
		}
	})
	if !done {
		l.FailNow()
	}
}

// published are the published profiles.
func published(l *drill.Lab) []profile.Profile {
	all, err := profile.Parse(data.Profiles(), data.ProfilesName)
	l.OK(err)
	return all
}

// find is the profile of a benchmark and a model.
func find(l *drill.Lab, all []profile.Profile, benchmark, model string) profile.Profile {
	l.Helper()
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Benchmark == benchmark && p.Model == model })
	if i < 0 {
		l.Fatalf("no profile of %s and %s", benchmark, model)
	}
	return all[i]
}

// The fleet: every evaluation has some replicas to itself. They are so fast that an
// evaluation takes about a second, and wrong answers are so many times as long as
// right ones.
const (
	jobs      = 6 // evaluations at a time
	replicas  = 2 // of each of them
	places    = 16
	speed     = 50
	slowWrong = 4
	interval  = 64 // tokens of an event: fewer are no news to an evaluation
)

// prepare writes profiles, their task files and the configuration. It names no worker:
// evaluations do. Of right answers nearly none has more tokens than the limit, which
// would make it wrong.
func (b *bench) prepare(profiles []profile.Profile, budgets ...int) {
	var benchmarks []drill.Settings
	for _, p := range profiles {
		p.Model = b.model
		b.profiles = append(b.profiles, p)
		benchmarks = append(benchmarks, drill.Settings{"id": p.Benchmark, "tasks": b.writeTasks(p)})
	}
	b.WriteProfiles(b.Path("profiles.csv"), b.profiles)
	b.WriteConfig(b.config, drill.Settings{
		"experiment": drill.Settings{"budgets": budgets},
		"corpus":     drill.Settings{"profiles": b.Path("profiles.csv")},
		"sampling":   drill.Settings{"max_tokens": 4000, "context_tokens": 6000},
		"replay": drill.Settings{ // of HBN alone
			"draws": 4096, "replicates": 4, "ibn_alphas": []float64{0.1}, "resamples": 2,
			"ts_neyman": drill.Settings{"alphas": []float64{0.1}, "race_draws": 4, "final_draws": 20},
		},
		"model":     []drill.Settings{{"id": b.model, "max_sequences": places}},
		"benchmark": benchmarks,
	})
}

// writeTasks makes a question for every task of a profile: sums, and every third one a
// choice. No two questions are the same in any benchmark. It keeps the right answers.
func (b *bench) writeTasks(p profile.Profile) (path string) {
	path, b.answers[p.Benchmark] = b.Path(p.Benchmark+".jsonl"), map[string]string{}
	var lines strings.Builder
	for i, id := range p.TaskIDs {
		prompt, answer := fmt.Sprintf("how much is %d and %d?", i+2, 7*i+1), strconv.Itoa(8*i+3)
		task := map[string]any{"scorer": "math"}
		if i%3 == 2 {
			prompt, answer = fmt.Sprintf("which of these is %d?", 3*i), string("ABCD"[i%4])
			first := 3*i - i%4
			task = map[string]any{"scorer": "choice", "options": []string{
				strconv.Itoa(first), strconv.Itoa(first + 1), strconv.Itoa(first + 2), strconv.Itoa(first + 3),
			}}
		}
		task["id"], task["answer"], task["prompt"] = id, answer, fmt.Sprintf("Task %d of %s: %s", i, p.Benchmark, prompt)
		b.answers[p.Benchmark][id] = answer
		b.OK(json.NewEncoder(&lines).Encode(task))
	}
	b.Write(path, []byte(lines.String()))
	return path
}

// serve starts a fleet with some more flags and waits until it serves.
func (b *bench) serve(flags ...string) *drill.Process {
	n := jobs * replicas
	port := b.FreePorts(n)
	b.urls = drill.URLs(port, n)
	return b.Serve("fleet.txt", b.config, b.urls, append([]string{
		"--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--profiles", b.Path("profiles.csv"),
		"--speed", fmt.Sprint(speed), "--slow-wrong", fmt.Sprint(slowWrong),
		"--stream-interval", fmt.Sprint(interval), "--seed", fmt.Sprint(drill.Seed()),
	}, flags...)...)
}
