package vllm

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

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

// fields are what servers name in a refusal, in the order in which they are left out.
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

// FieldNames are the fields that a user can leave out.
func FieldNames() []string {
	var names []string
	for _, f := range fields {
		if f.name != "" {
			names = append(names, f.name)
		}
	}
	return names
}

// FieldsNamed are the fields of some names; those of no field count for nothing.
func FieldsNamed(names []string) Fields {
	var all Fields
	for _, f := range fields {
		if f.name != "" && slices.Contains(names, f.name) {
			all |= f.field
		}
	}
	return all
}

// refuses reports whether a server said that it does not take a request as it is.
func (e *Error) refuses() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity
}

// leave names the way around the refusal of a field; "" if there is none.
func (e *Error) leave() string {
	if !e.refuses() {
		return ""
	}
	for _, f := range fields {
		if f.name != "" && f.named.MatchString(e.Param+" "+e.Message) {
			return fmt.Sprintf("leave it out by --set sampling.leave_out=%s", f.name)
		}
	}
	return ""
}

// learn is how to speak to a server after a refusal of a request: without a field that
// it names, where the answers are the same without. ok is false if that teaches nothing.
func (m manner) learn(r *Request, err error) (after manner, ok bool) {
	var e *Error
	if !errors.As(err, &e) || !e.refuses() {
		return m, false
	}
	for _, f := range fields {
		if (m.refused|r.LeaveOut)&f.field == 0 && f.neutral(r) && (m.plain || f.field >= LeaveTopP) && f.named.MatchString(e.Param+" "+e.Message) {
			m.refused |= f.field
			return m, true
		}
	}
	return m, false
}

// leaveOut takes fields out of a request.
func (w *wire) leaveOut(left Fields) {
	if left&lengthField != 0 {
		w.MaxTokens, w.Longest = 0, w.MaxTokens
	}
	if left&LeaveSeed != 0 {
		w.Seed = nil
	}
	if left&LeaveTopP != 0 {
		w.TopP = nil
	}
	if left&LeaveTopK != 0 {
		w.TopK = nil
	}
	if left&LeaveTemperature != 0 {
		w.Temperature = nil
	}
}

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
