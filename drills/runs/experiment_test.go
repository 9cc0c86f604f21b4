//go:build drill

package runs_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/internal/benchmark"
)

// size is how much work the small experiment is.
type size struct {
	rollouts int    // of each of the 35 tasks by each of two models, at least 8
	draws    int    // of the replay
	pdf      string // report.pdf
}

var (
	short = size{rollouts: 16, draws: 256, pdf: "never"} // five seconds on two cores
	full  = size{rollouts: 32, draws: 2048, pdf: "auto"}
)

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
func newExperiment(l *drill.Lab, s size) *experiment {
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
	l.WriteConfig(e.config, e.settings(s))
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

// settings are the configuration of the experiment.
func (e *experiment) settings(s size) drill.Settings {
	return drill.Settings{
		"experiment": drill.Settings{"seed": 42, "budgets": []int{8}},
		"corpus":     drill.Settings{"source": "vllm", "rollouts_per_task": s.rollouts},
		"model": []drill.Settings{
			{"id": "qwen2_5_3b"},
			{"id": "qwen3_5_4b", "thinking": true, "thinking_budget": 512, "reasoning_parser": "qwen3"},
		},
		"benchmark": []drill.Settings{{"id": mixedID, "tasks": e.mixed}, {"id": sumsID, "tasks": e.sums}},
		"sampling":  drill.Settings{"max_tokens": 2048, "context_tokens": 4096},
		"replay": drill.Settings{
			"draws": s.draws, "replicates": 2, "quadrature_order": 8, "resamples": 16, "resample_draws": 16,
			"ts_neyman": drill.Settings{"alphas": []float64{0.05, 0.20}, "race_draws": 2, "final_draws": 20},
		},
		"systems": drill.Settings{"replicas": replicas, "repeats": 2},
		"worker":  []drill.Settings{{"name": "fleet", "urls": e.urls[:replicas]}},
		"serving": drill.Settings{"on_loss": "again"}, // the fleet repeats an answer by its seed
		"judge":   drill.Settings{"urls": e.urls[replicas:], "max_tokens": 256},
		"report":  drill.Settings{"pdf": s.pdf},
	}
}
