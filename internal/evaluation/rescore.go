package evaluation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"

	"speceval/internal/evaluation/manifest"
	"speceval/internal/rollout"
	"speceval/internal/rowfile"
	"speceval/internal/shown"
)

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
				cancel(fmt.Errorf("score rollout %d of task %s: %w", r.Rollout, shown.Line(r.TaskID), err))
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
