package vllm

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// manner is how a server is spoken to. One is replaced as a whole, never
// changed.
type manner struct {
	plain   bool          // the server is none of vLLM
	idle    time.Duration // longest silence of a stream; 0: none
	refused field         // what a plain server has refused, and is not sent again
}

// field is a set of fields that a plain server may do without.
type field int

const (
	lengthField      field = 1 << iota // max_tokens, in favour of max_completion_tokens
	streamField                        // stream_options, by which streams tell their usage
	seedField                          //
	topPField                          // of 1, which is no top_p at all
	temperatureField                   // of 1, which is that of the model
)

// fields are what servers name in a refusal, in the order in which they are left out.
var fields = []struct {
	field field
	named *regexp.Regexp
	said  string // to a user; "" for nothing
}{
	{lengthField, regexp.MustCompile(`\bmax_completion_tokens\b`), ""},
	{streamField, regexp.MustCompile(`\bstream_options\b`), "takes no stream_options, so it may not tell tokens"},
	{seedField, regexp.MustCompile(`\bseed\b`), "takes no seed, so the same answers cannot be asked for again"},
	{topPField, regexp.MustCompile(`\btop_p\b`), "takes no top_p, which is 1 and was left out"},
	{temperatureField, regexp.MustCompile(`\btemperature\b`), "takes no temperature, which is 1 and was left out"},
}

// leaveOut takes out of a request what was refused. Of the seed it leaves the last 31 bits:
// servers keep it in a float64 or in 32 bits, of which all ones may stand for none.
func (m manner) leaveOut(r *Request, w *wire) {
	seed := r.Seed & (1<<31 - 1)
	if w.Seed = &seed; m.refused&seedField != 0 {
		w.Seed = nil
	}
	if m.refused&lengthField != 0 {
		w.MaxTokens, w.Longest = 0, r.MaxTokens
	}
	if m.refused&topPField != 0 && r.TopP == 1 {
		w.TopP = nil
	}
	if m.refused&temperatureField != 0 && r.Temperature == 1 {
		w.Temperature = nil
	}
}

// learn is how to speak to a server after a refusal of a request; ok is false if that
// teaches nothing.
func (m manner) learn(r *Request, err error) (after manner, ok bool) {
	var e *Error
	if !m.plain || !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return m, false
	}
	for _, f := range fields {
		matters := f.field == topPField && r.TopP != 1 || f.field == temperatureField && r.Temperature != 1
		if m.refused&f.field == 0 && !matters && f.named.MatchString(e.Param+" "+e.Message) {
			m.refused |= f.field
			return m, true
		}
	}
	return m, false
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
	for _, f := range fields {
		if c.manner.Load().refused&f.field != 0 && f.said != "" {
			lines = append(lines, f.said)
		}
	}
	return lines
}

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
