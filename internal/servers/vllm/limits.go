package vllm

import (
	"fmt"
	"sync"
	"time"
)

// limits bound an honest answer to a request. Its tokens are bounded by max_tokens, and by
// these the memory that it takes: the text that is kept, and the event that is read.
type limits struct {
	plain  bool
	asked  int // max_tokens of the request
	tokens int // of the answer, by the server's count or by their ids
	prompt int // tokens of the prompt, the same
	event  int // bytes of a line of the body, and of an event
}

// Sizes of a token, and of an answer besides. The longest tokens of cl100k (the base of
// Qwen's vocabulary) and o200k have 128 bytes. JSON writes a byte of text as six at most,
// and an id as twelve.
const (
	textOfToken   = 256      // bytes on average
	eventOfToken  = 1 << 10  // bytes of JSON, with its id, in one piece
	someText      = 64 << 10 // bytes of text
	someWire      = 1 << 20  // bytes of JSON
	echoOfRequest = 16       // bytes of an answer that a byte of the request may come back as: ids and text of the prompt
	someTemplate  = 64 << 10 // tokens that a server may add to a prompt
	plainExcess   = 16       // tokens beyond max_tokens that other servers than vLLM may count: one that ends an answer, those of a draft
	longestName   = 4 << 10  // bytes of an id, the name of a model and a reason to end
)

// limits returns the limits of an answer to the request, whose body has the given bytes. For
// an answer that continues a prefix they are the limits of the rest.
func (r *Request) limits(body int, m manner) limits {
	rest := r.MaxTokens
	if m.room(r) == 0 {
		rest = m.context
	}
	if r.Prefix != nil {
		rest -= len(r.Prefix.IDs)
	}
	l := limits{plain: m.plain, asked: rest, tokens: rest, prompt: body + someTemplate}
	if m.plain {
		l.tokens += plainExcess
	}
	l.event = someWire + echoOfRequest*body + eventOfToken*l.tokens
	return l
}

// textOf is the number of bytes that a text of the given tokens may have.
func textOf(tokens int) int { return someText + textOfToken*tokens }

// check says that an answer has more ids, tokens by its usage, of its prompt as well, or bytes
// of text than it can; nil if it has not.
func (l *limits) check(ids, prompt, tokens, text int) error {
	switch most := textOf(l.tokens); {
	case text > most:
		return garbage("a text of more than %d bytes, where max_tokens is %d", most, l.asked)
	case max(ids, tokens) > l.tokens:
		return garbage("an answer of %d tokens, where max_tokens is %d", max(ids, tokens), l.asked)
	case prompt > l.prompt:
		return garbage("a prompt of %d tokens, which cannot have more than %d", prompt, l.prompt)
	}
	return nil
}

// slowestToken is how long a token of an answer that comes whole may take on average. Where a
// server may be silent for longer than 100 of these, it is a hundredth of that.
const slowestToken = 3 * time.Second

// silence ends an answer when no token of it arrives for too long. One that comes whole has the
// time of its tokens as well.
//
// A stream may wait for others until it begins: what these hear counts as well. One of vLLM may at
// any time, since vLLM puts answers off when its cache is full.
type silence struct {
	client *Client
	whole  int // tokens of an answer that is heard at its end alone; 0 for a stream
	mu     sync.Mutex
	tokens int       // that were heard
	last   time.Time // when the last was, or the request
}

// heard notes how many tokens have come by now.
func (s *silence) heard(now time.Time, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tokens <= s.tokens {
		return
	}
	if s.tokens = tokens; s.whole == 0 {
		s.last = now
	}
	s.client.heard.Store(int64(now.Sub(s.client.born)))
}

// left is how long the answer may take from now on, and the error of one that takes longer.
func (s *silence) left() (time.Duration, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, now, latest := s.client, s.client.options.Clock.Now(), s.last
	longest := c.options.Idle
	if s.whole > 0 {
		pace := max(slowestToken, longest/100)
		return longest + time.Duration(s.whole)*pace - now.Sub(latest), fmt.Sprintf("no answer in the time of %d tokens, %v each", s.whole, pace)
	}
	if others := c.born.Add(time.Duration(c.heard.Load())); others.After(latest) && !(c.Plain() && s.tokens > 0) {
		latest = others
	}
	return longest - now.Sub(latest), fmt.Sprintf("no token came for %v", longest)
}
