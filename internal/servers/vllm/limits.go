package vllm

import (
	"fmt"
	"sync"
	"time"
)

const (
	largestAnswer = 32 << 20 // bytes of an event or a body, and of a text
	longestName   = 4 << 10  // bytes of an id, the name of a model and a reason to end
	plainExcess   = 16       // tokens beyond max_tokens that other servers than vLLM may count: one that ends an answer, those of a draft
)

// mostTokens is how many tokens an answer to the request may have; of one that continues a prefix,
// the rest.
func (r *Request) mostTokens(m manner) int {
	most := r.MaxTokens
	if m.room(r) == 0 {
		most = m.context
	}
	if r.Prefix != nil {
		most -= len(r.Prefix.IDs)
	}
	if m.plain {
		most += plainExcess
	}
	return most
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
