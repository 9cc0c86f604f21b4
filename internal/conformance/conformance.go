// Package conformance holds what a vLLM server does, as checks that run over
// HTTP against a real one and against the imitation. A check says what it saw in
// a text without times and chance, so that two servers can be compared line by
// line, and fails where the server does what our client does not expect.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"speceval/internal/clock"
)

// Target is a server to be checked. It must have nothing else to do meanwhile.
type Target struct {
	URL       string // such as http://127.0.0.1:8000
	Model     string // as served
	Context   int    // tokens of prompt and answer together
	Sequences int    // running at once, at most
	Thinking  bool   // the prompt ends inside the thinking, and a parser takes it apart
	Key       string // that the server demands; "" none
	KeepAlive time.Duration
	Clock     clock.Clock
	// Kill makes the engine die behind the server; nil where that cannot be done.
	Kill func() error
}

// Observation is what a check saw, in lines.
type Observation string

// ErrSkipped marks a check that cannot be made of this target.
var ErrSkipped = errors.New("skipped")

// Check is one thing that a server does.
type Check struct {
	Name  string // area/what
	About string // what it is good for, in one line
	run   func(context.Context, *session) (Observation, error)
}

// patience is how long a check may take, and a state be waited for.
const patience = time.Minute

// Run makes the check. An error that is ErrSkipped says why it was not made.
func (c Check) Run(ctx context.Context, t *Target) (Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A connection for every request: one that follows a refusal on the same
	// connection may find it closed (connection/after a refusal).
	transport := &http.Transport{DisableKeepAlives: true}
	seen, err := c.run(ctx, &session{Target: t, http: &http.Client{Transport: transport}})
	return Observation(strings.TrimRight(string(seen), "\n")), err
}

// Checks lists all checks, in the order in which they must be made: the last one
// leaves a dead server.
func Checks() []Check {
	var all []Check
	for _, area := range [][]Check{surfaces(), answers(), streams(), thoughts(), continuations(), lengths(), refusals(), aborts(), crowds(), deaths()} {
		all = append(all, area...)
	}
	return all
}

// lines collects an observation.
type lines struct{ text strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(&l.text, format+"\n", args...) }

func (l *lines) seen() Observation { return Observation(l.text.String()) }

// skip is the error of a check that cannot be made.
func skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprintf(format, args...))
}
