package evaluation

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/internal/rollout"
	"speceval/internal/router"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

const (
	resultFile   = "result.json"
	resultSchema = "evaluation-result/1"
)

// Result is what came of an evaluation.
type Result struct {
	Schema     string `json:"schema"`
	Benchmark  string `json:"benchmark"`
	Model      string `json:"model"`
	Policy     string `json:"policy"`
	Budget     int    `json:"budget"`
	Seed       uint64 `json:"seed"`
	Tasks      int    `json:"n_tasks"`
	Provenance string `json:"provenance"`
	Design     Design `json:"design"`

	Estimate      float64    `json:"estimate"`
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"` // 95%

	Rollouts int     `json:"rollouts"`       // that count, N·b
	Extra    int     `json:"extra_rollouts"` // completed and not selected, or aborted while they ran
	Lost     int     `json:"lost_requests"`  // under way when a process ended
	Tokens   Tokens  `json:"tokens"`
	Seconds  float64 `json:"seconds"`         // from first requests to last rewards, of all sessions
	Barrier  float64 `json:"barrier_seconds"` // for which places stood empty before the final allocation, on average over places
	Sessions int     `json:"sessions"`        // processes that it took
	Startup  float64 `json:"startup_seconds"` // of the last one, until it could send

	// Uniform is what Uniform would have needed for this standard error.
	Uniform Equivalent `json:"uniform"`

	Notes  []string `json:"notes"`   // what a user should know before trusting it
	Rules  string   `json:"rules"`   // digest of what verdicts depend on besides the answers
	Scored []string `json:"scorers"` // with their versions
	Rows   []Task   `json:"tasks"`
}

// Tokens are counts of them.
type Tokens struct {
	Prompt     int64 `json:"prompt"`     // of rollouts that count
	Completion int64 `json:"completion"` // of rollouts that count
	Wasted     int64 `json:"wasted"`     // generated for others, as far as was seen
	Untold     int   `json:"untold"`     // rollouts of which no server told how many
}

// Equivalent is a Uniform evaluation.
type Equivalent struct {
	Budget   float64 `json:"budget"`   // rollouts per task, no whole number
	Rollouts int     `json:"rollouts"` // in all, rounded up
}

// Task is what came of one task, as a row of tasks.parquet.
type Task struct {
	Index              int32   `parquet:"task_index" json:"task_index"`
	ID                 string  `parquet:"task_id" json:"task_id"`
	Pilots             int32   `parquet:"pilots" json:"pilots"`
	PilotPasses        int32   `parquet:"pilot_passes" json:"pilot_passes"`
	Continuations      int32   `parquet:"continuations" json:"continuations"`
	ContinuationPasses int32   `parquet:"continuation_passes" json:"continuation_passes"`
	Mean               float64 `parquet:"mean" json:"mean"`         // posterior expectation of its probability p
	Variance           float64 `parquet:"variance" json:"variance"` // and of p(1−p)
}

