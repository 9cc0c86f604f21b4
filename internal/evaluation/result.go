package evaluation

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"speceval/internal/servers/ending"
	"speceval/internal/servers/router"
	"speceval/internal/store/files"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// ResultFile is the file of the result in the folder of an evaluation.
const ResultFile = "result.json"

const resultSchema = "evaluation-result/2"

// Result is the result of an evaluation.
type Result struct {
	Head
	Tasks      int    `json:"n_tasks"`
	Provenance string `json:"provenance"`
	Design     Design `json:"design"`
	Extends    string `json:"extends,omitempty"` // folder of the evaluation that this one adds rollouts to

	Estimate      float64    `json:"estimate"`
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"` // 95%
	SampleError

	Rollouts int    `json:"rollouts"`       // that count, N·b unless a Stop decided on it
	Extra    int    `json:"extra_rollouts"` // completed and not selected, or aborted while they ran
	Lost     int    `json:"lost_requests"`  // under way when a process ended
	Losses   Losses `json:"losses"`
	Tokens   Tokens `json:"tokens"`
	Cost     *Cost  `json:"cost,omitempty"` // of all requests, without those of an evaluation that is extended; nil where neither prices nor servers tell
	// Answers counts the rollouts that count whose answers are empty or not whole; nil where
	// all are whole.
	Answers  *ending.Tally `json:"answers,omitempty"`
	Seconds  float64       `json:"seconds"`                 // from first requests to last rewards, of all sessions
	Barrier  float64       `json:"barrier_seconds"`         // for which places stood empty before the final allocation, on average over places
	Dropped  int           `json:"dropped_stage,omitempty"` // stage that reached the limit on tokens, and counts for nothing; 0: none
	Sessions int           `json:"sessions"`                // processes that it took
	Startup  float64       `json:"startup_seconds"`         // of the last one, until it could send

	// Uniform is the need of Uniform for this standard error.
	Uniform Equivalent `json:"uniform"`

	PassK []PassK `json:"pass_k,omitempty"`
	Suite []Part  `json:"suite,omitempty"` // by benchmark, where there are several
	Known *Known  `json:"known,omitempty"` // null without donors

	Notes  []string          `json:"notes"`           // what a user should know before trusting it
	Asked  map[string]string `json:"asked,omitempty"` // see Setup.Asked
	Rules  string            `json:"rules"`           // digest of what verdicts depend on besides the answers
	Scored []string          `json:"scorers"`         // with their versions
	Rows   []Task            `json:"tasks"`
}

// Tokens are counts of them.
type Tokens struct {
	Prompt     int64 `json:"prompt"`        // of rollouts that count
	Completion int64 `json:"completion"`    // of rollouts that count
	Wasted     int64 `json:"wasted"`        // generated for others, as far as was seen
	Untold     int   `json:"untold"`        // rollouts without a count by the server
	All        int64 `json:"all,omitempty"` // of all answers and parts of them, where a Stop limits them; untold ones are estimated
}

// Equivalent is a Uniform evaluation.
type Equivalent struct {
	Budget   float64    `json:"budget"`   // rollouts per task, no whole number
	Rollouts int        `json:"rollouts"` // in all, rounded up
	Interval [2]float64 `json:"interval"` // 95%, of budget
}

// Task is the result of one task, as a row of tasks.parquet.
type Task struct {
	Index              int32   `parquet:"task_index" json:"task_index"`
	ID                 string  `parquet:"task_id" json:"task_id"`
	Pilots             int32   `parquet:"pilots" json:"pilots"`
	PilotPasses        int32   `parquet:"pilot_passes" json:"pilot_passes"`
	Continuations      int32   `parquet:"continuations" json:"continuations"`
	ContinuationPasses int32   `parquet:"continuation_passes" json:"continuation_passes"`
	Mean               float64 `parquet:"mean" json:"mean"`         // posterior expectation of its probability p
	Variance           float64 `parquet:"variance" json:"variance"` // and of p(1−p)

	Cluster   string           `parquet:"cluster" json:"cluster,omitempty"`
	Share     float64          `parquet:"share" json:"share,omitempty"` // in the mean; 0 where all tasks are alike
	Estimate  float64          `parquet:"estimate" json:"estimate"`     // unbiased: Σ c·X over its stages
	Shrinkage float64          `parquet:"shrinkage" json:"shrinkage"`   // Σ c²/n over its stages
	Stages    []estimate.Stage `parquet:"-" json:"stages"`
}

