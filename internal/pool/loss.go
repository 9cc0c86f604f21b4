package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"speceval/internal/vllm"
)

// answer is the answer of a job, through all its tries.
type answer struct {
	seen    func(vllm.Piece) // may be nil
	streams bool             // it is asked for in pieces
	anew    bool             // it has begun anew, and nobody has heard so

	continued, again int           // as in vllm.Completion
	worked           time.Duration // by servers on what is gone on from
	first            time.Time     // when its first token came; zero: not yet
}

// hear passes a piece on.
func (a *answer) hear(p vllm.Piece) {
	if a.anew {
		p.Anew, a.anew = true, false
		a.again++
	}
	if a.seen != nil {
		a.seen(p)
	}
}

// whole notes in a completion what it took.
func (a *answer) whole(c *vllm.Completion, err error) {
	if a.anew && err == nil { // in no piece
		a.again++
	}
	c.Continued, c.Again = a.continued, a.again
	c.Sent = c.Sent.Add(-a.worked)
	if !a.first.IsZero() {
		c.First = a.first
	}
}

// proceed decides how a request is made again that has failed: from what was seen of
// its answer, or from nothing. Its error forbids that.
func (j *job) proceed(ctx context.Context, r *replica, c *vllm.Completion, err error) error {
	var e *vllm.Error
	if ctx.Err() != nil || errors.As(err, &e) && e.Kind.Permanent() && e.Kind != vllm.NotContinued {
		return nil // it is not made again
	}
	had := 0
	if j.request.Prefix != nil {
		had = len(j.request.Prefix.IDs)
	}
	prefix := c.Prefix()
	switch {
	case had > 0 && refuses(prefix, had, err):
	case prefix != nil && j.request.OnLoss != vllm.AskAgain:
		if len(prefix.IDs) > had {
			j.answer.continued++
		}
		j.request.Prefix = prefix
		j.answer.worked += c.Finished.Sub(c.Sent)
		j.answer.first = cmp.Or(j.answer.first, c.First)
		return nil
	case !j.threw(r, c, err):
		return nil
	}
	if j.request.OnLoss == vllm.Refuse {
		return fmt.Errorf("%s: %w: %v", j.name(), vllm.ErrLost, err)
	}
	j.request.Prefix, j.answer.anew = nil, true
	j.answer.worked, j.answer.first = 0, time.Time{}
	return nil
}

// refuses tells whether the server does not go on with an answer of which there were
// so many tokens.
func refuses(now *vllm.Prefix, had int, err error) bool {
	var e *vllm.Error
	return notContinued(err) || errors.As(err, &e) && e.Kind == vllm.Garbage && (now == nil || len(now.IDs) <= had)
}

func notContinued(err error) bool {
	var e *vllm.Error
	return errors.As(err, &e) && e.Kind == vllm.NotContinued
}

// threw tells whether something may have been seen of an answer that is thrown away
// when it begins anew: a text, or that it had not come after a while.
func (j *job) threw(r *replica, c *vllm.Completion, err error) bool {
	if c.Text != "" || c.Reasoning != "" || len(c.TokenIDs) > 0 {
		return true
	}
	if j.answer.streams && !r.Client.Plain() {
		return false // it would have told its first token
	}
	var e *vllm.Error
	return !errors.As(err, &e) || e.Worked()
}
