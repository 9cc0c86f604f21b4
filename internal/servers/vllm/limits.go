package vllm

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// limits are what an honest answer to a request can hold at most. Its tokens are bounded
// by max_tokens, and its bytes by its tokens, so that a server that says more than it was
// asked for takes neither memory nor a place in a result.
type limits struct {
	asked  int   // max_tokens of the request
	tokens int   // of the answer, by the server's count or by their ids
	prompt int   // tokens of the prompt, the same
	text   int   // bytes of answer and reasoning together
	whole  int64 // bytes of a line of an answer, and of an event
	stream int64 // bytes of an answer
}

// What a token may take. The longest tokens of GPT-2, cl100k (of which Qwen's vocabulary
// is made) and o200k have 128 bytes, those of Mistral's Tekken 78. JSON writes a byte of
// text as six at most, and an id as twelve; a chunk of a stream repeats names and counts.
// The rest comes once, whatever the tokens are.
const (
	textOfToken   = 256      // bytes on average
	wireOfToken   = 1 << 10  // in JSON, with the token's id, in one piece
	chunkOfToken  = 4 << 10  // in a stream, more
	someText      = 64 << 10 // bytes of text
	someWire      = 1 << 20  // bytes of JSON
	echoOfRequest = 16       // bytes of an answer that a byte of the request may come back as: ids and text of the prompt
	someTemplate  = 64 << 10 // tokens that a server may add to a prompt
	plainExcess   = 16       // tokens beyond max_tokens that other servers than vLLM may count: one that ends an answer, those of a draft
	longestName   = 4 << 10  // bytes of an id, the name of a model and what else a server calls things
)

// limits of an answer to the request, whose body has so many bytes. Of an answer that
// goes on from a prefix they are those of the rest.
func (r *Request) limits(body int, m manner) limits {
	rest := r.MaxTokens
	if m.room(r) == 0 {
		rest = m.context
	}
	if r.Prefix != nil {
		rest -= len(r.Prefix.IDs)
	}
	l := limits{asked: rest, tokens: rest, prompt: body + someTemplate}
	if m.plain {
		l.tokens += plainExcess
	}
	l.text = textOf(l.tokens)
	l.whole = someWire + int64(echoOfRequest*body) + wireOfToken*int64(l.tokens)
	l.stream = l.whole + chunkOfToken*int64(l.tokens)
	return l
}

// textOf is how many bytes a text of so many tokens may have, by a server that counts
// every token.
func textOf(tokens int) int { return someText + textOfToken*tokens }

// check says that an answer has more ids, tokens by its usage, of its prompt as well, or bytes
// of text than it can; nil if it has not.
func (l *limits) check(ids, prompt, tokens, text int) error {
	switch {
	case text > l.text:
		return garbage(fmt.Sprintf("a text of more than %d bytes, where max_tokens is %d", l.text, l.asked))
	case max(ids, tokens) > l.tokens:
		return garbage(fmt.Sprintf("an answer of %d tokens, where max_tokens is %d", max(ids, tokens), l.asked))
	case prompt > l.prompt:
		return garbage(fmt.Sprintf("a prompt of %d tokens, which cannot have more than %d", prompt, l.prompt))
	}
	return nil
}

// tooLong is the error of an answer that does not end.
func (l *limits) tooLong(what string, bytes int64) error {
	return garbage(fmt.Sprintf("%s of more than %d bytes, where max_tokens is %d", what, bytes, l.asked))
}

// slowestToken is how long a token may take on average, once the first has come.
const slowestToken = 3 * time.Second

// pace is how long a token may take on average where a server may be silent for so long.
func pace(silence time.Duration) time.Duration { return max(slowestToken, silence/100) }

// silence ends an answer of which no token is heard for too long, or which takes longer
// than its tokens can. What a server sends besides tokens does not count: empty pieces,
// comments, headers.
//
// A stream of a plain server that has not begun may wait for others, at a server that
// works on a few at a time: until it begins, what the others hear counts as well. A stream
// of vLLM may have to wait for others at any time, since vLLM puts answers off when its
// cache is full.
type silence struct {
	client  *Client
	start   time.Time
	longest time.Duration // without a token
	alone   bool          // once begun, others do not count
	most    int           // tokens that the answer may have

	tokens atomic.Int64 // that were heard
	first  atomic.Int64 // when the first was heard, in nanoseconds after start; 0: none was
	last   atomic.Int64 // when the last was heard
}

// watch is the watch on an answer to a request that is sent now.
func (c *Client) watch(r *Request, now time.Time) *silence {
	m := c.manner.Load()
	return &silence{client: c, start: now, longest: m.idle, alone: m.plain, most: r.MaxTokens}
}

// heard notes how many tokens have come by now.
func (s *silence) heard(now time.Time, tokens int) {
	if int64(tokens) <= s.tokens.Load() {
		return
	}
	s.tokens.Store(int64(tokens))
	at := int64(now.Sub(s.start))
	s.last.Store(at)
	s.first.CompareAndSwap(0, max(at, 1))
	s.client.heard.Store(int64(now.Sub(s.client.born)))
}

// left is how long the answer may go on as it is, and the error of one that may not.
func (s *silence) left() (time.Duration, string) {
	first := s.first.Load() // before the tokens, which are there by then
	now, heard := s.client.options.Clock.Now(), int(s.tokens.Load())
	latest := s.start.Add(time.Duration(s.last.Load()))
	if others := s.client.born.Add(time.Duration(s.client.heard.Load())); others.After(latest) && !(s.alone && heard > 0) {
		latest = others
	}
	silent, late := s.longest-now.Sub(latest), time.Duration(0)
	if first > 0 {
		late = s.longest + time.Duration(s.most)*pace(s.longest) - now.Sub(s.start.Add(time.Duration(first)))
	}
	if first == 0 || heard > 0 && silent < late {
		return silent, fmt.Sprintf("no token came for %v", s.longest)
	}
	return late, fmt.Sprintf("%d tokens, of at most %d: slower than one in %v", heard, s.most, pace(s.longest))
}

func (s *silence) run(ctx context.Context, cancel context.CancelCauseFunc, url string) {
	for {
		left, why := s.left()
		if left <= 0 {
			cancel(&Error{Kind: Idle, URL: url, Message: why})
			return
		}
		if s.client.options.Clock.Sleep(ctx, left) != nil {
			return
		}
	}
}