// Rollouts is how many of the task count.
func (t *Task) Rollouts() int { return int(t.Pilots + t.Continuations) }

// Graded reports whether a reward that counts is neither 0 nor 1.
func Graded(rows []Task) bool {
	return slices.ContainsFunc(rows, func(t Task) bool {
		return estimate.Sum(t.Stages).Rewards != float64(t.PilotPasses+t.ContinuationPasses)
	})
}

// ReadResult reads a result from a file that may come from elsewhere; fs.ErrNotExist is in the
// error if there is none.
func ReadResult(path string) (*Result, error) {
	text, err := files.ReadInput(path, files.Kind{Name: "a result", MaxBytes: mostBytes})
	if err != nil {
		return nil, err
	}
	return ParseResult(text, path)
}

// ParseResult is the result in a text, which a file has.
func ParseResult(text []byte, path string) (*Result, error) {
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.checkSchema(path, resultSchema); err != nil {
		return nil, err
	}
	if len(r.Rows) != r.Tasks || r.Tasks < 2 {
		return nil, fmt.Errorf("%s has %d tasks, and says %d: want 2 at least", path, len(r.Rows), r.Tasks)
	}
	if _, err := estimate.Stored(r.Estimate, r.StandardError, r.Interval[0], r.Interval[1]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, t := range r.Rows {
		if n := estimate.Sum(t.Stages).Rollouts; n != t.Rollouts() || len(t.Stages) == 0 || t.Pilots < 0 || t.Continuations < 0 || int(t.Index) != i {
			return nil, fmt.Errorf("%s: task %s at %d has the index %d and %d rollouts in its stages, %d + %d in all", path, t.ID, i, t.Index, n, t.Pilots, t.Continuations)
		}
	}
	return r, nil
}

// Counted are the tasks' selected rollouts, for the estimate.
func (r *Result) Counted() []estimate.Task {
	tasks := make([]estimate.Task, len(r.Rows))
	for i, t := range r.Rows {
		tasks[i] = estimate.Task{Stages: t.Stages, Share: t.Share}
	}
	return tasks
}

// estimate sets what follows from the tasks' counts.
func (r *Result) estimate(s *Setup, prior *neyman.Prior) error {
	counted := r.Counted()
	m, err := s.estimate(prior, counted)
	if err != nil {
		return err
	}
	r.Estimate, r.StandardError, r.Interval = m.Value, m.StandardError, [2]float64{m.Low, m.High}
	r.Uniform = Equivalent{m.Uniform.Value, int(math.Ceil(m.Uniform.Value*float64(r.Tasks) - 1e-6)), [2]float64{m.Uniform.Low, m.Uniform.High}}
	for k := range r.Suite {
		p := &r.Suite[k]
		part, err := s.estimate(prior, counted[p.First:p.First+p.Tasks], *p)
		if err != nil {
			return err
		}
		p.Estimate, p.StandardError, p.Interval, p.Rollouts = part.Value, part.StandardError, [2]float64{part.Low, part.High}, 0
		for _, t := range r.Rows[p.First : p.First+p.Tasks] {
			p.Rollouts += t.Rollouts()
		}
	}
	if r.SampleError, err = OverTasks(m, r.Shares(), r.ClusterOf()); err != nil {
		return err
	}
	for i := range r.Rows {
		t := &r.Rows[i]
		t.Mean, t.Variance, t.Estimate, t.Shrinkage = m.Tasks[i].Mean, m.Tasks[i].Variance, m.Tasks[i].Value, counted[i].Shrinkage()
	}
	return nil
}

// Mean is the estimate with its error.
func (r *Result) Mean() estimate.Mean {
	return estimate.Mean{Value: r.Estimate, StandardError: r.StandardError, Low: r.Interval[0], High: r.Interval[1], Uniform: r.Uniform.estimate()}
}

func (e Equivalent) estimate() estimate.Equivalent {
	return estimate.Equivalent{Value: e.Budget, Low: e.Interval[0], High: e.Interval[1]}
}

// Gain is +1 if Uniform would have needed more rollouts than were spent, −1 if it would
// have needed fewer, and 0 if neither can be claimed.
func (r *Result) Gain() int {
	spent := float64(r.Rollouts) / float64(r.Tasks)
	if math.Abs(r.Uniform.Budget-spent) < max(0.05, 0.01*spent) { // alike
		return 0
	}
	return r.Uniform.estimate().Verdict(spent)
}

// begun is a result without any rollout yet.
func (s *Setup) begun() *Result {
	r := &Result{Head: s.Head, Tasks: len(s.TaskIDs), Provenance: "measured", Design: s.Design, Asked: s.Asked, Suite: slices.Clone(s.Suite)}
	if r.Schema = resultSchema; s.Extends != nil {
		r.Extends = s.Extends.Folder
	}
	return r
}

// result makes the result of a run that has all its rollouts from its rows, and writes both, the
// manifest last: with it the evaluation is complete, and needs its journals no more.
func (e *engine) result(record *router.Record) (*Result, error) {
	r := e.Setup.begun()
	r.Provenance, r.Rules, r.Notes = e.Provenance, e.Rules, slices.Clone(e.Notes)
	r.Sessions, r.Startup = int(e.store.session)+1, e.start.Sub(e.Began).Seconds()
	r.rows(&e.Setup, e.control)
	if r.Dropped = e.dropped; e.Setup.PromptWeight() == 0 {
		r.Tokens.All = e.ledger.Spent()
	}
	if r.Dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("stage %d reached the limit of %s and was dropped: the stage before it was the last, with all the weight that was left", r.Dropped+1, e.Setup.LimitText(e.Setup.Limit())))
	}
	rows, err := e.store.rows()
	if err != nil {
		return nil, err
	}
	r.account(rows, e.Setup.Price, e.store.session, record, e.Servers.Places())
	setup, err := files.DigestOf(e.Folder, setupFile)
	if err != nil {
		return nil, err
	}
	m := newManifest(e.Commit, setup)
	if err := m.writeParts(e.Folder, []part{
		{RolloutsFile, func(w io.Writer) error {
			return rollout.WritePart(w, e.store.rollouts.Records(e.store.ids()), e.footer(rollout.Schema))
		}},
		{RequestsFile, func(w io.Writer) error { return rowfile.Write(w, rows, e.footer(requestsSchema)) }},
	}); err != nil {
		return nil, err
	}
	scores, err := e.store.scores(e.Rules)
	if err != nil {
		return nil, err
	}
	if err := e.conclude(r, scores, rows, e.control.Least); err != nil {
		return nil, err
	}
	if err := m.writeParts(e.Folder, e.scored(r, scores)); err != nil {
		return nil, err
	}
	if err := m.write(e.Folder); err != nil {
		return nil, err
	}
	return r, Clear(e.Folder)
}

