package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"sync"

	"speceval/internal/display"
	"speceval/internal/evaluation/manifest"
	"speceval/internal/rollout"
	"speceval/internal/router"
	"speceval/internal/rowfile"
	"speceval/method/controller"
	"speceval/method/estimate"
	"speceval/method/neyman"
)

// evidence are the files that a result follows from; all names are fixed, and none is
// taken from a manifest.
var evidence = []string{setupFile, RolloutsFile, ScoresFile, requestsFile}

// answered is what a result needs to know of a rollout besides its verdict.
type answered struct {
	Benchmark string `parquet:"benchmark"`
	Model     string `parquet:"model"`
	Index     int32  `parquet:"task_index"`
	Task      string `parquet:"task_id"`
	Rollout   int32  `parquet:"rollout"`
	Prompt    int32  `parquet:"prompt_tokens"`
	Tokens    int32  `parquet:"completion_tokens"`
}

// found is the evidence in a folder.
type found struct {
	setup    *Setup
	folder   string
	answers  map[rollout.ID]answered
	verdicts map[rollout.ID]*rollout.Score
	requests []Request // none of versions that kept less of them
	footer   map[string]string
}

// find reads the evidence of a setup in a folder.
func (s *Setup) find(folder string) (*found, error) {
	f := &found{setup: s, folder: folder, answers: make(map[rollout.ID]answered), verdicts: make(map[rollout.ID]*rollout.Score)}
	rows, footer, err := rowfile.ReadFile[answered](filepath.Join(folder, RolloutsFile))
	if err != nil {
		return nil, err
	}
	f.footer = footer
	for _, r := range rows {
		id := rollout.ID{Task: r.Index, Rollout: r.Rollout}
		if err := f.belongs(RolloutsFile, id, r.Benchmark, r.Model, r.Task); err != nil {
			return nil, err
		}
		if _, twice := f.answers[id]; twice {
			return nil, fmt.Errorf("%s has %v twice", filepath.Join(folder, RolloutsFile), id)
		}
		f.answers[id] = r
	}
	for v, err := range rollout.Scores(filepath.Join(folder, ScoresFile)) {
		if err == nil {
			err = f.belongs(ScoresFile, v.ID(), v.Benchmark, v.Model, v.TaskID)
		}
		if err != nil {
			return nil, err
		}
		f.verdicts[v.ID()] = v
	}
	f.requests, _, err = rowfile.ReadFile[Request](filepath.Join(folder, requestsFile))
	if missing := (*rowfile.MissingColumnError)(nil); errors.As(err, &missing) {
		f.requests, err = nil, nil
	}
	return f, err
}

// belongs is an error if a row is none of the evaluation.
func (f *found) belongs(file string, id rollout.ID, benchmark, model, task string) error {
	s := f.setup
	if id.Task < 0 || int(id.Task) >= len(s.TaskIDs) || s.TaskIDs[id.Task] != task || benchmark != s.Benchmark || model != s.Model {
		return fmt.Errorf("%s has a row of task %q (%d) of %s with %s, which is none of this evaluation, of %s with %s", filepath.Join(f.folder, file), task, id.Task, benchmark, model, s.Benchmark, s.Model)
	}
	return nil
}

// reward is that of a rollout.
func (f *found) reward(id rollout.ID) (float64, error) {
	v, there := f.verdicts[id]
	if _, answer := f.answers[id]; !answer || !there {
		return 0, fmt.Errorf("%v counts, and its answer or its verdict is not in %s", id, f.folder)
	}
	return v.Reward(), nil
}

// used is the tokens of the first rollouts of a task.
func (f *found) used(task, rollouts int) (sum, squares float64) {
	for n := range rollouts {
		length := float64(f.answers[rollout.ID{Task: int32(task), Rollout: int32(n)}].Tokens)
		sum, squares = sum+length, squares+length*length
	}
	return sum, squares
}

