package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sync"

	"speceval/internal/display"
	"speceval/internal/rollout"
	"speceval/internal/store/atomicfile"
	"speceval/internal/store/rowfile"
)

// Rescore scores the answers of a complete evaluation again, atATime at a time,
// and writes the result that follows. The allocation stays as it was: that other
// verdicts led to it costs precision at most, since continuations are fresh
// rollouts whatever decided on their number. s needs no servers. The answers must be as
// they were made.
func Rescore(ctx context.Context, s Settings, was *Stored, atATime int) (*Result, error) {
	r := was.Result
	if err := was.Needs(RolloutsFile, RequestsFile); err != nil {
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
		if v.TaskIndex < 0 || int(v.TaskIndex) >= len(again.Rows) {
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
	again.Notes = r.ownNotes()
	if err := s.answeredAgain(&again, scores); err != nil {
		return nil, err
	}
	if err := again.known(&s.Setup); err != nil {
		return nil, err
	}
	return &again, s.rewrite(was.manifest, &again, scores)
}

// ownNotes are the notes but for those about donors.
func (r *Result) ownNotes() []string {
	if r.Known == nil {
		return slices.Clone(r.Notes)
	}
	return slices.Clone(r.Notes[:max(0, len(r.Notes)-len(r.Known.warnings()))])
}

// rewrite puts verdicts, and what they lead to, in the place of the ones that are there. Until
// all are, the manifest has the records of both.
func (s *Settings) rewrite(was *manifest, r *Result, scores []*rollout.Score) error {
	parts := []struct {
		name  string
		write func(io.Writer) error
	}{
		{ScoresFile, s.scoresWriter(all(scores), slices.ContainsFunc(scores, (*rollout.Score).Graded))},
		{tasksFile, s.tasksWriter(r)},
		{ResultFile, func(w io.Writer) error { return atomicfile.EncodeJSON(w, r) }},
	}
	now := newManifest(s.Footer["speceval.commit"])
	for _, name := range []string{setupFile, RolloutsFile, RequestsFile} {
		now.Files = append(now.Files, was.records(name)...)
	}
	for _, p := range parts {
		now.Former = append(now.Former, was.records(p.name)...)
		f, err := recordOf(p.name, p.write)
		if err != nil {
			return err
		}
		now.Files = append(now.Files, f)
	}
	if err := now.write(s.Folder); err != nil {
		return err
	}
	for _, p := range parts {
		if err := atomicfile.Write(filepath.Join(s.Folder, p.name), p.write); err != nil {
			return err
		}
	}
	now.Former = nil
	return now.write(s.Folder)
}

// loseAgain says of new verdicts what losses can have done.
func (s *Settings) loseAgain(again *Result, scores []*rollout.Score) error {
	own, _, err := rowfile.ReadFile[Request](filepath.Join(s.Folder, RequestsFile))
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