// ReadResult reads the result in the folder of an evaluation; fs.ErrNotExist is in
// the error if it has none yet.
func ReadResult(folder string) (*Result, error) {
	path := filepath.Join(folder, resultFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Schema != resultSchema {
		return nil, fmt.Errorf("%s has the schema %q, want %q: it was made by another version of speceval", path, r.Schema, resultSchema)
	}
	return &r, nil
}

// counted are the tasks' selected rollouts, for the estimate.
func (r *Result) counted() []estimate.Task {
	tasks := make([]estimate.Task, len(r.Rows))
	for i, t := range r.Rows {
		tasks[i] = estimate.Task{Stages: []estimate.Stage{
			estimate.Binary(int(t.Pilots), int(t.PilotPasses), r.Design.Weight),
			estimate.Binary(int(t.Continuations), int(t.ContinuationPasses), 1-r.Design.Weight),
		}}
	}
	return tasks
}

// estimate sets what follows from the tasks' counts.
func (r *Result) estimate(prior *neyman.Prior) error {
	m, err := estimate.Of(prior, r.counted())
	if err != nil {
		return err
	}
	r.Estimate, r.StandardError, r.Interval = m.Value, m.StandardError, [2]float64{m.Low, m.High}
	r.Uniform = Equivalent{m.Uniform, int(math.Ceil(m.Uniform*float64(r.Tasks) - 1e-6))}
	for i := range r.Rows {
		r.Rows[i].Mean, r.Rows[i].Variance = m.Tasks[i].Mean, m.Tasks[i].Variance
	}
	return nil
}

// Mean is the estimate with its error.
func (r *Result) Mean() estimate.Mean {
	return estimate.Mean{Value: r.Estimate, StandardError: r.StandardError, Low: r.Interval[0], High: r.Interval[1], Uniform: r.Uniform.Budget}
}

// Update is what the rollouts say of the tasks.
func (r *Result) Update(prior *neyman.Prior) (*neyman.Update, error) {
	observed, successes := make([]int, len(r.Rows)), make([]int, len(r.Rows))
	for i, t := range r.Rows {
		observed[i], successes[i] = int(t.Pilots+t.Continuations), int(t.PilotPasses+t.ContinuationPasses)
	}
	return prior.Update(observed, successes)
}

// conclude makes the result of a run that has all its rollouts, and writes it
// last.
func (s *Settings) conclude(st *store, c *controller.Controller, record *router.Record, start time.Time) (*Result, error) {
	r := &Result{
		Schema: resultSchema, Benchmark: s.Setup.Benchmark, Model: s.Setup.Model, Policy: s.Setup.Policy, Budget: s.Setup.Budget,
		Seed: s.Setup.Seed, Tasks: len(s.Setup.TaskIDs), Provenance: s.Provenance, Design: s.Setup.Design,
		Rollouts: len(s.Setup.TaskIDs) * s.Setup.Budget, Sessions: int(st.session) + 1, Rules: s.Rules,
		Startup: start.Sub(s.Began).Seconds(), Notes: slices.Clone(s.Notes),
	}
	for i, l := range c.Allocation() {
		r.Rows = append(r.Rows, Task{Index: int32(i), ID: s.Setup.TaskIDs[i], Pilots: int32(c.Pilots), Continuations: int32(l)})
	}
	if err := r.count(st, s.Rules); err != nil {
		return nil, err
	}
	if err := r.estimate(s.Prior); err != nil {
		return nil, err
	}
	rows, err := st.rows()
	if err != nil {
		return nil, err
	}
	r.account(rows, st.session, record, s.Servers.Places())
	if err := s.write(st, r, rows); err != nil {
		return nil, err
	}
	return r, clear(s.Folder)
}

// count counts the selected rollouts, which must all be there.
func (r *Result) count(st *store, rules string) error {
	var scorers []string
	varied := 0
	for i := range r.Rows {
		t := &r.Rows[i]
		texts := make(map[string]bool)
		for n := range t.Pilots + t.Continuations {
			answer, v, err := st.find(rollout.ID{Task: t.Index, Rollout: n}, rules)
			if err == nil && v == nil {
				err = fmt.Errorf("rollout %d of task %s has no verdict", n, t.ID)
			}
			if err != nil {
				return err
			}
			texts[answer.Reasoning+answer.Text] = true
			if answer.CompletionTokens == 0 { // of an answer that was counted there is one at least
				r.Tokens.Untold++
			}
			r.Tokens.Prompt += int64(answer.PromptTokens)
			r.Tokens.Completion += int64(answer.CompletionTokens)
			t.take(n, v.Correct)
			scorers = append(scorers, v.Scorer)
		}
		if len(texts) > 1 {
			varied++
		}
	}
	if varied == 0 {
		r.Notes = append(r.Notes, "every task was answered in the same words each time: the servers take no seeds or do not sample, and the standard error is not one")
	}
	slices.Sort(scorers)
	r.Scored = slices.Compact(scorers)
	return nil
}

// take counts the reward of a selected rollout.
func (t *Task) take(n int32, passed bool) {
	switch {
	case !passed:
	case n < t.Pilots:
		t.PilotPasses++
	default:
		t.ContinuationPasses++
	}
}
