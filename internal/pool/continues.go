package pool

import (
	"context"
	"errors"
	"fmt"

	"speceval/internal/vllm"
)

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
