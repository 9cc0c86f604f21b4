package evaluation

import (
	"path/filepath"
	"slices"

	"speceval/internal/ending"
	"speceval/internal/rollout"
)

// tallied counts a rollout; v is its verdict, nil if there is none yet.
func (s *Settings) tallied(t *ending.Tally, r *rollout.Rollout, v *rollout.Score) {
	end := ending.Of(r.FinishReason)
	text, closed := ending.AfterThinking(r.Text, end, s.Unparted)
	t.Add(text, closed, len(r.Text)+len(r.Reasoning), end, v == nil || s.Found == nil || s.Found(v.Scorer, v.Answer))
}

// answered sets the counts of the answers that count, and says in the notes what is not
// whole, in place of what they said of the counts before.
func (r *Result) answered(t *ending.Tally) {
	before, lines := r.Answers.Lines(0), t.Lines(0)
	if r.Answers = t; len(lines) == 0 {
		r.Answers = nil
	}
	r.Notes = slices.DeleteFunc(slices.Clone(r.Notes), func(note string) bool { return slices.Contains(before, note) })
	r.Notes = append(r.Notes, lines...)
}

// answeredAgain is answered by the stored rollouts and their new verdicts, in one order.
func (s *Settings) answeredAgain(r *Result, scores []*rollout.Score) error {
	var t ending.Tally
	for a, err := range rollout.Rollouts([]string{filepath.Join(s.Folder, RolloutsFile)}) {
		if err != nil {
			return err
		}
		if row := &r.Rows[a.TaskIndex]; a.Rollout < row.Pilots+row.Continuations {
			s.tallied(&t, a, scores[0])
		}
		scores = scores[1:]
	}
	r.answered(&t)
	return nil
}

// early is how many answers an evaluation has when it is warned of empty ones.
const early = 16

// warnOfEmpty tells the user, when the first answers are in, that many are empty.
func (e *engine) warnOfEmpty(r *rollout.Rollout) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tallied(&e.tally, r, nil); e.tally.All == early && e.tally.Empty >= early/4 {
		e.say("warning: of the first answers, " + e.tally.Lines(0)[0])
	}
}
