package vllm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// manner is how a server is spoken to. One is replaced as a whole, never
// changed.
type manner struct {
	plain   bool          // the server is none of vLLM
	idle    time.Duration // longest silence of a stream; 0: none
	refused Fields        // what the server has refused, and is not sent again
	context int           // tokens of prompt and answer, where that is less than was asked for; 0: it is not
	fill    bool          // the answer is to fill the context
}

// template is more tokens than a chat template has around a question.
const template = 512

// room is the max_tokens of a request. Where the context is shorter than was asked for
// and an answer does not fit in, a server of vLLM is sent none, 0, and fills the context. Of
// another server an answer is asked for that fits in, if each byte of the question is a token.
func (m manner) room(r *Request) int {
	if m.context == 0 {
		return r.MaxTokens
	}
	if !m.plain && (m.fill || r.MaxTokens >= m.context) {
		return 0
	}
	if !m.plain {
		return r.MaxTokens
	}
	prompt := template
	for _, message := range r.Messages {
		prompt += len(message.Content)
	}
	return max(1, min(r.MaxTokens, m.context-prompt))
}

// exceeded reports whether a server of vLLM refused a request for which its context is too short.
func (m manner) exceeded(err error) bool {
	var e *Error
	return m.context > 0 && !m.plain && errors.As(err, &e) && e.refuses() && strings.Contains(e.Message, "context length")
}

// ShortContext has answers end where the server's context of so many tokens does.
func (c *Client) ShortContext(tokens int) {
	m := *c.manner.Load()
	m.context = tokens
	c.manner.Store(&m)
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

// Serves tells whether a name in a server's list of models stands for the one that is asked
// for: see SameModel. Gateways list patterns as well: "*", "openai/*".
func Serves(asked, listed string) bool {
	start, pattern := strings.CutSuffix(listed, "*")
	return SameModel(asked, listed) || pattern && asked != "" && len(asked) > len(start) && strings.HasPrefix(asked, start)
}

// SameModel tells whether a server that names a model means the one that was
// asked for. vLLM names it as it was asked; others may add a publisher in front
// ("publisher/m"), and a version, tag or revision behind ("m-2024-08-06",
// "m:latest", "m@main"). What follows a dash must be digits: m-mini is another.
func SameModel(asked, named string) bool {
	for name := named; ; {
		if len(name) >= len(asked) && asked != "" && strings.EqualFold(name[:len(asked)], asked) && isRevision(name[len(asked):]) {
			return true
		}
		var found bool
		if _, name, found = strings.Cut(name, "/"); !found {
			return false
		}
	}
}

// isRevision tells whether what follows a model's name leaves it the same model.
func isRevision(rest string) bool {
	if rest == "" || rest[0] == ':' || rest[0] == '@' {
		return true
	}
	number, _, _ := strings.Cut(rest[1:], "-")
	return rest[0] == '-' && len(number) >= 3 && strings.Trim(rest, "0123456789-") == ""
}

// answeredBy checks the model that an answer names; "" if it names none. An answer may leave
// out what the name that was asked for has in front or behind: "openai/m", "m:free".
func (r *Request) answeredBy(named string, plain bool) error {
	if named == "" || named == r.Model || plain && (SameModel(r.Model, named) || SameModel(named, r.Model)) {
		return nil
	}
	return &Error{Kind: OtherModel, Message: fmt.Sprintf("asked for the model %q, and %q answered: ask for that one, or serve the other under its name", r.Model, named)}
}
