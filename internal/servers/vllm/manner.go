package vllm

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// manner is how a server is spoken to. One is replaced as a whole, never changed.
type manner struct {
	plain   bool   // the server is none of vLLM
	refused Fields // what the server has refused, and is not sent again
	context int    // tokens of prompt and answer, where that is less than was asked for; 0: it is not
}

// Treat sets how the server is spoken to. One that is plain may be none of vLLM: it gets standard
// fields alone, a request that needs another is an error, and its answers may leave out counts of
// tokens, and the [DONE] of a stream. Where the context has fewer tokens than requests ask for,
// answers end with it; 0 where it has not.
func (c *Client) Treat(plain bool, context int) {
	m := manner{plain: plain, context: context}
	if was := c.manner.Load(); was.plain == plain {
		m.refused = was.refused
	}
	c.manner.Store(&m)
}

// Plain reports whether the server is treated as one that may not be vLLM.
func (c *Client) Plain() bool { return c.manner.Load().plain }

// template is more tokens than a chat template has around a question.
const template = 512

// room is the max_tokens of a request. Where the context is shorter than was asked for
// and an answer does not fit in, a server of vLLM is sent none, 0, and fills the context. Of
// another server an answer is asked for that fits in, if each byte of the question is a token.
func (m manner) room(r *Request) int {
	switch {
	case m.context == 0, !m.plain && !r.fill && r.MaxTokens < m.context:
		return r.MaxTokens
	case !m.plain:
		return 0
	}
	prompt := template
	for _, message := range r.Messages {
		prompt += len(message.Content)
	}
	return max(1, min(r.MaxTokens, m.context-prompt))
}

// Fields are fields of a request that are not sent.
type Fields int

// The fields that servers may do without. Those that a user can leave out have a name.
const (
	lengthField      Fields = 1 << iota // max_tokens, in favour of max_completion_tokens
	usageOfStreams                      // by which streams tell their usage
	LeaveSeed                           // the same answers cannot be asked for again
	LeaveTopP                           // counts as the server has it, as the next two
	LeaveTopK                           //
	LeaveTemperature                    //
	LeaveStream                         // answers come whole: one that is lost begins anew
)

// fields are the fields that servers name in a refusal, in the order in which they are left
// out.
var fields = []struct {
	field   Fields
	name    string // for users; "" of what they cannot leave out
	named   *regexp.Regexp
	neutral func(*Request) bool // without it the answers are the same
	said    string              // of what was left out; "" for nothing
}{
	{lengthField, "", regexp.MustCompile(`\bmax_completion_tokens\b`), always, ""},
	{usageOfStreams, "", regexp.MustCompile(`\bstream_options\b`), always, "takes no stream_options, so it may not tell tokens"},
	{LeaveSeed, "seed", regexp.MustCompile(`\bseed\b`), always, "takes no seed, so the same answers cannot be asked for again"},
	{LeaveTopP, "top_p", regexp.MustCompile(`\btop_?p\b`), func(r *Request) bool { return r.TopP == 1 }, "takes no top_p, which is 1 and was left out"},
	{LeaveTopK, "top_k", regexp.MustCompile(`\btop_?k\b`), func(r *Request) bool { return r.TopK == 0 }, "takes no top_k, which is off and was left out"},
	{LeaveTemperature, "temperature", regexp.MustCompile(`\btemperature\b`), func(r *Request) bool { return r.Temperature == 1 }, "takes no temperature, which is 1 and was left out"},
	{LeaveStream, "stream", regexp.MustCompile(`\b[Ss]tream(ing)?\b`), func(*Request) bool { return false }, ""},
}

func always(*Request) bool { return true }

// FieldsNamed are the fields of some names; names without a field count for nothing.
func FieldsNamed(names []string) Fields {
	var all Fields
	for _, f := range fields {
		if f.name != "" && slices.Contains(names, f.name) {
			all |= f.field
		}
	}
	return all
}

// refuses reports whether a server said that it does not take a field of a request.
func (e *Error) refuses(named *regexp.Regexp) bool {
	return (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) && named.MatchString(e.Param+" "+e.Message)
}

// tooLong matches vLLM's refusal of a request that its context is too short for.
var tooLong = regexp.MustCompile("context length")

// learn is how to speak to a server after it refused a request: without a field that it names,
// where the answers are the same without; or, to vLLM, for an answer that fills the context.
func (m manner) learn(r *Request, err error) (after manner, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return m, false
	}
	if m.context > 0 && !m.plain && !r.fill && e.refuses(tooLong) {
		r.fill = true
		return m, true
	}
	for _, f := range fields {
		if (m.refused|r.LeaveOut)&f.field == 0 && f.neutral(r) && (m.plain || f.field >= LeaveTopP) && e.refuses(f.named) {
			m.refused |= f.field
			return m, true
		}
	}
	return m, false
}

// Refused says what of a request the server has turned out not to take: a line each.
func (c *Client) Refused() (lines []string) {
	for _, f := range fields {
		if c.manner.Load().refused&f.field != 0 && f.said != "" {
			lines = append(lines, f.said)
		}
	}
	return lines
}

// String lists the names of the fields.
func (f Fields) String() string {
	var names []string
	for _, one := range fields {
		if f&one.field != 0 && one.name != "" {
			names = append(names, one.name)
		}
	}
	return strings.Join(names, ", ")
}
