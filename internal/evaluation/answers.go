package evaluation

import (
	"fmt"
	"iter"
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

// scored is an answer with its verdict.
type scored struct {
	answer *rollout.Rollout
	score  *rollout.Score
}

// conclude sets what follows from the answers of a result and from its requests. The answers come
// in an order of tasks; every answer that counts must be there. least is of [Setup.Floor].
func (s *Settings) conclude(r *Result, answers iter.Seq2[scored, error], requests []Request, least int) error {
	c := counting{Settings: s, r: r, rewards: make(map[rollout.ID]float64)}
	for a, err := range answers {
		if err != nil {
			return err
		}
		c.add(a.answer, a.score)
	}
	if err := c.end(); err != nil {
		return err
	}
	lost, err := s.Setup.lost(requests)
	if err != nil {
		return err
	}
	r.lose(lost, c.rewards)
	return r.follow(&s.Setup, least, s.Prior)
}

// counting counts the rollouts of a result and their verdicts, task by task.
type counting struct {
	*Settings
	r       *Result
	tally   ending.Tally
	rewards map[rollout.ID]float64 // of the answers that count
	task    int32                  // the last one, and the texts of its answers
	texts   map[string]bool
	vary    bool // the texts of a task differ
}

// add counts a rollout, if it is selected.
func (c *counting) add(a *rollout.Rollout, v *rollout.Score) {
	t := &c.r.Rows[a.TaskIndex]
	if int(a.Rollout) >= t.Rollouts() {
		return
	}
	if c.texts == nil || c.task != a.TaskIndex {
		c.task, c.texts = a.TaskIndex, make(map[string]bool)
	}
	c.texts[a.Reasoning+a.Text] = true
	c.vary = c.vary || len(c.texts) > 1
	c.tallied(&c.tally, a, v)
	if a.CompletionTokens == 0 { // of an answer that was counted there is one at least
		c.r.Tokens.Untold++
	}
	c.r.Tokens.Prompt += int64(a.PromptTokens)
	c.r.Tokens.Completion += int64(a.CompletionTokens)
	t.take(a.Rollout, v.Reward())
	c.rewards[a.ID()] = v.Reward()
	c.r.Scored = append(c.r.Scored, v.Scorer)
}

// end sets what follows from all rollouts, of which none may be missing.
func (c *counting) end() error {
	if len(c.rewards) != c.r.Rollouts {
		return fmt.Errorf("%s has %d of the %d rollouts that count", c.Folder, len(c.rewards), c.r.Rollouts)
	}
	const alike = "every task was answered in the same words each time: the servers take no seeds or do not sample, and the standard error is not one"
	if !c.vary && !slices.Contains(c.r.Notes, alike) {
		c.r.Notes = append(c.r.Notes, alike)
	}
	c.r.answered(&c.tally)
	slices.Sort(c.r.Scored)
	c.r.Scored = slices.Compact(c.r.Scored)
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