// rows sets the tasks of a complete controller, still without rewards.
func (r *Result) rows(s *Setup, c *controller.Controller) {
	seen := c.Observed()
	if c.Policy == controller.Uniform {
		seen = s.rounds(s.Budget)
	}
	for i := range s.TaskIDs {
		t := s.row(seen, i)
		r.Rollouts += t.Rollouts()
		r.Rows = append(r.Rows, t)
	}
}

// follow sets what follows from the rewards of the tasks.
func (r *Result) follow(s *Setup, least int, prior *neyman.Prior) error {
	if err := r.estimate(s, prior); err != nil {
		return err
	}
	if err := r.passK(s.PassK, least, prior); err != nil {
		return err
	}
	return r.known(s)
}

// row is a task with these stages of the controller, still without rewards. Of an evaluation
// that extends another one the earlier stages come first, and the first of all is the pilot.
func (s *Setup) row(seen []controller.Stage, task int) Task {
	t := Task{Index: int32(task), ID: s.TaskIDs[task]}
	if s.Shares != nil {
		t.Share = s.Shares[task]
	}
	if s.Clusters != nil {
		t.Cluster = s.Clusters[task]
	}
	if s.Extends != nil && len(seen) > 0 {
		for _, stage := range s.Extends.Stages[task] {
			t.Stages = append(t.Stages, estimate.Stage{Rollouts: stage.Rollouts, Weight: s.Design.Weight * stage.Weight})
		}
		seen = seen[1:]
	}
	for _, stage := range seen {
		if n := stage.Sizes[task]; n > 0 {
			t.Stages = append(t.Stages, estimate.Stage{Rollouts: n, Weight: stage.Weights[task]})
		}
	}
	for k, stage := range t.Stages {
		if k == 0 {
			t.Pilots = int32(stage.Rollouts)
		} else {
			t.Continuations += int32(stage.Rollouts)
		}
	}
	return t
}