// replay lets the policy decide again on the rewards that are there.
func (f *found) replay(prior *neyman.Prior) (*controller.Controller, error) {
	c, err := f.setup.Controller(prior, false, f.used)
	if err != nil {
		return nil, err
	}
	for !c.Done() {
		id, more := c.Next()
		if !more {
			return nil, fmt.Errorf("%s: the policy waits for a rollout that it has not asked for", f.folder)
		}
		reward, err := f.reward(f.setup.rolloutID(id, c.Pilots))
		if err != nil {
			return nil, err
		}
		if _, err := c.Rewarded(id, reward); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// allocated are the tasks of an evaluation with these stages by task, of which no reward
// is counted yet.
func (r *Result) allocated(s *Setup, stages [][]estimate.Stage) error {
	if len(stages) != len(s.TaskIDs) {
		return fmt.Errorf("an allocation to %d tasks, want %d", len(stages), len(s.TaskIDs))
	}
	for i, own := range stages {
		if len(own) == 0 {
			return fmt.Errorf("an allocation without a stage of task %s", s.TaskIDs[i])
		}
		t := s.task(i, slices.Clone(own))
		t.forget()
		r.Rollouts += t.Rollouts()
		r.Rows = append(r.Rows, t)
	}
	return nil
}

// rebuild makes the result again from its evidence: of an allocation that is nil as the
// policy decides by the rewards, of another one as it is.
func (f *found) rebuild(prior *neyman.Prior, m *manifest.Measured, stages [][]estimate.Stage) (*Result, error) {
	s := f.setup
	r := s.begun()
	r.put(m)
	least := s.Floor(s.Design.Pilots)
	if stages == nil {
		c, err := f.replay(prior)
		if err != nil {
			return nil, err
		}
		least = c.Least
		r.rows(s, c)
	} else if err := r.allocated(s, stages); err != nil {
		return nil, err
	}
	if err := f.count(r); err != nil {
		return nil, err
	}
	if err := r.follow(s, least, prior); err != nil {
		return nil, err
	}
	if f.requests == nil {
		return r, nil
	}
	r.tally(f.requests)
	lost, err := s.lost(f.requests)
	if errors.Is(err, fs.ErrNotExist) {
		return r, &goneError{err}
	}
	if err != nil {
		return nil, err
	}
	return r, r.lose(lost, f.reward)
}

// goneError says that what an evaluation extends is gone, and with it what was lost there.
type goneError struct{ error }

// count counts the selected rollouts, which must all be there.
func (f *found) count(r *Result) error {
	for i := range r.Rows {
		t := &r.Rows[i]
		for n := range t.Pilots + t.Continuations {
			id := rollout.ID{Task: t.Index, Rollout: n}
			reward, err := f.reward(id)
			if err != nil {
				return err
			}
			a := f.answers[id]
			if a.Tokens == 0 {
				r.Tokens.Untold++
			}
			r.Tokens.Prompt += int64(a.Prompt)
			r.Tokens.Completion += int64(a.Tokens)
			t.take(n, reward)
			r.Scored = append(r.Scored, f.verdicts[id].Scorer)
		}
	}
	slices.Sort(r.Scored)
	r.Scored = slices.Compact(r.Scored)
	return nil
}

// tally counts requests that do not count, by the states that they have in the end.
func (r *Result) tally(rows []Request) {
	gone := carried(rows)
	for i := range rows {
		q := &rows[i]
		switch q.State {
		case router.Discarded.String():
			r.Extra++
			r.Tokens.Wasted += int64(q.CompletionTokens)
		case router.AbortedRunning.String():
			r.Extra++
			r.Tokens.Wasted += q.wasted(gone[i])
		case router.Faulty.String():
			r.Tokens.Wasted += q.wasted(gone[i])
		case lost:
			r.Lost++
		}
	}
}

// measured is what of the result follows from no other file.
func (r *Result) measured() *manifest.Measured {
	notes := r.Notes
	if r.Known != nil {
		notes = notes[:max(0, len(notes)-len(r.Known.warnings()))]
	}
	return &manifest.Measured{
		Provenance: r.Provenance, Seconds: r.Seconds, Barrier: r.Barrier, Startup: r.Startup, Sessions: r.Sessions,
		Notes: notes, Rules: r.Rules,
	}
}

// put sets it.
func (r *Result) put(m *manifest.Measured) {
	r.Provenance, r.Seconds, r.Barrier, r.Startup, r.Sessions, r.Rules = m.Provenance, m.Seconds, m.Barrier, m.Startup, m.Sessions, m.Rules
	r.Notes = slices.Clone(m.Notes)
}

// firstSchema is that of results in two stages at most, of passes and failures.
const firstSchema = "evaluation-result/1"

// upgrade makes a result of the first schema one of today.
func (r *Result) upgrade(path string) error {
	var m estimate.Mean
	for i := range r.Rows {
		t := &r.Rows[i]
		t.Stages = []estimate.Stage{estimate.Binary(int(t.Pilots), int(t.PilotPasses), r.Design.Weight)}
		if t.Continuations > 0 {
			t.Stages = append(t.Stages, estimate.Binary(int(t.Continuations), int(t.ContinuationPasses), 1-r.Design.Weight))
		}
		for _, s := range t.Stages {
			n := float64(s.Rollouts)
			t.Estimate += s.Weight * s.Rewards / n
			t.Shrinkage += s.Weight * s.Weight / n
		}
		m.Tasks = append(m.Tasks, estimate.Moments{Value: t.Estimate})
	}
	r.Schema = resultSchema
	if err := r.check(path); err != nil {
		return err
	}
	var err error
	r.SampleError, err = OverTasks(m, nil, nil)
	return err
}

// Rescore scores the answers of a complete evaluation again, so many at a time,
// and writes the result that follows. The allocation stays as it was: that other
// verdicts led to it costs precision at most, since continuations are fresh
// rollouts whatever decided on their number. s needs no servers. It is a *manifest.AlteredError
// if the answers are not as they were made.
func Rescore(ctx context.Context, s Settings, was *Stored, atATime int) (*Result, error) {
	r := was.Result
	if err := was.Needs(setupFile, RolloutsFile, requestsFile); err != nil {
		return nil, err
	}
	scores, err := s.scoreAll(ctx, atATime)
	if err != nil {
		return nil, err
	}
	again := *r
	again.Rules, again.Scored = s.Rules, nil
	again.Rows = slices.Clone(r.Rows)
	for i := range again.Rows {
		again.Rows[i].forget()
	}
	counted := 0
	for _, v := range scores {
		if int(v.TaskIndex) >= len(again.Rows) {
			return nil, fmt.Errorf("%s has a rollout of task %d, of %d", filepath.Join(s.Folder, RolloutsFile), v.TaskIndex, len(again.Rows))
		}
		t := &again.Rows[v.TaskIndex]
		if v.Rollout < t.Pilots+t.Continuations {
			counted++
			t.take(v.Rollout, v.Reward())
			again.Scored = append(again.Scored, v.Scorer)
		}
	}
	if counted != again.Rollouts {
		return nil, fmt.Errorf("%s has %d of the %d rollouts that count", filepath.Join(s.Folder, RolloutsFile), counted, again.Rollouts)
	}
	slices.Sort(again.Scored)
	again.Scored = slices.Compact(again.Scored)
	if err := again.estimate(&s.Setup, s.Prior); err != nil {
		return nil, err
	}
	if err := again.passK(s.Setup.PassK, s.Setup.Floor(s.Setup.Design.Pilots), s.Prior); err != nil {
		return nil, err
	}
	if err := s.loseAgain(&again, scores); err != nil {
		return nil, err
	}
	if again.Notes, again.Known = r.measured().Notes, nil; len(s.Setup.Donors) > 0 {
		if err := again.known(&s.Setup); err != nil {
			return nil, err
		}
	}
	return &again, s.rewrite(&again, scores)
}

// rewrite puts verdicts and what they lead to in the place of those that are there.
func (s *Settings) rewrite(r *Result, scores []*rollout.Score) error {
	files, err := recorded(s.Folder, setupFile, RolloutsFile, requestsFile)
	if err != nil {
		return err
	}
	f, err := s.writeScores(all(scores), slices.ContainsFunc(scores, (*rollout.Score).Graded))
	if err != nil {
		return err
	}
	m := manifest.New(s.Footer["speceval.commit"])
	m.Allocation = stagesOf(r)
	return s.finish(m, r, append(files, f))
}

// loseAgain says of new verdicts what losses can have done. Evaluations of versions
// that kept no account of them stay as they are.
func (s *Settings) loseAgain(again *Result, scores []*rollout.Score) error {
	own, _, err := rowfile.ReadFile[Request](filepath.Join(s.Folder, requestsFile))
	if missing := (*rowfile.MissingColumnError)(nil); errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	lost, err := s.Setup.lost(own)
	if err != nil {
		return err
	}
	rewards := make(map[rollout.ID]float64, len(scores))
	for _, v := range scores {
		rewards[v.ID()] = v.Reward()
	}
	return again.lose(lost, func(id rollout.ID) (float64, error) { return rewards[id], nil })
}

// scoreAll scores every answer of rollouts.parquet, in its order.
func (s *Settings) scoreAll(ctx context.Context, atATime int) ([]*rollout.Score, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var scores []*rollout.Score
	var mu sync.Mutex
	var under sync.WaitGroup
	places := make(chan struct{}, max(1, atATime))
	var fault error
	for r, err := range rollout.Responses([]string{filepath.Join(s.Folder, RolloutsFile)}) {
		if err != nil || ctx.Err() != nil {
			fault = err
			break
		}
		at := len(scores)
		mu.Lock()
		scores = append(scores, nil)
		mu.Unlock()
		places <- struct{}{}
		under.Go(func() {
			defer func() { <-places }()
			v, err := s.Score(ctx, r)
			if err == nil {
				err = v.Check()
			}
			if err != nil {
				cancel(fmt.Errorf("score rollout %d of task %s: %w", r.Rollout, display.EscapedLine(r.TaskID), err))
				return
			}
			mu.Lock()
			scores[at] = v
			mu.Unlock()
		})
	}
	under.Wait()
	return scores, errors.Join(fault, context.Cause(ctx))
}

// all is a sequence of what is there.
func all(scores []*rollout.Score) iter.Seq2[*rollout.Score, error] {
	return func(yield func(*rollout.Score, error) bool) {
		for _, v := range scores {
			if !yield(v, nil) {
				return
			}
		}
	}
}
