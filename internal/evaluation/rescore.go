package evaluation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"speceval/internal/display"
	"speceval/internal/rollout"
)

// Rescore scores the answers of a complete evaluation again, atATime at a time,
// and writes the result that follows. The allocation stays as it was: that other
// verdicts led to it costs precision at most, since continuations are fresh
// rollouts whatever decided on their number. s needs no servers. The answers must be as
// they were made.
func Rescore(ctx context.Context, s Settings, was *Stored, atATime int) (*Result, error) {
	if err := was.Needs(RolloutsFile, RequestsFile); err != nil {
		return nil, err
	}
	scores, err := s.scoreAll(ctx, atATime)
	if err != nil {
		return nil, err
	}
	again := *was.Result
	again.Rules, again.Scored, again.Rows, again.Notes = s.Rules, nil, slices.Clone(again.Rows), again.ownNotes()
	again.Tokens.Prompt, again.Tokens.Completion, again.Tokens.Untold = 0, 0, 0
	for i := range again.Rows {
		again.Rows[i].forget()
	}
	if err := s.countAgain(&again, scores); err != nil {
		return nil, err
	}
	if err := again.follow(&s.Setup, s.Setup.Floor(s.Setup.Design.Pilots), s.Prior); err != nil {
		return nil, err
	}
	return &again, s.rewrite(was.manifest, &again, scores)
}

// countAgain counts the stored rollouts by new verdicts, in one order, and what losses can have
// done.
func (s *Settings) countAgain(again *Result, scores []*rollout.Score) error {
	c, k := counting{Settings: s, r: again}, 0
	rewards := make(map[rollout.ID]float64, len(scores))
	for a, err := range rollout.Rollouts([]string{filepath.Join(s.Folder, RolloutsFile)}) {
		if err != nil {
			return err
		}
		c.add(a, scores[k])
		rewards[a.ID()] = scores[k].Reward()
		k++
	}
	if err := c.end(); err != nil {
		return err
	}
	own, err := readRequests(s.Folder)
	if err != nil {
		return err
	}
	lost, err := s.Setup.lost(own)
	if err != nil {
		return err
	}
	return again.lose(lost, func(id rollout.ID) (float64, error) { return rewards[id], nil })
}

// ownNotes are the notes but for those about donors.
func (r *Result) ownNotes() []string {
	if r.Known == nil {
		return slices.Clone(r.Notes)
	}
	return slices.Clone(r.Notes[:max(0, len(r.Notes)-len(r.Known.warnings()))])
}

// rewrite puts verdicts, and what they lead to, in the place of the ones that are there, and
// removes the page first: a kill leaves none beside other numbers.
func (s *Settings) rewrite(was *manifest, r *Result, scores []*rollout.Score) error {
	if err := os.RemoveAll(filepath.Join(s.Folder, PageFile)); err != nil {
		return err
	}
	now := newManifest(s.Footer["speceval.commit"])
	for _, name := range []string{setupFile, RolloutsFile, RequestsFile} {
		now.Files = append(now.Files, was.records(name)...)
	}
	return now.replace(s.Folder, was, s.scored(r, all(scores), slices.ContainsFunc(scores, (*rollout.Score).Graded)))
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
