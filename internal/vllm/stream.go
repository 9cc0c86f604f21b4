package vllm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"speceval/internal/clock"
)

// lingerWithin is how long a stream may stay open after it said that it is done.
const lingerWithin = time.Second

// Stream asks for a completion in pieces. Each piece with content is
// passed to seen, on the caller's goroutine; seen may be nil. After an error or an
// abort, the Completion holds what was received.
//
// A request with a Prefix gets the rest of that answer, and seen its pieces. The
// Completion is that of the whole answer, its tokens, texts and usage; its times
// are those of the rest. It is an answer as one in a single piece would be, by the
// same law. An error of kind NotContinued says why there can be none such.
func (c *Client) Stream(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	if r.Prefix == nil {
		return c.stream(ctx, r, seen)
	}
	if len(r.Prefix.IDs) == 0 && r.Prefix.Finish == "" { // nothing was drawn
		r.Prefix, r.TokenIDs = nil, true
		return c.stream(ctx, r, seen)
	}
	return c.resume(ctx, r, seen)
}

// stream is Stream of what the server itself sends.
func (c *Client) stream(ctx context.Context, r Request, seen func(Piece)) (Completion, error) {
	completion := c.blank()
	m := c.manner.Load()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := c.watch(&r, completion.Sent)
	if watch.longest > 0 {
		go watch.run(ctx, cancel, c.root)
	}
	response, most, err := c.post(ctx, &r, true)
	if err == nil {
		completion.Software = software(response)
		a := assembly{request: &r, completion: &completion, clock: c.options.Clock, seen: seen, watch: watch, plain: m.plain, most: most, hider: c.hider}
		a.chunk.limits = most
		err = c.blame(c.assemble(&a, response.Body))
		if err != nil && ctx.Err() != nil {
			err = c.ended(ctx)
		}
		completion.Finished = c.options.Clock.Now()
		if err == nil {
			c.linger(ctx, cancel, response.Body)
		}
		response.Body.Close()
		return completion, err
	}
	completion.Finished = c.options.Clock.Now()
	return completion, err
}

// linger reads a stream that is done to its end, so that its connection can be
// used again, but not for long.
func (c *Client) linger(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) {
	go func() {
		if c.options.Clock.Sleep(ctx, lingerWithin) == nil {
			cancel(nil)
		}
	}()
	io.Copy(io.Discard, io.LimitReader(body, 64<<10)) // an error costs a connection, no more
}

// assembly puts the chunks of a stream together.
type assembly struct {
	request    *Request
	completion *Completion
	clock      clock.Clock
	seen       func(Piece)
	watch      *silence
	plain      bool
	most       *limits
	hider      *hider

	walker          walker
	chunk           answer // the last
	text, reasoning strings.Builder
	counted         bool // a usage came
	pieces          int  // that have brought something
}

// assemble reads a stream, with a buffer that other streams have used.
func (c *Client) assemble(a *assembly, body io.Reader) error {
	events := c.streams.Get().(*events)
	defer func() {
		events.restart(nil, 0)
		if len(events.buffer)+cap(events.data) < 1<<20 { // memory of one that was very large goes
			c.streams.Put(events)
		}
	}()
	return a.read(events, body)
}

func (a *assembly) read(events *events, body io.Reader) error {
	limited := &io.LimitedReader{R: body, N: a.most.stream}
	events.restart(limited, int(a.most.whole))
	err := a.chunks(events)
	a.completion.Text, a.completion.Reasoning = a.text.String(), a.reasoning.String()
	if a.plain && err == io.EOF && limited.N > 0 {
		err = nil // other servers may end a stream without [DONE], by its finish_reason
	}
	switch {
	case errors.Is(err, errLongLine):
		return a.most.tooLong("an event", a.most.whole)
	case err == io.EOF && limited.N <= 0:
		return a.most.tooLong("an answer", a.most.stream)
	case err == io.EOF:
		return &Error{Kind: Cut, Message: "the stream ended without [DONE]"}
	case err != nil:
		if e := (*Error)(nil); errors.As(err, &e) {
			return err
		}
		return &Error{Kind: Cut, Message: "the stream broke", Err: err}
	case a.completion.Finish == "":
		return &Error{Kind: Cut, Message: "the stream ended without a finish_reason, so that nothing says that the answer is whole"}
	case !a.counted && !a.plain:
		return garbage("no usage")
	}
	return a.completion.fault(a.plain)
}

// chunks reads events up to [DONE].
func (a *assembly) chunks(events *events) error {
	for {
		data, err := events.next()
		if err != nil {
			return err
		}
		data = bytes.TrimSpace(data)
		switch string(data) {
		case "": // to keep the connection alive
			continue
		case "[DONE]":
			return nil
		}
		data = a.hider.answer(data)
		if err := a.chunk.read(&a.walker, data); err != nil {
			return err
		}
		if a.chunk.present() {
			return a.chunk.event("")
		}
		if err := a.add(&a.chunk); err != nil {
			return err
		}
	}
}

func (a *assembly) add(chunk *answer) error {
	into := a.completion
	now := a.clock.Now()
	if chunk.model != into.Model {
		if err := a.request.answeredBy(chunk.model, a.plain); err != nil {
			return err
		}
		into.Model = chunk.model
	}
	into.ID, into.Fingerprint = cmp.Or(chunk.id, into.ID), cmp.Or(chunk.fingerprint, into.Fingerprint)
	if err := a.most.content(a.text.Len() + a.reasoning.Len() + len(chunk.text) + len(chunk.reasoning)); err != nil {
		return err
	}
	a.text.WriteString(chunk.text)
	a.reasoning.WriteString(chunk.reasoning)
	before := len(into.TokenIDs)
	if n := before + len(chunk.tokens); n > a.most.tokens {
		return garbage(fmt.Sprintf("ids of %d tokens, where max_tokens is %d", n, a.most.asked))
	}
	into.TokenIDs = append(into.TokenIDs, chunk.tokens...)
	first := len(chunk.prompt) > 0 && into.PromptIDs == nil
	if first {
		into.PromptIDs = slices.Clone(chunk.prompt)
	}
	into.Finish = cmp.Or(chunk.finish, into.Finish)
	if err := into.count(chunk, a.plain); err != nil {
		return err
	}
	a.counted = a.counted || chunk.counted
	brings := chunk.text != "" || chunk.reasoning != "" || len(chunk.tokens) > 0
	if into.First.IsZero() && (brings || chunk.usage.Completion > 0) {
		into.First = now
	}
	if brings {
		a.pieces++
	}
	a.watch.heard(now, a.progress())
	if a.seen == nil || !brings && !first && !chunk.counted && chunk.finish == "" {
		return nil
	}
	piece := Piece{Usage: into.Usage, IDs: slices.Clip(into.TokenIDs[before:]), Text: chunk.text, Reasoning: chunk.reasoning, Finish: chunk.finish}
	if first {
		piece.PromptIDs = into.PromptIDs
	}
	a.seen(piece)
	return nil
}

// progress is how many tokens have come: as the server counts them or, of one that does
// not, the pieces. Of those no more count than there may be tokens, unless their text is
// too short for so many: servers may send less than a token at a time.
func (a *assembly) progress() int {
	if told := max(a.completion.Usage.Completion, len(a.completion.TokenIDs)); told > 0 {
		return told
	}
	if bytes := a.text.Len() + a.reasoning.Len(); bytes > shortToken*a.most.asked {
		return min(a.pieces, a.most.asked)
	}
	return a.pieces
}

// shortToken is how many bytes of text on average show that a token has come.
const shortToken = 8
