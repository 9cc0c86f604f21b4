package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"speceval/data"
	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/coupled"
	"speceval/internal/profile"
)

// The worker of the paper.
const (
	replicas = 8
	window   = 32
)

// masterSeed is the experiment's.
const masterSeed = 42

// lab is where the drill happens: a folder with a configuration, profiles, task
// files and outputs, and a fleet.
type lab struct {
	options
	dir      string
	profiles []profile.Profile
	budgets  []int
	settings []timed.Setting

	fleet  []*process.Process // one for each model, without the victim
	victim *process.Process   // a replica of the first model, by itself
	urls   []string           // of all replicas, the victim's first
}

// wanted are the published profiles that are run: of the first model, one whose
// pilot fits the worker's places, and a small one; of another, a large one.
var wanted = []string{"aime24__model=qwen3_5_4b", "gpqa_diamond__domain_biology__model=qwen3_5_4b", "math_100__model=qwen2_5_3b"}

func newLab(o options, dir string) (*lab, error) {
	l := &lab{options: o, dir: dir, budgets: []int{8, 32}}
	names := wanted
	if o.short {
		names, l.budgets = names[:1], l.budgets[:1]
	}
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	if err != nil {
		return nil, err
	}
	releases, err := coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, published)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i := slices.IndexFunc(published, func(p profile.Profile) bool { return p.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("no profile %s", name)
		}
		p := published[i]
		l.profiles = append(l.profiles, p)
		for _, budget := range l.budgets {
			l.settings = append(l.settings, timed.Setting{Profile: p, Digest: releases.Digest(p), Seed: masterSeed, Budget: budget})
		}
	}
	if err := timed.WriteInputs(dir, l.profiles); err != nil {
		return nil, err
	}
	return l, l.configure(nil)
}

func (l *lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

func (l *lab) out() string { return l.path("out") }

// models are those of the profiles, in order.
func (l *lab) models() []string {
	var all []string
	for _, p := range l.profiles {
		if !slices.Contains(all, p.Model) {
			all = append(all, p.Model)
		}
	}
	return all
}

func (l *lab) config() string { return l.path("experiments.toml") }

// configure writes the experiment, with a worker of all servers.
func (l *lab) configure(urls []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `[experiment]
seed = %d
budgets = %s

[corpus]
profiles = %q
tasks = %q

[sampling]
max_tokens = 1200
context_tokens = 4096

[replay]
draws = 1024
replicates = 2
quadrature_order = 8

[systems]
replicas = %d
window = %d
repeats = 1

[serving]
outage_seconds = 60
`, masterSeed, strings.ReplaceAll(fmt.Sprint(l.budgets), " ", ", "), l.path(timed.ProfilesFile), l.path(timed.TasksFolder), replicas, window)
	for _, m := range l.models() {
		fmt.Fprintf(&b, "\n[[model]]\nid = %q\nmax_sequences = 128\n", m)
		if strings.HasPrefix(m, "qwen3_5") {
			fmt.Fprint(&b, "thinking = true\nthinking_budget = 64\nreasoning_parser = \"qwen3\"\n")
		}
	}
	for _, p := range l.profiles {
		fmt.Fprintf(&b, "\n[[benchmark]]\nid = %q\n", p.Benchmark)
	}
	if urls != nil {
		fmt.Fprintf(&b, "\n[[worker]]\nname = \"fleet\"\nurls = [\"%s\"]\n", strings.Join(urls, `", "`))
	}
	return os.WriteFile(l.config(), []byte(b.String()), 0o666)
}

// serve starts a fleet of the worker's size for each model, and puts it into
// the configuration.
func (l *lab) serve(ctx context.Context) error {
	for i, m := range l.models() {
		n := replicas
		if i == 0 {
			n--
			victim, urls, err := l.start(ctx, "victim", m, 1, 0)
			if err != nil {
				return err
			}
			l.victim, l.urls = victim, append(l.urls, urls...)
		}
		fleet, urls, err := l.start(ctx, "fleet-"+m, m, n, 0)
		if err != nil {
			return err
		}
		l.fleet, l.urls = append(l.fleet, fleet), append(l.urls, urls...)
	}
	return l.configure(l.urls)
}

// start starts replicas of a model at free ports, or from one on, and says
// where they are when they serve.
func (l *lab) start(ctx context.Context, name, model string, n, port int) (*process.Process, []string, error) {
	output := l.path(name + ".txt")
	p, err := process.StartProgram(output, nil, l.binary, "fleet", "--config", l.config(), "--model", model,
		"--replicas", strconv.Itoa(n), "--port", strconv.Itoa(port), "--speed", strconv.FormatFloat(l.speed, 'g', -1, 64))
	if err != nil {
		return nil, nil, err
	}
	var urls []string
	err = p.Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(output)
		urls = nil
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "http://") && strings.HasSuffix(line, "\n") {
				urls = append(urls, strings.Fields(line)[0])
			}
		}
		return len(urls) == n, err
	})
	if err != nil {
		p.Kill()
		return nil, nil, fmt.Errorf("the fleet of %s: %w", model, err)
	}
	return p, urls, nil
}

func (l *lab) close() {
	for _, p := range append(l.fleet, l.victim) {
		p.Kill()
	}
}

// speceval runs a command of the program to its end.
func (l *lab) speceval(ctx context.Context, name string, args ...string) (string, error) {
	p, err := l.begin(name, args...)
	if err != nil {
		return "", err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return "", fmt.Errorf("speceval %s: %w", strings.Join(args, " "), err)
	}
	text, err := os.ReadFile(l.path(name + ".txt"))
	return string(text), err
}

// begin starts a command of the program.
func (l *lab) begin(name string, args ...string) (*process.Process, error) {
	return process.StartProgram(l.path(name+".txt"), nil, l.binary,
		append(args, "--config", l.config(), "--out", l.out(), "--set", "systems.engine=vllm")...)
}

// prepare makes designs, and the allocations that follow from them.
func (l *lab) prepare(ctx context.Context) error {
	if _, err := l.speceval(ctx, "replay", "run", "replay"); err != nil {
		return err
	}
	text, err := l.speceval(ctx, "allocations", "allocations")
	if err != nil {
		return err
	}
	return timed.ReadAllocations(text, l.settings)
}
