// Package evaluations tries `speceval evaluate` on models whose mean is known: whether
// estimates are unbiased, intervals cover the truth as often as they claim, variances are
// as predicted, and evaluations resume after kills. The drill evaluate draws evaluations
// of all published profiles, and lets the built program evaluate on the simulated fleet;
// the drill evaluate-live does so on real servers.
package evaluations

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/method/neyman"
)

// parts are those of the drill evaluate, in order. coverage needs no program and no
// server; fleet evaluates models of known probabilities over HTTP, where wrong answers
// take longer; losses kills evaluations there, on servers that do not repeat themselves;
// and policies does so with policies in stages, with donors good and bad, that stop by
// what they find, and that are extended.
var parts = []struct {
	name string
	do   func(ctx context.Context, b *bench) error
}{{"coverage", coverage}, {"fleet", overHTTP}, {"losses", losses}, {"policies", policies}}

// fewest is the least number of evaluations of an arm.
const fewest = 10

// Evaluate is the drill of evaluations that are drawn, and on the simulated fleet.
var Evaluate = lab.Drill{
	Name:   "drill-evaluate",
	About:  "evaluations of models with known probabilities: bias, coverage, variance, kills, by every kind of policy (hours)",
	Limit:  4 * time.Hour,
	Shared: []string{"speceval", "dir", "small", "seed"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		part := ""
		o := bench{jobs: 6}
		flags.Func("part", "coverage, fleet, losses or policies; empty: all", func(name string) error {
			part = name
			for _, p := range parts {
				if name == "" || name == p.name {
					return nil
				}
			}
			return fmt.Errorf("want coverage, fleet, losses or policies")
		})
		flags.Func("n", "evaluations of each arm over HTTP (500; small: 150, 60 or 40)", atLeast(&o.number, fewest))
		flags.Func("jobs", "evaluations over HTTP at a time (6)", atLeast(&o.jobs, 1))
		return func(ctx context.Context, l *lab.Lab) error {
			for _, p := range parts {
				if part != "" && part != p.name {
					continue
				}
				in := *l
				in.Dir = l.Path(p.name)
				if err := os.Mkdir(in.Dir, 0o777); err != nil {
					return err
				}
				b := o
				b.Lab = &in
				if err := p.do(ctx, &b); err != nil {
					return err
				}
			}
			return nil
		}
	},
}

// atLeast parses a flag whose value is a number of at least so many.
func atLeast(value *int, least int) func(text string) error {
	return func(text string) (err error) {
		if *value, err = strconv.Atoi(text); err == nil && *value < least {
			err = fmt.Errorf("want at least %d", least)
		}
		return err
	}
}

// The fleet: every evaluation has some replicas to itself. They are so fast that an
// evaluation takes about a second, and wrong answers are so many times as long as
// right ones.
const (
	modelID   = "model"
	replicas  = 2 // of each evaluation that runs at a time
	places    = 16
	speed     = 50
	slowWrong = 4
	interval  = 64 // tokens of an event: fewer are no news to an evaluation
)

// bench is where evaluations happen: the lab with a configuration, task files and outputs,
// and a fleet that answers by the profiles.
type bench struct {
	*lab.Lab
	jobs     int // evaluations at a time
	number   int // of evaluations of each arm; 0: by the size of the drill
	prior    *neyman.Prior
	profiles []profile.Profile
	budgets  []int
	answers  map[string]map[string]string // by benchmark and task
	urls     []string
}

// often is the number of evaluations of an arm: the flag -n, or by the size of the drill.
func (b *bench) often(small, full int) int {
	if b.number > 0 {
		return b.number
	}
	return b.Often(small, full)
}

// fleetProfiles are the published profiles that are evaluated over HTTP: few tasks of all
// difficulties, many of which nearly all are easy, and many of all difficulties.
var fleetProfiles = []string{"hmmt__model=qwen3_5_9b", "gpqa_diamond__domain_physics__model=qwen3_5_4b", "livecodebench_gt_2024_03_30__difficulty_medium__model=qwen3_5_9b"}

// published are the published profiles, and those of them with these names.
func published(names ...string) (all, named []profile.Profile, err error) {
	if all, err = profile.Parse(data.Profiles(), data.ProfilesName); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Name() == name })
		if i < 0 {
			return nil, nil, fmt.Errorf("no profile %s", name)
		}
		named = append(named, all[i])
	}
	return all, named, nil
}

