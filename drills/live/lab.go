package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	drill "speceval/drills/lab"
	process "speceval/drills/lab"
	"speceval/drills/timed"
	"speceval/internal/profile"
	"speceval/internal/rollout"
	"speceval/pipeline/config"
)

// The drill's experiment. The window is small, so that there is a middle of a
// run in which something can happen.
const (
	masterSeed    = 42
	quiz          = "quiz"
	modelID       = "small"
	contextTokens = 2048
	maxTokens     = 150
	window        = 3
	budget        = 16
	startSeconds  = 900
)

// lab is where the drill happens: a folder with configurations, the outputs,
// and what programs said.
type lab struct {
	options
	shipped config.Worker // of the shipped experiment
	dir     string
	profile profile.Profile
	stdout  io.Writer
	rows    []row
}

func newLab(o options, dir string, stdout io.Writer) (*lab, error) {
	shipped, err := drill.LoadExperiment(o.config)
	if err != nil {
		return nil, err
	}
	l := &lab{options: o, shipped: shipped.Workers[0], dir: dir, stdout: stdout, profile: profile.Profile{
		Benchmark: quiz, Model: modelID, TestedK: 64,
		TaskIDs:    []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"},
		PassCounts: []int{0, 64, 32, 3, 60, 0, 64, 20, 45, 1, 64, 0},
	}}
	return l, timed.WriteInputs(dir, []profile.Profile{l.profile})
}

// installed says in the words of the launch command what is missing.
func (l *lab) installed(ctx context.Context) error {
	p, err := process.StartProgram(l.path("check.txt"), l.environment, l.serve, "--check")
	if err != nil {
		return err
	}
	defer p.Kill()
	if err := p.Wait(ctx); err != nil {
		return err
	}
	if p.Code() != 0 {
		return errors.New(p.Last())
	}
	return nil
}

func (l *lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

func (l *lab) total() int { return l.rollouts * len(l.profile.TaskIDs) }

func (l *lab) ports() []int { return []int{l.port, l.port + 1} }

func (l *lab) urls() []string {
	var all []string
	for _, port := range l.ports() {
		all = append(all, "http://127.0.0.1:"+strconv.Itoa(port))
	}
	return all
}

// arguments are the flags of the servers of the shipped experiment, but that they
// start sooner: the drill starts many.
func (l *lab) arguments() []string {
	words := append(slices.Clone(l.shipped.Arguments), "--enforce-eager")
	if weights, _ := filepath.Glob(filepath.Join(l.model, "*.safetensors")); len(weights) == 0 { // the pattern is good
		words = append(words, "--load-format", "dummy")
	}
	return words
}

// variables are the environment of servers. The second one's API stays when its
// engine is dead.
func (l *lab) variables() []string {
	return append(slices.Clone(l.shipped.Environment), "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH={replica}")
}

// command starts a server.
func (l *lab) command() string { return "'" + l.serve + "' --model {model}" }

// setting is what differs between the configurations of the drill.
type setting struct {
	model   string   // folder; "" the drill's
	urls    []string // of running servers; none: speceval launches its own
	seconds int      // for servers to start; 0: enough
	version string   // of vLLM; "" any
	corpus  string   // further lines of [corpus]
}

// configure writes a configuration and returns its path.
func (l *lab) configure(name string, s setting) (string, error) {
	if s.model == "" {
		s.model = l.model
	}
	if s.seconds == 0 {
		s.seconds = startSeconds
	}
	worker := fmt.Sprintf("urls = [%s]", list(s.urls))
	if len(s.urls) == 0 {
		worker = fmt.Sprintf("launch = %q\nport = %d\narguments = [%s]\nenvironment = [%s]",
			l.command(), l.port, list(l.arguments()), list(l.variables()))
	}
	text := fmt.Sprintf(`[experiment]
seed = %d
budgets = [%d]

[corpus]
tasks = %q
%s

[[model]]
id = %q
path = %q
max_sequences = 32
theta_core = 493568
theta_head = 33408
full_attention_layers = 3
attention_width = 128

[[benchmark]]
id = %q

[sampling]
max_tokens = %d
context_tokens = %d

[replay]
draws = 256
replicates = 2
quadrature_order = 8

[systems]
engine = "vllm"
replicas = 2
window = %d
repeats = 1

[serving]
version = %q
start_seconds = %d

[[worker]]
name = "cpu"
%s
`, masterSeed, budget, l.path(timed.TasksFolder), s.corpus, modelID, s.model, quiz, maxTokens, contextTokens, window, s.version, s.seconds, worker)
	path := l.path(name + ".toml")
	return path, os.WriteFile(path, []byte(text), 0o666)
}

// generation and timing are the two kinds of runs.
func (l *lab) generation() string {
	return fmt.Sprintf("source = \"vllm\"\nrollouts_per_task = %d", l.rollouts)
}

func (l *lab) timing() string {
	return fmt.Sprintf("profiles = %q", l.path(timed.ProfilesFile))
}

func list(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, strconv.Quote(word))
	}
	return strings.Join(quoted, ", ")
}

// begin starts speceval with a configuration; what it says is in a file of the
// same name as the step.
func (l *lab) begin(step string, s setting, out string, words ...string) (*process.Process, error) {
	config, err := l.configure(step, s)
	if err != nil {
		return nil, err
	}
	return process.StartProgram(l.path(step+".txt"), l.environment, l.binary, append(words, "--config", config, "--out", l.path(out))...)
}

// said is what a step has printed so far.
func (l *lab) said(step string) string {
	text, _ := os.ReadFile(l.path(step + ".txt")) // not there yet: nothing
	return string(text)
}

// stored waits until so many rollouts are on disk.
func (l *lab) stored(ctx context.Context, p *process.Process, out string, n int) error {
	return p.Until(ctx, func() (bool, error) {
		all, err := rollout.Stored(l.path(out))
		return len(all) >= n, err
	})
}
