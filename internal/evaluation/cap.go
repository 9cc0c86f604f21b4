package evaluation

import (
	"fmt"
	"strings"

	"speceval/internal/evaluation/ledger"
	"speceval/internal/store/rollout"
)

// remember takes in the requests of earlier sessions: what they spent, for progress and the
// ledger of a limit, and answers that had come and are damaged, which are asked for again.
func (e *engine) remember() error {
	rows, err := e.store.rows()
	index := make(map[string]int32, len(e.Setup.TaskIDs))
	for i, id := range e.Setup.TaskIDs {
		index[id] = int32(i)
	}
	for i := range rows {
		q := &rows[i]
		id := rollout.ID{Task: index[q.Task], Rollout: q.Rollout}
		e.store.session = max(e.store.session, q.Session+1)
		e.ended(q)
		if q.State == completed && !e.store.rollouts.Has(id) {
			e.store.partials.Torn(id, true)
		}
		try := ledger.Try{Prompt: int(q.PromptTokens), Prefix: int64(q.PrefixTokens), Void: q.Void, Known: true}
		switch {
		case q.State == completed:
			try.Tokens, try.Answered = int64(q.CompletionTokens), true
		case q.AbortedTokens != nil:
			try.Tokens = int64(*q.AbortedTokens)
		default:
			try.Known = false
		}
		e.ledger.Earlier(id, try)
	}
	return err
}

// tooSmall ends the evaluation, and all requests: its limit on tokens is less than the least.
func (e *engine) tooSmall(least int64) {
	e.stop(&CapError{Setup: &e.Setup, Least: max(least, ledger.Round(float64(e.Setup.Limit()+1))), Folder: e.Folder})
	e.end()
}

// CapError is the end of an evaluation whose limit on tokens is too small for its pilot and
// one more stage. There is no estimate; an evaluation with a larger limit adopts the answers.
type CapError struct {
	Setup   *Setup
	Least   int64 // limit that is enough, as far as is known
	Answers int   // that are there
	Folder  string
}

// Error names both, and says what becomes of the answers.
func (e *CapError) Error() string {
	limit := e.Setup.LimitText(e.Setup.Limit())
	flag, _, _ := strings.Cut(limit, " ")
	_, least, _ := strings.Cut(e.Setup.LimitText(e.Least), " ")
	return fmt.Sprintf("%s is too small for the pilot and one more stage: by the %d answers so far %s is the least that is enough; these stay in %s, and the same command with a larger %s goes on from them", limit, e.Answers, least, e.Folder, flag)
}
