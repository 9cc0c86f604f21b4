package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"speceval/internal/vllm"
)

// resumed is a stream that goes on at another replica, or at the same one again,
// from where it broke.
type resumed struct {
	request vllm.Request
	seen    func(vllm.Piece) // may be nil
	now     vllm.Prefix      // as far as the answer was heard
	heard   bool             // of an answer, be it without ids
	anew    bool             // the next piece begins another answer
}

// resume is a stream of a request, which may have a prefix already.
func resume(r vllm.Request, seen func(vllm.Piece)) *resumed {
	s := &resumed{request: r, seen: seen}
	if r.Prefix != nil {
		s.now, s.heard = *r.Prefix, true
		s.now.IDs = slices.Clip(s.now.IDs)
	}
	return s
}

// send asks one server for the answer, or for the rest of it.
func (s *resumed) send(ctx context.Context, c *vllm.Client) (vllm.Completion, error) {
	for {
		r := s.request
		r.Prefix = s.prefix()
		completion, err := c.Stream(ctx, r, s.hear)
		var e *vllm.Error
		if r.Prefix == nil || !errors.As(err, &e) || e.Kind != vllm.NotContinued {
			return completion, err
		}
		s.now = vllm.Prefix{} // and so the next is another answer
	}
}

// prefix is what there is to go on from; nil if the answer must begin anew.
func (s *resumed) prefix() *vllm.Prefix {
	if len(s.now.PromptIDs) > 0 && len(s.now.IDs) > 0 {
		now := s.now
		now.IDs = slices.Clip(now.IDs)
		return &now
	}
	s.now, s.anew = vllm.Prefix{}, s.heard
	return nil
}

func (s *resumed) hear(p vllm.Piece) {
	p.Anew = s.anew
	s.anew = false
	s.heard = s.heard || len(p.IDs) > 0 || p.Text != "" || p.Reasoning != "" || p.Usage.Completion > 0
	s.now.Add(p)
	if s.seen != nil {
		s.seen(p)
	}
}

// The proof that a replica continues answers: the tokens of an answer that is
// begun, and of the same when it has gone on.
const (
	begunTokens     = 4
	continuedTokens = 8
)

// proveContinuation begins an answer and has it go on from its prefix.
func (p *Pool) proveContinuation(ctx context.Context, c *vllm.Client, need Requirement) error {
	ctx, cancel := p.within(ctx, proofWithin)
	defer cancel()
	r := vllm.Request{
		Model: need.Model, Messages: []vllm.Message{{Role: "user", Content: "Count from one to twenty."}},
		Seed: 1, Temperature: 0.6, TopP: 0.95, MaxTokens: begunTokens,
		TemplateArguments: need.TemplateArguments, IgnoreEOS: true, TokenIDs: true,
	}
	retry := vllm.Retry{Attempts: p.settings.Attempts, Clock: p.settings.Clock}
	return retry.Do(ctx, func(ctx context.Context) error {
		begun, err := c.Stream(ctx, r, nil)
		if err != nil {
			return err
		}
		on := r
		if on.Prefix = begun.Prefix(); on.Prefix == nil {
			return errors.New("it tells no ids of tokens")
		}
		on.Prefix.Finish, on.MaxTokens = "", continuedTokens
		answer, err := c.Stream(ctx, on, nil)
		if err == nil && len(answer.TokenIDs) != continuedTokens {
			err = fmt.Errorf("an answer of %d tokens went on to %d, want %d", begunTokens, len(answer.TokenIDs), continuedTokens)
		}
		return err
	})
}

// continues finds out whether a replica continues answers, and notes why not.
func (p *Pool) continues(ctx context.Context, c *vllm.Client, need Requirement, s *Served) {
	if !need.Continues {
		return
	}
	err := p.proveContinuation(ctx, c, need)
	if s.Continues = err == nil; !s.Continues {
		s.Notes = append(s.Notes, fmt.Sprintf("cannot continue an answer that was lost on the way, which must begin anew: %v", err))
	}
}
