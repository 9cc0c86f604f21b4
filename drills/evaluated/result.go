package evaluated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"speceval/internal/policy"
)

// Policies, as the program calls them.
var (
	Async   = policy.HBNAsync.Name
	Sync    = policy.HBNSync.Name
	Uniform = policy.UniformAtBudget.Name
)

// Result is what the program says of an evaluation, as --json prints it and
// result.json keeps it, as far as drills look at it.
type Result struct {
	Benchmark  string
	Model      string
	Policy     string
	Budget     int // rollouts per task; what was planned where Stop decided
	Stop       *Stop
	Extends    string // folder of the evaluation that it adds rollouts to
	Seed       uint64
	Tasks      int `json:"n_tasks"`
	Provenance string
	Design     struct {
		Pilots int     // of each task
		Weight float64 // of the pilot, or of what is extended
		Source string
	}

	Estimate      float64
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 // 95%

	Rollouts int // that count
	Extra    int `json:"extra_rollouts"`
	Losses   Losses
	Tokens   struct{ Prompt, Completion, Wasted int64 }
	Seconds  float64
	Barrier  float64 `json:"barrier_seconds"`
	Startup  float64 `json:"startup_seconds"` // until the first request could be sent
	Sessions int     // processes that it took

	Rows []Task `json:"tasks"`
}

// Stop is what an evaluation is to reach.
type Stop struct {
	StandardError float64 `json:"standard_error"`
}

// Losses are the rollouts that count and were lost while they came in.
type Losses struct {
	Continued  int
	AskedAgain int     `json:"asked_again"`
	TooHigh    float64 `json:"too_high"` // by which asking again can have moved the estimate
	TooLow     float64 `json:"too_low"`
	WorstCase  float64 `json:"worst_case"`
}

// Task is what came of one task.
type Task struct {
	ID                 string `json:"task_id"`
	Pilots             int
	PilotPasses        int `json:"pilot_passes"`
	Continuations      int
	ContinuationPasses int `json:"continuation_passes"`
	Mean, Variance     float64
	Share              float64 // in the mean; 0 where all tasks are alike
	Estimate           float64 // unbiased
	Shrinkage          float64 // Σ c²/n over its stages
	Stages             []Stage // that counted
}

// Stage is what came of one task in one stage.
type Stage struct {
	Rollouts int
	Rewards  float64 // their sum
	Weight   float64 // of their mean
}

// Outcome is the result as far as statistics need it.
func (r *Result) Outcome() Outcome {
	return Outcome{r.Estimate, r.StandardError, r.Interval[0], r.Interval[1]}
}

// Parse reads a result. It is an error if there is more or less than that.
func Parse(text []byte) (*Result, error) {
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if len(r.Rows) == 0 || len(r.Rows) != r.Tasks {
		return nil, fmt.Errorf("results of %d tasks, n_tasks is %d", len(r.Rows), r.Tasks)
	}
	return &r, nil
}

// Folder is where the program keeps an evaluation in an output folder. Benchmark
// and model are plain names.
func Folder(out, benchmark, model, policy string, budget int, seed uint64) string {
	return folder(out, benchmark, model, Order{Policy: policy, Budget: budget, Seed: seed}.Name())
}

func folder(out, benchmark, model, name string) string {
	return filepath.Join(out, "evaluate", "benchmark="+benchmark, "model="+model, name)
}

// Read reads the result in the folder of an evaluation, nil if there is none yet.
func Read(folder string) (*Result, error) {
	path := filepath.Join(folder, "result.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Check returns an error if a result of an evaluation with this budget cannot be: the
// rollouts that count are N·b unless the evaluation stopped by what it found, every task
// has the pilot and a continuation unless the policy is Uniform, and the estimates follow
// from the counts by stage (paper, Eq. 3, for more stages).
func (r *Result) Check(budget int) error {
	all, value := 0, 0.0
	for _, t := range r.Rows {
		all += t.Pilots + t.Continuations
		if r.Extends == "" && t.Pilots != r.Design.Pilots {
			return fmt.Errorf("task %s has %d pilot rollouts, the design %d", t.ID, t.Pilots, r.Design.Pilots)
		}
		if r.Policy != Uniform && t.Continuations < 1 {
			return fmt.Errorf("task %s has no continuation", t.ID)
		}
		if err := t.check(); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		if pilot := t.Stages[0]; r.Extends == "" && r.Policy != policy.LOO.Name && !close(pilot.Weight, r.Design.Weight) {
			return fmt.Errorf("task %s: the weight of the pilot is %v, by the design %v", t.ID, pilot.Weight, r.Design.Weight)
		}
		share := t.Share
		if share == 0 {
			share = 1 / float64(r.Tasks)
		}
		value += share * t.Estimate
	}
	switch want := r.Tasks * budget; {
	case r.Stop == nil && all != want || r.Rollouts != all:
		return fmt.Errorf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	case !close(value, r.Estimate):
		return fmt.Errorf("the estimate is %v, by the tasks %v", r.Estimate, value)
	}
	return nil
}

// check returns an error if the stages are not those of the counts, the first of them
// the pilot, if their weights do not add up to one, or if the task's numbers do not follow
// from them.
func (t Task) check() error {
	if len(t.Stages) == 0 {
		return fmt.Errorf("it has no stages")
	}
	var sum struct {
		rollouts                            int
		rewards, weights, value, shrinkages float64
	}
	for _, s := range t.Stages {
		n := float64(s.Rollouts)
		sum.rollouts, sum.rewards, sum.weights = sum.rollouts+s.Rollouts, sum.rewards+s.Rewards, sum.weights+s.Weight
		sum.value, sum.shrinkages = sum.value+s.Weight*s.Rewards/n, sum.shrinkages+s.Weight*s.Weight/n
	}
	passes := float64(t.PilotPasses + t.ContinuationPasses)
	switch pilot := t.Stages[0]; {
	case pilot.Rollouts != t.Pilots || pilot.Rewards != float64(t.PilotPasses):
		return fmt.Errorf("the first stage is %+v, the pilot %d of %d", pilot, t.PilotPasses, t.Pilots)
	case sum.rollouts != t.Pilots+t.Continuations || sum.rewards != passes:
		return fmt.Errorf("%v of %d rollouts passed in its stages, want %v of %d", sum.rewards, sum.rollouts, passes, t.Pilots+t.Continuations)
	case !close(sum.weights, 1):
		return fmt.Errorf("the weights of its stages add up to %v", sum.weights)
	case !close(sum.value, t.Estimate) || !close(sum.shrinkages, t.Shrinkage):
		return fmt.Errorf("its estimate is %v with the shrinkage %v, by its stages %v with %v", t.Estimate, t.Shrinkage, sum.value, sum.shrinkages)
	}
	return nil
}

// close tells whether two numbers are the same but for rounding.
func close(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }

// Same says what differs in the numbers of two evaluations that must be equal: by
// the same rollouts, whatever happened on the way.
func Same(a, b *Result) error {
	switch {
	case a.Estimate != b.Estimate || a.StandardError != b.StandardError || a.Interval != b.Interval:
		return fmt.Errorf("estimates %v ± %v and %v ± %v", a.Estimate, a.StandardError, b.Estimate, b.StandardError)
	case len(a.Rows) != len(b.Rows):
		return fmt.Errorf("%d and %d tasks", len(a.Rows), len(b.Rows))
	}
	for i := range a.Rows {
		if !reflect.DeepEqual(a.Rows[i], b.Rows[i]) {
			return fmt.Errorf("task %s: %+v and %+v", a.Rows[i].ID, a.Rows[i], b.Rows[i])
		}
	}
	return nil
}
