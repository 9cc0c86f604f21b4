package vllm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
)

// lingerWithin is how long a stream may stay open after it said that it is done.
const lingerWithin = time.Second

// Stream asks for a completion in pieces. After every piece that brings
// something seen gets it, on the caller's goroutine; it may be nil. Beside an
// error, or after an abort, the Completion holds what was seen.
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
	watch := silence{clock: c.options.Clock, start: completion.Sent, longest: m.idle}
	if m.plain {
		watch.server, watch.born = &c.heard, c.born
	}
	if watch.longest > 0 {
		go watch.run(ctx, cancel, c.root)
	}
	response, err := c.post(ctx, &r, true)
	if err == nil {
		completion.Software = response.Header.Get("Server")
		a := assembly{request: &r, completion: &completion, clock: c.options.Clock, seen: seen, watch: &watch, plain: m.plain}
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

	walker          walker
	chunk           answer // the last
	text, reasoning strings.Builder
	counted         bool // a usage came
}

// assemble reads a stream, with a buffer that other streams have used.
func (c *Client) assemble(a *assembly, body io.Reader) error {
	events := c.streams.Get().(*events)
	defer func() {
		events.restart(nil)
		if len(events.buffer)+cap(events.data) < 1<<20 { // memory of one that was very large goes
			c.streams.Put(events)
		}
	}()
	return a.read(events, body)
}

func (a *assembly) read(events *events, body io.Reader) error {
	limited := &io.LimitedReader{R: body, N: largestAnswer}
	events.restart(limited)
	err := a.chunks(events)
	a.completion.Text, a.completion.Reasoning = a.text.String(), a.reasoning.String()
	if a.plain && err == io.EOF && limited.N > 0 {
		err = nil // other servers may end a stream without [DONE], by its finish_reason
	}
	switch {
	case errors.Is(err, errLongLine):
		return &Error{Kind: Garbage, Message: fmt.Sprintf("an event of more than %d MiB", longestLine>>20)}
	case err == io.EOF && limited.N <= 0:
		return &Error{Kind: Garbage, Message: fmt.Sprintf("an answer of more than %d MiB", largestAnswer>>20)}
	case err == io.EOF:
		return &Error{Kind: Cut, Message: "the stream ended without [DONE]"}
	case err != nil:
		if e := (*Error)(nil); errors.As(err, &e) {
			return err
		}
		return &Error{Kind: Cut, Message: "the stream broke", Err: err}
	case a.completion.Finish == "":
		return &Error{Kind: Cut, Message: "the stream ended without a finish_reason"}
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
		if string(data) == "[DONE]" {
			return nil
		}
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
	a.text.WriteString(chunk.text)
	a.reasoning.WriteString(chunk.reasoning)
	before := len(into.TokenIDs)
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
	a.watch.heard(now, !into.First.IsZero())
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

// silence ends a stream on which nothing is heard for too long. One that has not
// begun may wait for others at a server that works on a few at a time: until it
// begins, what the others hear counts as well.
type silence struct {
	clock   clock.Clock
	start   time.Time
	longest time.Duration
	last    atomic.Int64 // when something was heard, in nanoseconds after start
	begun   atomic.Bool  // a token was heard

	server *atomic.Int64 // when anybody heard something, in nanoseconds after born; nil: others do not count
	born   time.Time
}

func (s *silence) heard(now time.Time, begun bool) {
	s.last.Store(int64(now.Sub(s.start)))
	if s.server != nil {
		s.begun.Store(begun)
		s.server.Store(int64(now.Sub(s.born)))
	}
}

// latest is when something was heard that counts, or the start.
func (s *silence) latest() time.Time {
	own := s.start.Add(time.Duration(s.last.Load()))
	if s.server == nil || s.begun.Load() {
		return own
	}
	if others := s.born.Add(time.Duration(s.server.Load())); others.After(own) {
		return others
	}
	return own
}

func (s *silence) run(ctx context.Context, cancel context.CancelCauseFunc, url string) {
	for {
		left := s.longest - s.clock.Now().Sub(s.latest())
		if left <= 0 {
			cancel(&Error{Kind: Idle, URL: url, Message: fmt.Sprintf("nothing came for %v", s.longest)})
			return
		}
		if s.clock.Sleep(ctx, left) != nil {
			return
		}
	}
}
