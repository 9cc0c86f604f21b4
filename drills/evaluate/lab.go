package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/data"
	"speceval/drills/evaluated"
	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/profile"
	"speceval/method/neyman"
)

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

// lab is where evaluations happen: a folder with a configuration, task files and
// outputs, and a fleet that answers by the profiles.
type lab struct {
	options
	dir      string
	stdout   io.Writer
	prior    *neyman.Prior
	profiles []profile.Profile
	budgets  []int
	answers  map[string]map[string]string // by benchmark and task
	fleet    *process.Process
	urls     []string
}

// wanted are the published profiles that are evaluated: few tasks of all
// difficulties, many of which nearly all are easy, and many of all difficulties.
var wanted = []string{"hmmt__model=qwen3_5_9b", "gpqa_diamond__domain_physics__model=qwen3_5_4b", "livecodebench_gt_2024_03_30__difficulty_medium__model=qwen3_5_9b"}

// publishedLab evaluates the published profiles that are wanted.
func publishedLab(o options, dir string, stdout io.Writer) (*lab, error) {
	names, budgets := wanted, []int{8, 16, 32}
	if o.small {
		names, budgets = names[:1], budgets[:2]
	}
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	var profiles []profile.Profile
	for _, name := range names {
		p, err := find(published, name)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return newLab(o, dir, stdout, profiles, budgets)
}

// find is the profile of a name.
func find(all []profile.Profile, name string) (profile.Profile, error) {
	i := slices.IndexFunc(all, func(p profile.Profile) bool { return p.Name() == name })
	if i < 0 {
		return profile.Profile{}, fmt.Errorf("no profile %s", name)
	}
	return all[i], nil
}

func newLab(o options, dir string, stdout io.Writer, profiles []profile.Profile, budgets []int) (_ *lab, err error) {
	l := &lab{options: o, dir: dir, stdout: stdout, budgets: budgets, answers: map[string]map[string]string{}}
	for _, p := range profiles {
		p.Model = modelID
		l.profiles = append(l.profiles, p)
		if l.answers[p.Benchmark], err = writeTasks(l.tasks(p), p); err != nil {
			return nil, err
		}
	}
	if err := timed.WriteProfiles(l.path(timed.ProfilesFile), l.profiles); err != nil {
		return nil, err
	}
	if l.prior, err = neyman.NewPrior(quadratureOrder); err != nil {
		return nil, err
	}
	return l, l.configure()
}

func (l *lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

// tasks is the task file of a profile.
func (l *lab) tasks(p profile.Profile) string { return l.path(p.Benchmark + ".jsonl") }

func (l *lab) config() string { return l.path("experiments.toml") }

// out is the output folder of evaluations, and replayed that of the replay.
func (l *lab) out() string      { return l.path("out") }
func (l *lab) replayed() string { return l.path("replayed") }

// task is a line of a task file in the form that users write.
type task struct {
	ID      string   `json:"id"`
	Prompt  string   `json:"prompt"`
	Answer  string   `json:"answer"`
	Scorer  string   `json:"scorer"`
	Options []string `json:"options,omitempty"`
}

// writeTasks makes a question for every task of a profile: sums, and every third one
// a choice. No two are asked the same, in whatever benchmark. It returns the right
// answers.
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

// configure writes the experiment. It names no worker: evaluations do. So many tokens
// that of right answers as good as none are cut off, which would make them wrong.
func (l *lab) configure() error {
	var b strings.Builder
	fmt.Fprintf(&b, `[experiment]
budgets = %s

[corpus]
profiles = %q

[sampling]
max_tokens = 4000
context_tokens = 6000

# HBN alone is looked at.
[replay]
draws = 4096
replicates = 4
ibn_alphas = [0.1]
resamples = 2

[replay.ts_neyman]
alphas = [0.1]
race_draws = 4
final_draws = 20

[[model]]
id = %q
max_sequences = %d
`, strings.ReplaceAll(fmt.Sprint(l.budgets), " ", ", "), l.path(timed.ProfilesFile), modelID, places)
	for _, p := range l.profiles {
		fmt.Fprintf(&b, "\n[[benchmark]]\nid = %q\ntasks = %q\n", p.Benchmark, l.tasks(p))
	}
	return os.WriteFile(l.config(), []byte(b.String()), 0o666)
}

// serve starts a fleet of some more flags and waits until it serves.
func (l *lab) serve(ctx context.Context, flags ...string) (err error) {
	output := l.path("fleet.txt")
	n := l.jobs * replicas
	words := []string{
		"fleet", "--config", l.config(), "--replicas", strconv.Itoa(n), "--port", "0", "--profiles", l.path(timed.ProfilesFile),
		"--speed", fmt.Sprint(speed), "--slow-wrong", fmt.Sprint(slowWrong), "--stream-interval", fmt.Sprint(interval),
		"--seed", strconv.FormatUint(l.seed, 10),
	}
	l.fleet, err = process.StartProgram(output, nil, l.binary, append(words, flags...)...)
	if err != nil {
		return err
	}
	err = l.fleet.Until(ctx, func() (bool, error) {
		l.urls = l.urls[:0]
		text, err := os.ReadFile(output)
		for line := range strings.Lines(string(text)) {
			if url, _, found := strings.Cut(line, " "); found && strings.HasPrefix(url, "http://") {
				l.urls = append(l.urls, url)
			}
		}
		return len(l.urls) == n, err
	})
	if err != nil {
		l.fleet.Kill()
		return fmt.Errorf("the fleet: %w", err)
	}
	return nil
}

// workers are the servers of one job.
func (l *lab) workers(job int) []string { return l.urls[job*replicas : (job+1)*replicas] }

// program evaluates a model on the tasks of a profile, named by their file.
func (l *lab) program(p profile.Profile, out string) *evaluated.Program {
	return &evaluated.Program{
		Binary: l.binary, Config: l.config(), Out: out, Logs: l.dir,
		Benchmark: l.tasks(p), ID: p.Benchmark, Model: modelID,
	}
}
