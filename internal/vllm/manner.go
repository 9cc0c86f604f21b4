package vllm

import (
	"errors"
	"net/http"
	"regexp"
	"time"
)

// manner is how a server is spoken to. One is replaced as a whole, never
// changed.
type manner struct {
	plain bool          // the server is none of vLLM
	idle  time.Duration // longest silence of a stream; 0: none

	// What a plain server has refused, and is not sent again.
	renamed   bool // max_tokens, in favour of max_completion_tokens
	seedless  bool // seed
	uncounted bool // stream_options, by which streams tell their usage
}

// TreatAsPlain speaks to the server as to one that may be none of vLLM. It gets
// standard fields alone; a request that needs another is an error. What many
// servers leave out of an answer may be missing: counts of tokens, and the
// [DONE] of a stream. A stream that has begun may be silent for idle; one that
// has not, while the server says nothing to others either. 0 is no limit.
func (c *Client) TreatAsPlain(idle time.Duration) {
	if m := c.manner.Load(); !m.plain || m.idle != idle {
		c.manner.Store(&manner{plain: true, idle: idle})
	}
}

// TreatAsVLLM speaks to the server as New's client does without Options.Plain.
func (c *Client) TreatAsVLLM() {
	if c.manner.Load().plain {
		c.manner.Store(&manner{idle: c.options.Idle})
	}
}

// Plain tells whether the server is treated as one that may be none of vLLM.
func (c *Client) Plain() bool { return c.manner.Load().plain }

// Refused says what of a request the server has turned out not to take, so that
// it is not sent: a line each.
func (c *Client) Refused() []string {
	var lines []string
	m := c.manner.Load()
	if m.seedless {
		lines = append(lines, "takes no seed, so the same answers cannot be asked for again")
	}
	if m.uncounted {
		lines = append(lines, "takes no stream_options, so it may not tell tokens")
	}
	return lines
}

// fields are the names of fields, in what a server says of a request, that a
// plain server may do without.
var fields = map[string]*regexp.Regexp{
	"max_completion_tokens": regexp.MustCompile(`\bmax_completion_tokens\b`),
	"stream_options":        regexp.MustCompile(`\bstream_options\b`),
	"seed":                  regexp.MustCompile(`\bseed\b`),
}

// learn is how to speak to a server after a refusal; ok is false if that
// teaches nothing.
func (m manner) learn(err error) (after manner, ok bool) {
	var e *Error
	if !m.plain || !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return m, false
	}
	after = m
	switch said := e.Param + " " + e.Message; {
	case !m.renamed && fields["max_completion_tokens"].MatchString(said):
		after.renamed = true
	case !m.uncounted && fields["stream_options"].MatchString(said):
		after.uncounted = true
	case !m.seedless && fields["seed"].MatchString(said):
		after.seedless = true
	}
	return after, after != m
}
