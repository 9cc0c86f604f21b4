//go:build drill

// Package runs_test disturbs runs: faults of this machine, of a Slurm cluster and of the
// servers. What is left is compared with an undisturbed run. It is make drill-generate,
// drill-faults and drill-slurm.
package runs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/benchmark"
)

var speed = flag.Float64("speed", -1, "of the fleet; 0: it answers at once; negative: 300, and 100 for generate")

// site is a lab with a small experiment, an undisturbed run of it, and the executor
// that the faults are made on.
type site struct {
	*drill.Lab
	experiment *experiment
	cluster    *drill.Cluster // of Slurm; nil: runs are local
	watch      *watch         // of the cluster's queue
}

// in is the site in a subtest.
func (s *site) in(l *drill.Lab) *site {
	part := *s
	part.Lab = l
	return &part
}

// fleetSpeed is the flag, or a default.
func fleetSpeed(otherwise float64) float64 {
	if *speed >= 0 {
		return *speed
	}
	return otherwise
}

// prepare writes the experiment, starts its fleet and makes the undisturbed run, which
// is local, and a second one on the same rollouts.
func (s *site) prepare() {
	s.experiment = newExperiment(s.Lab, s.Small)
	s.Serve("fleet.txt", s.experiment.config, s.experiment.urls, "--speed", fmt.Sprint(fleetSpeed(300)))
	start := time.Now()
	s.do(s.undisturbed(), 0, "run")
	for _, stage := range drill.Stages {
		if len(s.Units(s.undisturbed(), stage)) == 0 {
			s.Fatalf("no unit of %s has run", stage)
		}
	}
	again := s.Path("again")
	s.CopyStage(s.undisturbed(), again, drill.Stages[0])
	s.do(again, 0, "run")
	if found := s.Compare(s.undisturbed(), again); len(found) > 0 {
		s.Fatalf("two undisturbed runs differ: %v", found)
	}
	s.OK(os.RemoveAll(again))
	s.Logf("an undisturbed run and another on its rollouts took %.1f s and gave the same bytes; seed %d",
		time.Since(start).Seconds(), drill.Seed())
}

// undisturbed is the output folder of the run without faults.
func (s *site) undisturbed() string { return s.Path("undisturbed") }

// start starts a command of the program on an output folder.
func (s *site) start(out string, words ...string) *drill.Process {
	s.Helper()
	return s.Start(append(words, "--config", s.experiment.config, "--out", out)...)
}

// do runs a command of the program on an output folder to its end, which must have this
// exit code and these words.
func (s *site) do(out string, code int, command string, says ...string) *drill.Process {
	s.Helper()
	p := s.start(out, strings.Fields(command)...)
	p.Wait()
	p.Says(code, says...)
	return p
}

// run is the command of a run on the site's executor, with more settings.
func (s *site) run(keys ...string) []string {
	if s.cluster == nil {
		return with([]string{"run"}, keys...)
	}
	return throughSlurm([]string{"run"}, keys...)
}

// with adds settings to a command.
func with(words []string, keys ...string) []string {
	for _, key := range keys {
		words = append(words, "--set", key)
	}
	return words
}

// copied is a copy of the undisturbed outputs, without some stages.
func (s *site) copied(name string, without ...string) (out string) {
	s.Helper()
	out = s.Path(name)
	s.OK(os.CopyFS(out, os.DirFS(s.undisturbed())))
	for _, stage := range without {
		s.Forget(out, stage)
	}
	return out
}

// left is how many units of a stage have no manifest.
func (s *site) left(out, stage string) int {
	return len(s.Units(s.undisturbed(), stage)) - len(s.Units(out, stage))
}

// finish runs the stale units of an output folder, which must end well, and compares
// the results with the undisturbed ones.
func (s *site) finish(out string) {
	s.Helper()
	p := s.start(out, s.run()...)
	p.Wait()
	p.Says(0)
	s.compare(out)
}

// compare is finish for a folder whose last run has ended. It removes the folder if the
// results are the same.
func (s *site) compare(out string) {
	s.Helper()
	s.do(out, 0, "status --check")
	s.Clean(out)
	s.Whole(out)
	if s.watch != nil {
		s.count(out)
	}
	want, differing := s.reference(out), 0
	found := append(s.CompareRollouts(s.undisturbed(), out), s.Compare(want, out)...)
	for _, d := range found {
		s.Logf("%s: %v", out, d)
		differing += d.Bytes
	}
	if len(found) > 0 {
		s.Fatalf("%d bytes differ", differing)
	}
	if want != s.undisturbed() {
		s.OK(os.RemoveAll(want))
	}
	s.OK(os.RemoveAll(out))
}

