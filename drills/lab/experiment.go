package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"speceval/data"
	"speceval/internal/atomicfile"
	"speceval/internal/benchmark"
	"speceval/pipeline/config"
)

// Settings are a table of a configuration: values, lists, and tables in it.
type Settings map[string]any

// WriteConfig writes a configuration as TOML. It refuses one that the program would
// refuse.
func WriteConfig(path string, s Settings) error {
	text, err := toml.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := config.Parse(text, path, nil); err != nil {
		return err
	}
	return atomicfile.WriteText(path, string(text))
}

// LoadExperiment reads an experiment whose servers a drill starts itself: those of
// its first worker, with its first model.
func LoadExperiment(path string) (*config.Config, error) {
	e, err := config.Load(path, nil)
	if err != nil {
		return nil, err
	}
	if len(e.Models) == 0 || len(e.Workers) == 0 || e.Workers[0].Launch == "" {
		return nil, fmt.Errorf("%s: a drill needs a [[model]], and a [[worker]] with a launch command before all others", path)
	}
	return e, nil
}

// Stages are the stages of the pipeline, in order.
var Stages = []string{"generate", "score", "replay", "systems", "report"}

// Size is how much work the small experiment is.
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

// Experiment is a small experiment with all five stages on the simulated fleet, which
// answers and judges.
type Experiment struct {
	Config string   // the configuration
	Sums   string   // task file of additions, CSV
	Mixed  string   // task file with tasks of every scorer, JSONL
	Tests  string   // the tests of the task that wants a program
	URLs   []string // of the replicas, and then of the judge
}

// Inputs are all files that a run reads from outside its output folder.
func (e *Experiment) Inputs() []string { return []string{e.Config, e.Sums, e.Mixed, e.Tests} }

// replicas of the fleet, half of them for each model.
const replicas = 4

// NewExperiment writes the experiment into a folder. Its servers get free ports.
func NewExperiment(dir string, size Size) (*Experiment, error) {
	in := func(name string) string { return filepath.Join(dir, name) }
	e := &Experiment{Config: in("experiments.toml"), Sums: in("sums.csv"), Mixed: in("mixed.jsonl"), Tests: in("tests.json")}
	var sums strings.Builder
	sums.WriteString("id,prompt,answer,scorer\n")
	for i := range 16 {
		fmt.Fprintf(&sums, "sum-%d,How much is %d and %d?,%d,math\n", i, 17+i, 4*i+3, 20+5*i)
	}
	var err error
	if e.URLs, err = FreeURLs(replicas + 1); err != nil {
		return nil, err
	}
	return e, errors.Join(os.WriteFile(e.Sums, []byte(sums.String()), 0o666), e.writeMixed(), WriteConfig(e.Config, e.Settings(size)))
}

// The benchmarks have ids of the paper's, so that the systems stage finds them
// calibrated; their tasks are other ones.
const mixedID, sumsID = "hmmt", "math_100"

// counts are how many tasks of each scorer the mixed benchmark has.
var counts = map[string]int{"math": 8, "choice": 6, "judge": 4, "code": 1}

// writeMixed writes tasks of the small benchmark, the tests of the program in a
// file of their own.
func (e *Experiment) writeMixed() (err error) {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	small, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		return err
	}
	var mixed, tests strings.Builder
	taken := make(map[string]int)
	var tasks []benchmark.Task
	for _, t := range small {
		if taken[t.Scorer]++; taken[t.Scorer] > counts[t.Scorer] {
			continue
		}
		t.Benchmark, t.Index = mixedID, len(tasks)
		if t.Scorer == "code" {
			err = benchmark.WriteTests(&tests, t.Tests)
			t.Tests, t.TestsFile = nil, filepath.Base(e.Tests)
		}
		tasks = append(tasks, t)
	}
	err = errors.Join(err, benchmark.WriteTasks(&mixed, tasks))
	return errors.Join(err, os.WriteFile(e.Mixed, []byte(mixed.String()), 0o666), os.WriteFile(e.Tests, []byte(tests.String()), 0o666))
}

// Settings are the configuration of the experiment.
func (e *Experiment) Settings(size Size) Settings {
	return Settings{
		"experiment": Settings{"seed": 42, "budgets": []int{8}},
		"corpus":     Settings{"source": "vllm", "rollouts_per_task": size.Rollouts},
		"model": []Settings{
			{"id": "qwen2_5_3b"},
			{"id": "qwen3_5_4b", "thinking": true, "thinking_budget": 512, "reasoning_parser": "qwen3"},
		},
		"benchmark": []Settings{{"id": mixedID, "tasks": e.Mixed}, {"id": sumsID, "tasks": e.Sums}},
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
