package evaluated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

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
	Budget     int // rollouts per task
	Seed       uint64
	Tasks      int `json:"n_tasks"`
	Provenance string
	Design     struct {
		Pilots int // of each task
		Weight float64
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
	name := policy + "-b" + strconv.Itoa(budget) + "-seed" + strconv.FormatUint(seed, 10)
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
// rollouts that count are N·b, every task has the pilot and a continuation unless the
// policy is Uniform, and the estimate follows from the counts by stage (paper, Eq. 3,
// for more stages).
func (r *Result) Check(budget int) error {
	all, value := 0, 0.0
	for _, t := range r.Rows {
		all += t.Pilots + t.Continuations
		if t.Pilots != r.Design.Pilots {
			return fmt.Errorf("task %s has %d pilot rollouts, the design %d", t.ID, t.Pilots, r.Design.Pilots)
		}
		if r.Policy != Uniform && t.Continuations < 1 {
			return fmt.Errorf("task %s has no continuation", t.ID)
		}
		if err := t.check(r.Design.Weight); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		value += t.value()
	}
	switch want := r.Tasks * budget; {
	case all != want || r.Rollouts != want:
		return fmt.Errorf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	case !close(value/float64(r.Tasks), r.Estimate):
		return fmt.Errorf("the estimate is %v, by the counts %v", r.Estimate, value/float64(r.Tasks))
	}
	return nil
}

// check returns an error if the stages are not those of the counts, the first of them
// the pilot with its weight, or if their weights do not add up to one.
func (t Task) check(weight float64) error {
	if len(t.Stages) == 0 {
		return fmt.Errorf("it has no stages")
	}
	rollouts, rewards, weights := 0, 0.0, 0.0
	for _, s := range t.Stages {
		rollouts, rewards, weights = rollouts+s.Rollouts, rewards+s.Rewards, weights+s.Weight
	}
	passes := float64(t.PilotPasses + t.ContinuationPasses)
	switch pilot := t.Stages[0]; {
	case pilot.Rollouts != t.Pilots || pilot.Rewards != float64(t.PilotPasses) || !close(pilot.Weight, weight):
		return fmt.Errorf("the first stage is %+v, the pilot %d of %d with weight %v", pilot, t.PilotPasses, t.Pilots, weight)
	case rollouts != t.Pilots+t.Continuations || rewards != passes:
		return fmt.Errorf("%v of %d rollouts passed in its stages, want %v of %d", rewards, rollouts, passes, t.Pilots+t.Continuations)
	case !close(weights, 1):
		return fmt.Errorf("the weights of its stages add up to %v", weights)
	}
	return nil
}

// value is the estimate of the task's probability.
func (t Task) value() (sum float64) {
	for _, s := range t.Stages {
		sum += s.Weight * s.Rewards / float64(s.Rollouts)
	}
	return sum
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