// prepare writes profiles, their task files and the configuration. It names no worker:
// evaluations do. Of right answers nearly none has more tokens than the limit, which
// would make it wrong.
func (b *bench) prepare(profiles []profile.Profile, budgets ...int) (err error) {
	b.budgets, b.answers = budgets, map[string]map[string]string{}
	var benchmarks []lab.Settings
	for _, p := range profiles {
		p.Model = modelID
		b.profiles = append(b.profiles, p)
		if b.answers[p.Benchmark], err = writeTasks(b.tasks(p), p); err != nil {
			return err
		}
		benchmarks = append(benchmarks, lab.Settings{"id": p.Benchmark, "tasks": b.tasks(p)})
	}
	if err := lab.WriteProfiles(b.Path("profiles.csv"), b.profiles); err != nil {
		return err
	}
	if b.prior, err = neyman.NewPrior(quadratureOrder); err != nil {
		return err
	}
	return lab.WriteConfig(b.config(), lab.Settings{
		"experiment": lab.Settings{"budgets": budgets},
		"corpus":     lab.Settings{"profiles": b.Path("profiles.csv")},
		"sampling":   lab.Settings{"max_tokens": 4000, "context_tokens": 6000},
		"replay": lab.Settings{ // of HBN alone
			"draws": 4096, "replicates": 4, "ibn_alphas": []float64{0.1}, "resamples": 2,
			"ts_neyman": lab.Settings{"alphas": []float64{0.1}, "race_draws": 4, "final_draws": 20},
		},
		"model":     []lab.Settings{{"id": modelID, "max_sequences": places}},
		"benchmark": benchmarks,
	})
}

// tasks is the task file of a profile.
func (b *bench) tasks(p profile.Profile) string { return b.Path(p.Benchmark + ".jsonl") }

func (b *bench) config() string { return b.Path("experiments.toml") }

// task is a line of a task file in the form that users write.
type task struct {
	ID      string   `json:"id"`
	Prompt  string   `json:"prompt"`
	Answer  string   `json:"answer"`
	Scorer  string   `json:"scorer"`
	Options []string `json:"options,omitempty"`
}

// writeTasks makes a question for every task of a profile: sums, and every third one a
// choice. No two questions are the same in any benchmark. It returns the right answers.
func writeTasks(path string, p profile.Profile) (answers map[string]string, err error) {
	var lines strings.Builder
	answers = map[string]string{}
	for i, id := range p.TaskIDs {
		t := task{ID: id, Prompt: fmt.Sprintf("Task %d of %s: how much is %d and %d?", i, p.Benchmark, i+2, 7*i+1), Answer: strconv.Itoa(8*i + 3), Scorer: "math"}
		if i%3 == 2 {
			t.Prompt, t.Scorer, t.Answer = fmt.Sprintf("Task %d of %s: which of these is %d?", i, p.Benchmark, 3*i), "choice", string("ABCD"[i%4])
			for j := range 4 {
				t.Options = append(t.Options, strconv.Itoa(3*i+j-i%4))
			}
		}
		answers[id] = t.Answer
		line, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		lines.Write(append(line, '\n'))
	}
	return answers, os.WriteFile(path, []byte(lines.String()), 0o666)
}

// serve starts a fleet with some more flags and waits until it serves.
func (b *bench) serve(ctx context.Context, flags ...string) (*lab.Process, error) {
	n := b.jobs * replicas
	port, err := lab.FreePorts(n)
	if err != nil {
		return nil, err
	}
	b.urls = nil
	for i := range n {
		b.urls = append(b.urls, fmt.Sprintf("http://127.0.0.1:%d", port+i))
	}
	return b.Serve(ctx, "fleet.txt", b.config(), b.urls, append([]string{
		"--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--profiles", b.Path("profiles.csv"),
		"--speed", fmt.Sprint(speed), "--slow-wrong", fmt.Sprint(slowWrong), "--stream-interval", fmt.Sprint(interval),
		"--seed", strconv.FormatUint(b.Seed, 10),
	}, flags...)...)
}

// workers are the servers of one job.
func (b *bench) workers(job int) []string { return b.urls[job*replicas : (job+1)*replicas] }

// program evaluates the model on the tasks of an arm's profile, named by their file.
func (b *bench) program(a *arm) *program {
	return &program{
		binary: b.Program, environment: b.Environment, config: b.config(), out: a.out, logs: b.Dir,
		benchmark: b.tasks(a.profile), id: a.profile.Benchmark, model: modelID, pauses: a.pauses,
	}
}
