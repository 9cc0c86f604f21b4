package evaluation

import (
	"fmt"
	"path/filepath"
	"slices"

	"speceval/internal/servers/ending"
	"speceval/internal/store/rollout"
)

// tallied counts a rollout; v is its verdict, nil if there is none yet.
func (s *Settings) tallied(t *ending.Tally, r *rollout.Rollout, v *rollout.Score) {
	end := ending.Of(r.FinishReason)
	text, closed := ending.AfterThinking(r.Text, end, s.Unparted)
	t.Add(text, closed, len(r.Text)+len(r.Reasoning), end, v == nil || s.Found == nil || s.Found(v.Scorer, v.Answer))
}

// conclude sets what follows from the stored answers of a result, their verdicts in the same order,
// and its requests. Every answer that counts must be there. least is of [Setup.Floor].
func (s *Settings) conclude(r *Result, scores []*rollout.Score, requests []Request, least int) error {
	var tally ending.Tally
	rewards, vary := make(map[rollout.ID]float64), false
	first := make(map[int32]string) // answer of each task
	for a, err := range rollout.Rollouts([]string{filepath.Join(s.Folder, RolloutsFile)}) {
		if err != nil {
			return err
		}
		t := &r.Rows[a.TaskIndex]
		for len(scores) > 0 && scores[0].ID().Compare(a.ID()) < 0 {
			scores = scores[1:]
		}
		if int(a.Rollout) >= t.Rollouts() {
			continue
		}
		if len(scores) == 0 || scores[0].ID() != a.ID() {
			return fmt.Errorf("rollout %d of task %s has no verdict", a.Rollout, t.ID)
		}
		v, text := scores[0], a.Reasoning+a.Text
		if a.Rollout == 0 {
			first[a.TaskIndex] = text
		}
		vary = vary || text != first[a.TaskIndex]
		s.tallied(&tally, a, v)
		if a.CompletionTokens == 0 { // of an answer that was counted there is one at least
			r.Tokens.Untold++
		}
		r.Tokens.Prompt += int64(a.PromptTokens)
		r.Tokens.Completion += int64(a.CompletionTokens)
		t.countReward(a.Rollout, v.Reward())
		rewards[a.ID()] = v.Reward()
		r.Scored = append(r.Scored, v.Scorer)
	}
	if len(rewards) != r.Rollouts {
		return fmt.Errorf("%s has %d of the %d rollouts that count", s.Folder, len(rewards), r.Rollouts)
	}
	const alike = "every task was answered in the same words each time: if the servers take no seeds or do not sample, the standard error is not one"
	if !vary && !slices.Contains(r.Notes, alike) {
		r.Notes = append(r.Notes, alike)
	}
	before, lines := r.Answers.Lines(0), tally.Lines(0)
	if r.Answers = &tally; len(lines) == 0 {
		r.Answers = nil
	}
	r.Notes = slices.DeleteFunc(slices.Clone(r.Notes), func(note string) bool { return slices.Contains(before, note) })
	r.Notes = append(r.Notes, lines...)
	slices.Sort(r.Scored)
	r.Scored = slices.Compact(r.Scored)
	lost, err := s.Setup.lost(requests)
	if err != nil {
		return err
	}
	r.setLosses(lost, rewards)
	return r.follow(&s.Setup, least, s.Prior)
}
