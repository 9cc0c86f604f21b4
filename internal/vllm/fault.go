package vllm

import (
	"encoding/json"
	"net/http"
	"strings"
)

// longestMessage bounds what is kept of a server's error text, in bytes.
const longestMessage = 1000

// failure is the error object in a body or in an event of a stream:
// {"error": {"message", "type", "param", "code"}}, {"error": "Unauthorized"} of
// vLLM's key check, or {"detail": …} of the framework below it.
type failure struct {
	Error  json.RawMessage `json:"error"`
	Detail json.RawMessage `json:"detail"`
}

// present tells whether there is an error object at all.
func (f *failure) present() bool { return len(f.Error) > 0 && string(f.Error) != "null" }

// describe fills the words of e from the error object.
func (f *failure) describe(e *Error) {
	var object struct {
		Message, Type, Param string
		Code                 json.RawMessage
	}
	raw := f.Error
	if len(raw) == 0 {
		raw = f.Detail
	}
	// A field of an unexpected type is left out, the others still count.
	if json.Unmarshal(raw, &object); object.Message == "" {
		if json.Unmarshal(raw, &object.Message); object.Message == "" {
			object.Message = string(raw)
		}
	}
	e.Message, e.Type, e.Param = clip(object.Message), clip(object.Type), clip(object.Param)
	if e.Status == 0 {
		json.Unmarshal(object.Code, &e.Status) // null or a word leaves 0
	}
}

// event is the failure that an event of a stream with status 200 reports.
func (f *failure) event(url string) *Error {
	e := &Error{URL: url}
	f.describe(e)
	if e.Status == 0 && (strings.HasPrefix(e.Type, "BadRequest") || e.Type == "invalid_request_error") {
		e.Status = http.StatusBadRequest
	}
	e.Kind = kindOf(e.Status, e.Message)
	return e
}

// refusal is the failure that an answer of another status than 200 reports.
func refusal(url string, status int, location string, body []byte) *Error {
	e := &Error{URL: url, Status: status}
	var f failure
	if json.Unmarshal(body, &f) == nil && (f.present() || len(f.Detail) > 0) {
		f.describe(e)
	} else {
		e.Message = clip(strings.TrimSpace(string(body)))
	}
	if location != "" {
		e.Message = "the server says it is at " + clip(location) + ": use that address"
	}
	e.Kind = kindOf(status, e.Message)
	if e.Type == "insufficient_quota" { // 429 as well, and waiting does not help
		e.Kind = Rejected
	}
	return e
}

// clip makes text from a server fit for a message: valid UTF-8, not too long.
func clip(text string) string {
	if len(text) > longestMessage {
		text = text[:longestMessage] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