// reference is a folder with the results of an undisturbed local run on the rollouts of
// an output folder: no two runs record the same latencies, and the keys of all later
// units have the digest of the rollouts.
func (s *site) reference(out string) string {
	s.Helper()
	if s.SameRollouts(s.undisturbed(), out) {
		return s.undisturbed()
	}
	want := s.Path("reference-" + filepath.Base(out))
	s.CopyStage(out, want, drill.Stages[0])
	s.do(want, 0, "run")
	return want
}

// experiment is a small experiment with all five stages on the simulated fleet, which
// answers and judges.
type experiment struct {
	config string   // the configuration
	sums   string   // task file of additions, CSV
	mixed  string   // task file with tasks of every scorer, JSONL
	tests  string   // the tests of the task that wants a program
	urls   []string // of the replicas, and then of the judge
}

// inputs are all files that a run reads from outside its output folder.
func (e *experiment) inputs() []string { return []string{e.config, e.sums, e.mixed, e.tests} }

// replicas of the fleet, half of them for each model.
const replicas = 4

// newExperiment writes the experiment. Its servers get free ports.
func newExperiment(l *drill.Lab, small bool) *experiment {
	e := &experiment{
		config: l.Path("experiments.toml"), sums: l.Path("sums.csv"), mixed: l.Path("mixed.jsonl"), tests: l.Path("tests.json"),
		urls: l.FreeURLs(replicas + 1),
	}
	var sums strings.Builder
	sums.WriteString("id,prompt,answer,scorer\n")
	for i := range 16 {
		fmt.Fprintf(&sums, "sum-%d,How much is %d and %d?,%d,math\n", i, 17+i, 4*i+3, 20+5*i)
	}
	l.Write(e.sums, []byte(sums.String()))
	e.writeMixed(l)
	l.WriteConfig(e.config, e.settings(small))
	return e
}

// The benchmarks have ids of the paper's, so that the systems stage finds them
// calibrated; their tasks are other ones.
const mixedID, sumsID = "hmmt", "math_100"

// counts are how many tasks of each scorer the mixed benchmark has.
var counts = map[string]int{"math": 8, "choice": 6, "judge": 4, "code": 1}

// writeMixed writes tasks of the small benchmark, the tests of the program in a
// file of their own.
func (e *experiment) writeMixed(l *drill.Lab) {
	var mixed, tests strings.Builder
	taken := make(map[string]int)
	var tasks []benchmark.Task
	for _, t := range smallBenchmark(l) {
		if taken[t.Scorer]++; taken[t.Scorer] > counts[t.Scorer] {
			continue
		}
		t.Benchmark, t.Index = mixedID, len(tasks)
		if t.Scorer == "code" {
			l.OK(benchmark.WriteTests(&tests, t.Tests))
			t.Tests, t.TestsFile = nil, filepath.Base(e.tests)
		}
		tasks = append(tasks, t)
	}
	l.OK(benchmark.WriteTasks(&mixed, tasks))
	l.Write(e.mixed, []byte(mixed.String()))
	l.Write(e.tests, []byte(tests.String()))
}

func smallBenchmark(l *drill.Lab) []benchmark.Task {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	l.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	l.OK(err)
	return tasks
}

// settings are the configuration of the experiment. The small one takes five seconds on two
// cores.
func (e *experiment) settings(small bool) drill.Settings {
	rollouts, draws, pdf := 32, 2048, "auto" // rollouts of each of the 35 tasks by each of two models
	if small {
		rollouts, draws, pdf = 16, 256, "never"
	}
	return drill.Settings{
		"experiment": drill.Settings{"seed": 42, "budgets": []int{8}},
		"corpus":     drill.Settings{"source": "vllm", "rollouts_per_task": rollouts},
		"model": []drill.Settings{
			{"id": "qwen2_5_3b"},
			{"id": "qwen3_5_4b", "thinking": true, "thinking_budget": 512, "reasoning_parser": "qwen3"},
		},
		"benchmark": []drill.Settings{{"id": mixedID, "tasks": e.mixed}, {"id": sumsID, "tasks": e.sums}},
		"sampling":  drill.Settings{"max_tokens": 2048, "context_tokens": 4096},
		"replay": drill.Settings{
			"draws": draws, "replicates": 2, "quadrature_order": 8, "resamples": 16, "resample_draws": 16,
			"ts_neyman": drill.Settings{"alphas": []float64{0.05, 0.20}, "race_draws": 2, "final_draws": 20},
		},
		"systems": drill.Settings{"replicas": replicas, "repeats": 2},
		"worker":  []drill.Settings{{"name": "fleet", "urls": e.urls[:replicas]}},
		"serving": drill.Settings{"on_loss": "again"}, // the fleet repeats an answer by its seed
		"judge":   drill.Settings{"urls": e.urls[replicas:], "max_tokens": 256},
		"report":  drill.Settings{"pdf": pdf},
	}
}
