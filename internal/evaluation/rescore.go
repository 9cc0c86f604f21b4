package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"speceval/internal/store/rollout"
	"speceval/internal/terminal/display"
	"speceval/method/estimate"
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
	again.Rules, again.Scored, again.Rows, again.Notes = s.Rules, nil, slices.Clone(again.Rows), slices.Clone(again.Notes)
	if k := again.Known; k != nil { // it is known anew, with its notes
		again.Notes = again.Notes[:max(0, len(again.Notes)-len(k.warnings()))]
	}
	again.Suite = slices.Clone(again.Suite)
	again.Tokens.Prompt, again.Tokens.Completion, again.Tokens.Untold = 0, 0, 0
	for i := range again.Rows {
		t := &again.Rows[i]
		t.PilotPasses, t.ContinuationPasses, t.Stages = 0, 0, slices.Clone(t.Stages)
		for k, stage := range t.Stages {
			t.Stages[k] = estimate.Stage{Rollouts: stage.Rollouts, Weight: stage.Weight}
		}
	}
	requests, err := readRequests(s.Folder)
	if err != nil {
		return nil, err
	}
	if err := s.conclude(&again, scores, requests, s.Setup.Floor(s.Setup.Design.Pilots)); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Join(s.Folder, PageFile)); err != nil { // a kill leaves none beside other numbers
		return nil, err
	}
	now := newManifest(s.Commit)
	for _, name := range []string{setupFile, RolloutsFile, RequestsFile} {
		now.Files = append(now.Files, was.manifest.records(name)...)
	}
	return &again, now.replace(s.Folder, was.manifest, s.scored(&again, scores))
}

// scoreAll scores every answer of rollouts.parquet, in its order.
func (s *Settings) scoreAll(ctx context.Context, atATime int) (scores []*rollout.Score, fault error) {
	group, scoring := errgroup.WithContext(ctx)
	group.SetLimit(max(1, atATime))
	for r, err := range rollout.Responses([]string{filepath.Join(s.Folder, RolloutsFile)}) {
		if err != nil || scoring.Err() != nil {
			fault = err
			break
		}
		score := new(rollout.Score)
		scores = append(scores, score)
		group.Go(func() error {
			v, err := s.Score(scoring, r)
			if err == nil {
				err = v.Check()
			}
			if err != nil {
				return fmt.Errorf("score rollout %d of task %s: %w", r.Rollout, display.EscapedLine(r.TaskID), err)
			}
			*score = *v
			return nil
		})
	}
	return scores, cmp.Or(ctx.Err(), errors.Join(fault, group.Wait()))
}
