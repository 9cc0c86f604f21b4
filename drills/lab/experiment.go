package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"speceval/data"
	"speceval/internal/benchmark"
)

// Stages are those of the pipeline, in order.
var Stages = []string{"generate", "score", "replay", "systems", "report"}

// Size is how much work the experiment is.
type Size struct {
	Rollouts int    // of each of the 35 tasks by each of two models, at least 8
	Draws    int    // of the replay
	PDF      string // report.pdf
}

// The sizes of drills.
var (
	Small = Size{Rollouts: 16, Draws: 256, PDF: "never"} // five seconds on two cores
	Full  = Size{Rollouts: 32, Draws: 2048, PDF: "auto"}
)

// Experiment is an experiment in a folder of its own, with a configuration, task
// files and a fleet that answers and judges.
type Experiment struct {
	dir  string
	URLs []string // of the replicas, and then of the judge
}

// The benchmarks have names of the paper's, so that the systems stage finds them
// calibrated; their tasks are other ones.
const (
	mixed = "hmmt"     // tasks of every scorer, in JSONL
	sums  = "math_100" // additions, in CSV
)

// Configuration is the file of the experiment.
func (e *Experiment) Configuration() string { return filepath.Join(e.dir, "experiments.toml") }

// Sums is the task file of additions, CSV.
func (e *Experiment) Sums() string { return filepath.Join(e.dir, "sums.csv") }

// Mixed is the task file of the other tasks, JSONL.
func (e *Experiment) Mixed() string { return filepath.Join(e.dir, "mixed.jsonl") }

// Tests is the file with the tests of the task that wants a program.
func (e *Experiment) Tests() string { return filepath.Join(e.dir, "tests.json") }

// Inputs are all files that a run reads from outside its output folder.
func (e *Experiment) Inputs() []string {
	return []string{e.Configuration(), e.Sums(), e.Mixed(), e.Tests()}
}

// NewExperiment writes the experiment into a folder. Its servers get free ports.
func NewExperiment(dir string, size Size) (*Experiment, error) {
	e := &Experiment{dir: dir}
	var err error
	if e.URLs, err = FreeURLs(replicas + 1); err != nil {
		return nil, err
	}
	if err := errors.Join(e.writeSums(), e.writeMixed()); err != nil {
		return nil, err
	}
	return e, WriteConfig(e.Configuration(), e.Settings(size))
}

// writeSums writes the file of additions.
func (e *Experiment) writeSums() error {
	file, err := os.Create(e.Sums())
	if err != nil {
		return err
	}
	rows := csv.NewWriter(file)
	rows.Write([]string{"id", "prompt", "answer", "scorer"}) // errors: see rows.Error
	for i := range 16 {
		rows.Write([]string{fmt.Sprintf("sum-%d", i), fmt.Sprintf("How much is %d and %d?", 17+i, 4*i+3), strconv.Itoa(20 + 5*i), "math"})
	}
	rows.Flush()
	return errors.Join(rows.Error(), file.Close())
}

// counts are how many tasks of each scorer the mixed benchmark has.
var counts = map[string]int{"math": 8, "choice": 6, "judge": 4, "code": 1}

// writeMixed writes tasks of the small benchmark, the tests of the program in a
// file of their own.
func (e *Experiment) writeMixed() error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	small, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		return err
	}
	taken := make(map[string]int)
	var tasks []benchmark.Task
	for _, t := range small {
		if taken[t.Scorer]++; taken[t.Scorer] > counts[t.Scorer] {
			continue
		}
		t.Benchmark, t.Index = mixed, len(tasks)
		if t.Scorer == "code" {
			if err := e.writeTests(t.Tests); err != nil {
				return err
			}
			t.Tests, t.TestsFile = nil, filepath.Base(e.Tests())
		}
		tasks = append(tasks, t)
	}
	file, err := os.Create(e.Mixed())
	if err != nil {
		return err
	}
	return errors.Join(benchmark.WriteTasks(file, tasks), file.Close())
}

func (e *Experiment) writeTests(tests []benchmark.Test) error {
	file, err := os.Create(e.Tests())
	if err != nil {
		return err
	}
	return errors.Join(benchmark.WriteTests(file, tests), file.Close())
}

// replicas of the fleet, half of them for each model.
const replicas = 4

// Settings are the configuration of the experiment.
func (e *Experiment) Settings(size Size) Settings {
	return Settings{
		"experiment": Settings{"seed": 42, "budgets": []int{8}},
		"corpus":     Settings{"source": "vllm", "rollouts_per_task": size.Rollouts},
		"model": []Settings{
			{"id": "qwen2_5_3b"},
			{"id": "qwen3_5_4b", "thinking": true, "thinking_budget": 512, "reasoning_parser": "qwen3"},
		},
		"benchmark": []Settings{{"id": mixed, "tasks": e.Mixed()}, {"id": sums, "tasks": e.Sums()}},
		"sampling":  Settings{"max_tokens": 2048, "context_tokens": 4096},
		"replay": Settings{
			"draws": size.Draws, "replicates": 2, "quadrature_order": 8, "resamples": 16, "resample_draws": 16,
			"ts_neyman": Settings{"alphas": []float64{0.05, 0.20}, "race_draws": 2, "final_draws": 20},
		},
		"systems": Settings{"replicas": replicas, "repeats": 2},
		"worker":  []Settings{{"name": "fleet", "urls": e.URLs[:replicas]}},
		"serving": Settings{"on_loss": "again"}, // the fleet repeats an answer by its seed
		"judge":   Settings{"urls": e.URLs[replicas:], "max_tokens": 256},
		"report":  Settings{"pdf": size.PDF},
	}
}
