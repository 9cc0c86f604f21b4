//go:build drill

// Package runs_test disturbs runs: faults of this machine, of a Slurm cluster and of the
// servers. What is left is compared with an undisturbed run. It is make drill-generate,
// drill-faults and drill-slurm.
package runs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/benchmark"
)

// site is a lab with a small experiment, an undisturbed run of it, and the executor
// that the faults are made on.
type site struct {
	*drill.Lab
	config  string         // of the experiment
	urls    []string       // of the replicas, and then of the judge
	cluster *drill.Cluster // of Slurm; nil: runs are local
	watch   *watch         // of the cluster's queue
}

// in is the site in a subtest.
func (s *site) in(l *drill.Lab) *site {
	part := *s
	part.Lab = l
	return &part
}

// prepare writes the experiment, starts its fleet and makes the undisturbed run, which
// is local, and a second one on the same rollouts.
func (s *site) prepare() {
	s.experiment(s.Small)
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
	return s.Start(append(words, "--config", s.config, "--out", out)...)
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
	want := s.reference(out)
	if found := append(s.CompareRollouts(s.undisturbed(), out), s.Compare(want, out)...); len(found) > 0 {
		s.Fatalf("%s differs: %s", out, strings.Join(found, "\n"))
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

// Files that the small experiment reads, in the lab: additions, tasks of every scorer, and
// the tests of the task that wants a program.
const sums, mixed, tests = "sums.csv", "mixed.jsonl", "tests.json"

// replicas of the fleet, half of them for each model.
const replicas = 4

// inputs are all files that a run reads from outside its output folder.
func (s *site) inputs() []string {
	return []string{s.config, s.Path(sums), s.Path(mixed), s.Path(tests)}
}

// experiment writes a small experiment with all five stages, and starts its fleet, which
// answers and judges.
func (s *site) experiment(small bool) {
	text := "id,prompt,answer,scorer\n"
	for i := range 16 {
		text += fmt.Sprintf("sum-%d,How much is %d and %d?,%d,math\n", i, 17+i, 4*i+3, 20+5*i)
	}
	s.Write(s.Path(sums), []byte(text))
	s.writeMixed()
	s.config, s.urls = s.Path("experiments.toml"), s.FreeURLs(replicas+1)
	s.WriteConfig(s.config, s.settings(small))
	s.Serve("fleet.txt", s.config, s.urls, "--speed", "300", "--fail", "500=0.01,cut=0.01,garbage=0.005")
}

// The benchmarks have ids of the paper's, so that the systems stage finds them
// calibrated; their tasks are other ones.
const mixedID, sumsID = "hmmt", "math_100"

// writeMixed writes tasks of the small benchmark, the tests of the program in a file of
// their own.
func (s *site) writeMixed() {
	left := map[string]int{"math": 8, "choice": 6, "judge": 4, "code": 1} // to take, by scorer
	var tasks []benchmark.Task
	var text strings.Builder
	for _, t := range smallBenchmark(s.Lab) {
		if left[t.Scorer]--; left[t.Scorer] < 0 {
			continue
		}
		t.Benchmark, t.Index = mixedID, len(tasks)
		if t.Scorer == "code" {
			s.OK(json.NewEncoder(&text).Encode(t.Tests))
			t.Tests, t.TestsFile = nil, tests
		}
		tasks = append(tasks, t)
	}
	s.Write(s.Path(tests), []byte(text.String()))
	text.Reset()
	s.OK(benchmark.WriteTasks(&text, tasks))
	s.Write(s.Path(mixed), []byte(text.String()))
}

func smallBenchmark(l *drill.Lab) []benchmark.Task {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	l.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.BuiltIn("smallbench"))
	return drill.Must(l, tasks, err)
}

// settings are the configuration of the experiment. The small one takes five seconds on two
// cores.
func (s *site) settings(small bool) drill.Settings {
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
		"benchmark": []drill.Settings{{"id": mixedID, "tasks": s.Path(mixed)}, {"id": sumsID, "tasks": s.Path(sums)}},
		"sampling":  drill.Settings{"max_tokens": 2048, "context_tokens": 4096},
		"replay": drill.Settings{
			"draws": draws, "replicates": 2, "quadrature_order": 8, "resamples": 16, "resample_draws": 16,
			"ts_neyman": drill.Settings{"alphas": []float64{0.05, 0.20}, "race_draws": 2, "final_draws": 20},
		},
		"systems": drill.Settings{"replicas": replicas, "repeats": 2},
		"worker":  []drill.Settings{{"name": "fleet", "urls": s.urls[:replicas]}},
		"serving": drill.Settings{"on_loss": "again"}, // the fleet repeats an answer by its seed
		"judge":   drill.Settings{"urls": s.urls[replicas:], "max_tokens": 256},
		"report":  drill.Settings{"pdf": pdf},
	}
}