// rounds is a single stage that gives every task the same number of rollouts.
func (s *Setup) rounds(n int) []controller.Stage {
	all := len(s.TaskIDs)
	return []controller.Stage{{Sizes: slices.Repeat([]int{n}, all), Weights: slices.Repeat([]float64{1}, all)}}
}

// countReward counts the reward of a selected rollout. Those of a task are numbered stage by
// stage.
func (t *Task) countReward(n int32, reward float64) {
	switch {
	case reward < 1:
	case n < t.Pilots:
		t.PilotPasses++
	default:
		t.ContinuationPasses++
	}
	for k := range t.Stages {
		stage := &t.Stages[k]
		if n < int32(stage.Rollouts) {
			stage.Add(reward)
			return
		}
		n -= int32(stage.Rollouts)
	}
}

// SampleError is the error of a mean where the tasks are a sample of what they stand
// for, clusters of them where they have some. It does not vanish with the rollouts.
type SampleError struct {
	StandardErrorTasks float64    `json:"se_tasks"`
	IntervalTasks      [2]float64 `json:"interval_tasks"` // 95%
	Clusters           int        `json:"clusters"`       // independent draws: tasks, or clusters of them
	Clustered          bool       `json:"clustered"`
}

// OverTasks is the error of an estimate. Shares and clusters are the tasks', or nil. Where
// all tasks are of one cluster nothing is known of others, and it has no error.
func OverTasks(m estimate.Mean, shares []float64, clusters []string) (SampleError, error) {
	if len(slices.Compact(slices.Clone(clusters))) == 1 {
		return SampleError{Clusters: 1, Clustered: true}, nil
	}
	o, err := m.Sample(shares, clusters).Mean()
	if err != nil {
		return SampleError{}, err
	}
	return SampleError{o.StandardError, [2]float64{o.Low, o.High}, o.Clusters, len(clusters) > 0}, nil
}

// Shares are the weights of the tasks in the mean; nil where all are alike.
func (r *Result) Shares() (shares []float64) {
	for _, t := range r.Rows {
		if t.Share != 0 {
			shares = append(shares, t.Share)
		}
	}
	return shares
}

// ClusterOf is the clusters of the tasks; nil where every task is its own.
func (r *Result) ClusterOf() (clusters []string) {
	for _, t := range r.Rows {
		if t.Cluster != "" {
			clusters = append(clusters, t.Cluster)
		}
	}
	return clusters
}
