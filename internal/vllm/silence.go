package vllm

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"speceval/internal/clock"
)

// silence ends a stream on which no token is heard for too long, or which takes longer
// than its tokens can. What a server sends besides tokens does not count: empty pieces,
// comments, headers.
//
// A stream of a plain server that has not begun may wait for others, at a server that
// works on a few at a time: until it begins, what the others hear counts as well. A stream
// of vLLM may have to wait for others at any time, since vLLM puts answers off when its
// cache is full.
type silence struct {
	clock   clock.Clock
	start   time.Time
	longest time.Duration // without a token
	alone   bool          // once begun, others do not count
	most    int           // tokens that the answer may have

	tokens atomic.Int64 // that were heard
	first  atomic.Int64 // when the first was heard, in nanoseconds after start; 0: none was
	last   atomic.Int64 // when the last was heard

	server *atomic.Int64 // when anybody heard something, in nanoseconds after born; nil: others do not count
	born   time.Time
}

// watch is the watch on an answer to a request that is sent now.
func (c *Client) watch(r *Request, now time.Time) *silence {
	m := c.manner.Load()
	return &silence{
		clock: c.options.Clock, start: now, longest: m.idle, alone: m.plain, most: r.MaxTokens,
		server: &c.heard, born: c.born,
	}
}

// whole watches an answer in one piece, of which nothing is heard before its end.
func (s *silence) whole() { s.first.Store(1) }

// heard notes how many tokens have come by now.
func (s *silence) heard(now time.Time, tokens int) {
	if int64(tokens) <= s.tokens.Load() {
		return
	}
	s.tokens.Store(int64(tokens))
	at := int64(now.Sub(s.start))
	s.last.Store(at)
	s.first.CompareAndSwap(0, max(at, 1))
	if s.server != nil {
		s.server.Store(int64(now.Sub(s.born)))
	}
}

// latest is when something was heard that counts, or the start.
func (s *silence) latest() time.Time {
	own := s.start.Add(time.Duration(s.last.Load()))
	if s.server == nil || s.alone && s.tokens.Load() > 0 {
		return own
	}
	if others := s.born.Add(time.Duration(s.server.Load())); others.After(own) {
		return others
	}
	return own
}

// left is how long the stream may go on as it is, and the error of one that may not.
func (s *silence) left() (time.Duration, string) {
	now := s.clock.Now()
	first := s.first.Load()
	silent := s.longest - now.Sub(s.latest())
	if first == 0 {
		return silent, fmt.Sprintf("no token came for %v", s.longest)
	}
	heard, tokens := int(s.tokens.Load()), s.most
	if s.alone && heard > 0 {
		tokens = heard
	}
	took := now.Sub(s.start.Add(time.Duration(first)))
	late := s.longest + time.Duration(tokens)*pace(s.longest) - took
	if heard > 0 && silent < late {
		return silent, fmt.Sprintf("no token came for %v", s.longest)
	}
	return late, fmt.Sprintf("%d tokens in %v, of at most %d: slower than one in %v", heard, took.Round(time.Second), s.most, pace(s.longest))
}

func (s *silence) run(ctx context.Context, cancel context.CancelCauseFunc, url string) {
	for {
		left, why := s.left()
		if left <= 0 {
			cancel(&Error{Kind: Idle, URL: url, Message: why})
			return
		}
		if s.clock.Sleep(ctx, left) != nil {
			return
		}
	}
}
