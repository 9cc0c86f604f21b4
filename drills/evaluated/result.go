package evaluated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// Check says what cannot be in a result, of an evaluation with this budget: the
// rollouts that count are N·b, every task has the pilot and a continuation, and
// the estimate follows from the counts (paper, Eq. 3).
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
		value += t.value(r.Design.Weight)
	}
	switch want := r.Tasks * budget; {
	case all != want || r.Rollouts != want:
		return fmt.Errorf("%d rollouts of the tasks, %d in all, want %d", all, r.Rollouts, want)
	case !close(value/float64(r.Tasks), r.Estimate):
		return fmt.Errorf("the estimate is %v, by the counts %v", r.Estimate, value/float64(r.Tasks))
	}
	return nil
}

// value is the estimate of the task's probability.
func (t Task) value(weight float64) float64 {
	sum := weight * float64(t.PilotPasses) / float64(t.Pilots)
	if t.Continuations > 0 {
		sum += (1 - weight) * float64(t.ContinuationPasses) / float64(t.Continuations)
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
		if a.Rows[i] != b.Rows[i] {
			return fmt.Errorf("task %s: %+v and %+v", a.Rows[i].ID, a.Rows[i], b.Rows[i])
		}
	}
	return nil
}
