package vllm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// continuation is an answer that goes on from its prefix.
type continuation struct {
	client  *Client
	request Request // with the prefix as it came
	seen    func(Piece)

	now        Prefix // as far as the answer is
	marks      marks
	separator  separator
	completion Completion
	watch      *silence // over all that the rest takes
}

// resume asks for the rest of an answer. The rest comes from /v1/completions, to
// a prompt of the very ids that the model would have read had it gone on.
func (c *Client) resume(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	x := continuation{client: c, request: r, seen: seen, now: *r.Prefix, completion: c.blank()}
	x.now.Finish, x.now.IDs = r.Prefix.ended(&r), slices.Clip(r.Prefix.IDs)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.watch = c.watch(&r, x.completion.Sent)
	if x.watch.longest > 0 {
		go x.watch.run(ctx, cancel, c.root)
	}
	err := x.run(ctx)
	x.completion.Finished = c.options.Clock.Now()
	return x.whole(), err
}

// whole is the answer as far as it is, the prefix included.
func (x *continuation) whole() Completion {
	whole := x.completion
	whole.Model = cmp.Or(whole.Model, x.request.Model) // whose answer it was when it began
	whole.PromptIDs, whole.TokenIDs = x.now.PromptIDs, x.now.IDs
	whole.Text, whole.Reasoning, whole.Finish = x.now.Text, x.now.Reasoning, x.now.Finish
	whole.Usage = Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
	return whole
}

func (x *continuation) run(ctx context.Context) error {
	if err := errors.Join(x.request.fault(), x.now.fault()); err != nil {
		return &Error{Kind: Rejected, URL: x.client.root, Message: "not sent", Unsent: true, Err: err}
	}
	if x.now.Finish != "" {
		return nil
	}
	if x.client.Plain() {
		return x.client.notContinued("it may be none of vLLM, and other servers take no prompt of token ids", nil)
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	if err := x.completeCharacter(ctx); err != nil || x.now.Finish != "" {
		return err
	}
	return x.leg(ctx, x.request.MaxTokens, x.hear)
}

// prepare finds out in which part of the answer the prefix ends.
func (x *continuation) prepare(ctx context.Context) error {
	var err error
	if x.marks, err = x.client.marks(ctx, x.request.Model); err != nil {
		return err
	}
	thinking, err := x.now.thinking(x.marks)
	if errors.Is(err, errUnseen) {
		thinking, err = x.client.separates(ctx, x.request)
	}
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	x.separator = separator{marks: x.marks, thinking: thinking}
	return nil
}

// leg asks for tokens until the answer ends or has as many as limit, and gives
// each piece of the rest to hear.
func (x *continuation) leg(ctx context.Context, limit int, hear func(Piece) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, before := x.request, x.now
	r.MaxTokens, r.Prefix, r.TokenIDs = limit, &before, true
	budget, err := before.budget(x.request.ThinkingBudget, x.marks)
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	before.left = budget
	var fault error
	rest, err := x.client.stream(ctx, r, func(p Piece) {
		if fault == nil {
			fault = hear(p)
		}
		if fault != nil {
			cancel(fault)
		}
	})
	x.note(&rest)
	if fault != nil {
		return x.client.blame(fault)
	}
	if err != nil {
		return x.refused(err)
	}
	return x.client.blame(x.check(&before, &rest))
}

// note keeps of a leg what is no part of the answer.
func (x *continuation) note(rest *Completion) {
	into := &x.completion
	into.ID, into.Model = cmp.Or(rest.ID, into.ID), cmp.Or(rest.Model, into.Model)
	into.Fingerprint, into.Software = cmp.Or(rest.Fingerprint, into.Fingerprint), cmp.Or(rest.Software, into.Software)
	if into.First.IsZero() {
		into.First = rest.First
	}
}

// refused tells a server that does not continue from one that fails.
func (x *continuation) refused(err error) error {
	var e *Error
	if errors.As(err, &e) && (e.Kind == Rejected || e.Kind == UnknownModel) {
		return x.client.notContinued("it refuses what would", err)
	}
	return err
}

// check finds out whether the server has read the prefix, and told all of the
// rest.
func (x *continuation) check(before *Prefix, rest *Completion) error {
	read := len(before.PromptIDs) + len(before.IDs)
	switch {
	case len(rest.TokenIDs) != rest.Usage.Completion:
		return garbage(fmt.Sprintf("%d ids of %d tokens", len(rest.TokenIDs), rest.Usage.Completion))
	case rest.Usage.Prompt != read:
		return garbage(fmt.Sprintf("continued %d tokens of a prompt and an answer, and it has read %d", read, rest.Usage.Prompt))
	}
	return nil
}

// hear takes in a piece of the rest, and gives it on as a piece of the whole.
func (x *continuation) hear(p Piece) error {
	answer, reasoning, err := x.separator.split(p.Text, p.IDs)
	if err != nil {
		return x.client.notContinued(err.Error(), nil)
	}
	if most := textOf(x.request.MaxTokens); len(x.now.Text)+len(x.now.Reasoning)+len(answer)+len(reasoning) > most {
		return x.client.blame(garbage(fmt.Sprintf("a text of more than %d bytes, where max_tokens is %d", most, x.request.MaxTokens)))
	}
	x.tell(Piece{IDs: p.IDs, Text: answer, Reasoning: reasoning, Finish: p.Finish})
	x.watch.heard(x.client.options.Clock.Now(), len(x.now.IDs)-len(x.request.Prefix.IDs))
	return nil
}

// tell adds a piece to the whole.
func (x *continuation) tell(p Piece) {
	x.now.Add(p)
	p.Usage = Usage{Prompt: len(x.now.PromptIDs), Completion: len(x.now.IDs), Reasoning: -1}
	if x.seen != nil {
		x.seen(p)
	}
}

// completeCharacter asks for single tokens while the answer ends within a
// character. A server reads the prompt's half of it without having written it,
// and would then write the text of the whole prompt with the first whole
// character: so its text counts from there on only.
func (x *continuation) completeCharacter(ctx context.Context) error {
	h, err := x.client.halfCharacter(ctx, x.request.Model, x.now.all())
	switch {
	case err != nil:
		return x.refused(err)
	case h == nil:
		return nil
	case !h.follows(&x.now):
		return x.client.notContinued("it ends within a character that a special token interrupts", nil)
	}
	for !h.whole && x.now.Finish == "" {
		var p Piece
		err := x.leg(ctx, len(x.now.IDs)+1, func(next Piece) error {
			p.IDs, p.Text, p.Finish = append(p.IDs, next.IDs...), p.Text+next.Text, cmp.Or(p.Finish, next.Finish)
			return nil
		})
		if err != nil {
			return err
		}
		if err := x.single(ctx, h, p); err != nil {
			return err
		}
	}
	return nil
}

// single takes in one token that was asked for within a character. Its text is
// the server's own only in that a token without any is a special one, or leaves
// the character unfinished.
func (x *continuation) single(ctx context.Context, h *half, p Piece) error {
	if p.Finish == "length" && len(x.now.IDs)+len(p.IDs) < x.request.MaxTokens {
		p.Finish = ""
	}
	special := p.Text == ""
	p.Text = ""
	if p.Finish != "stop" {
		text, err := h.add(ctx, p.IDs, special)
		if err != nil {
			return x.refused(err)
		}
		p.Text = text
	}
	return x.hear(p)
}
