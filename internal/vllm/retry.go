package vllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"speceval/internal/clock"
	"speceval/internal/display"
	"speceval/internal/seed"
)

// Retry tries something again that failed on a server's side, after waiting
// First, then twice as long each time, up to Most; of each wait a random half
// is left out, so that callers who failed together do not return together. A
// server that says how long it wants to be left alone is left alone so long.
type Retry struct {
	Attempts int           // in all; less than 1 counts as 1
	First    time.Duration // 0: 250 ms
	Most     time.Duration // 0: 30 s
	Clock    clock.Clock   // nil: clock.Wall
	Seed     int64         // of the random halves
	// Report hears of every failure that is followed by another attempt; it may
	// be nil.
	Report func(attempt int, err error, wait time.Duration)
}

// Do calls f until it succeeds, fails for good, or has been tried Attempts
// times, and returns its last error. An error fails for good if it is no *Error
// or its kind is permanent. Nothing is tried after ctx has ended.
func (r Retry) Do(ctx context.Context, f func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Kind.Permanent() || ctx.Err() != nil {
			return err
		}
		if attempt >= r.Attempts {
			if attempt > 1 {
				err = fmt.Errorf("%d attempts: %w", attempt, err)
			}
			return err
		}
		wait := max(r.wait(attempt), e.Later)
		if r.Report != nil {
			r.Report(attempt, err, wait)
		}
		if ended := r.clock().Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("%w, while waiting to try again after: %v", ended, err)
		}
	}
}

// longestLater bounds what a server may ask for.
const longestLater = 10 * time.Minute

// later is how long a server wants to be left alone, by the header of an answer:
// Retry-After in seconds or as a date, or the field in milliseconds that some
// services send next to it. 0 if the answer has neither.
func later(h http.Header, now time.Time) time.Duration {
	var wait time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		wait = time.Duration(min(s, 1e6) * float64(time.Second))
	} else if date, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), longestLater)
}

func (r Retry) clock() clock.Clock {
	if r.Clock == nil {
		return clock.Wall{}
	}
	return r.Clock
}

// wait is the time between an attempt, counted from 1, and the next.
func (r Retry) wait(attempt int) time.Duration {
	first, most := r.First, r.Most
	if first == 0 {
		first = 250 * time.Millisecond
	}
	if most == 0 {
		most = 30 * time.Second
	}
	whole := min(first, most)
	for range attempt - 1 {
		if whole > most/2 {
			whole = most
			break
		}
		whole *= 2
	}
	stream := seed.Root(uint64(r.Seed)).Child("retry").Index(attempt).Stream()
	return whole - time.Duration(stream.Float64()*float64(whole)/2)
}

// Kind is a way in which a server fails, as far as callers must tell them apart.
type Kind int

// The kinds, in no order that matters.
const (
	// Unreachable: no answer began. Refused, reset, no such host.
	Unreachable Kind = iota + 1
	// Unauthorized: the key is wrong or missing (401, 403).
	Unauthorized
	// UnknownModel: the server serves no such model or path (404).
	UnknownModel
	// Rejected: the request is wrong (other 4xx, also inside a stream), or was
	// not fit to be sent.
	Rejected
	// EngineDead: the HTTP side is up and the engine behind it is not.
	EngineDead
	// ServerFault: any other failure of the server (5xx, also inside a stream),
	// or its wish to be asked later (408, 425, 429).
	ServerFault
	// Cut: the answer began and did not come to its end.
	Cut
	// Idle: nothing came for longer than allowed.
	Idle
	// OtherModel: another model answered than was asked for.
	OtherModel
	// Garbage: what came is no answer. Not JSON, not UTF-8, no choices, no
	// usage or an impossible one, or too large.
	Garbage
	// NotContinued: the answer cannot go on from its prefix with the law of a
	// whole one, at this server or as it is. It can be begun anew.
	NotContinued
	// UnknownEnd: the answer ended for a reason that speceval does not know, and may be
	// whole or cut.
	UnknownEnd
)

// String is the kind in words, for messages.
func (k Kind) String() string {
	switch k {
	case Unreachable:
		return "unreachable"
	case Unauthorized:
		return "key refused"
	case UnknownModel:
		return "not found"
	case Rejected:
		return "request rejected"
	case EngineDead:
		return "engine dead"
	case ServerFault:
		return "server fault"
	case Cut:
		return "answer cut short"
	case Idle:
		return "silent"
	case OtherModel:
		return "another model"
	case Garbage:
		return "not an answer"
	case NotContinued:
		return "answer not continued"
	case UnknownEnd:
		return "unknown end of an answer"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Permanent tells whether asking again is useless.
func (k Kind) Permanent() bool {
	return k == Unauthorized || k == UnknownModel || k == Rejected || k == OtherModel || k == NotContinued || k == UnknownEnd
}

// Error is a failure of a server, or of a request to it. All methods of Client
// return it, except that a request whose context ended returns the context's
// error instead.
type Error struct {
	Kind    Kind
	URL     string // of the server
	Status  int    // of HTTP, or of the error inside a stream; 0 if there was none
	Type    string // the server's name for the error, such as "BadRequestError"
	Message string // in the server's words, or ours
	Param   string // the field of the request that is wrong, if the server tells
	Unsent  bool   // the server cannot have had the request
	// Later is how long the server wants to be left alone before it is asked
	// again; 0 if it does not say.
	Later time.Duration
	Err   error // the cause, if there is one
}

// Error is one line that names the server, the failure and what to look at. What a server
// says is escaped in it.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.URL, e.Kind)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Kind == Unauthorized {
		b.WriteString(": give the key that the server was started with")
	}
	return display.EscapedLine(b.String())
}

// Limited tells whether the server is well and takes no more requests for now.
func (e *Error) Limited() bool {
	return e.Kind == ServerFault && (e.Status == http.StatusTooManyRequests || e.Later > 0)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrNotOffered is the cause of an error about something that this server does
// not do as it was started.
var ErrNotOffered = errors.New("not offered by this server")

// kindOf classifies a status of HTTP, or the code of an error in a stream.
func kindOf(status int, message string) Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Unauthorized
	case status == http.StatusNotFound:
		return UnknownModel
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		return ServerFault
	case status >= 300 && status < 500, status == http.StatusNotImplemented:
		return Rejected
	case strings.Contains(message, "EngineCore") || strings.Contains(message, "EngineDead"):
		return EngineDead
	}
	return ServerFault
}

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

// OnLoss is what to do about an answer that is lost while it comes in: its replica
// dies, its connection is cut, the process that asked is killed.
type OnLoss int

// The rules. An answer of which a server has told nothing, though it would have, is
// asked for again under each.
const (
	// Continue goes on from what has been seen, and asks again where no server can.
	Continue OnLoss = iota
	// AskAgain never goes on: for servers that repeat an answer by its seed.
	AskAgain
	// Refuse goes on, and fails where no server can.
	Refuse
)

// ErrLost: an answer was lost while it came in, no server continues it, and the rule
// is Refuse.
var ErrLost = errors.New("an answer was lost under way, of which something was seen or may have been, and cannot be continued")

// onLoss are the names of the rules.
var onLoss = [...]string{Continue: "continue", AskAgain: "again", Refuse: "refuse"}

func (o OnLoss) String() string { return onLoss[o] }

// ParseOnLoss is the rule of a name.
func ParseOnLoss(name string) (OnLoss, error) {
	for o, n := range onLoss {
		if n == name {
			return OnLoss(o), nil
		}
	}
	return 0, fmt.Errorf("%q: want one of %s", name, strings.Join(onLoss[:], ", "))
}

// Worked tells whether the server may have worked on the answer before it failed, so
// that the failure may tell something of the answer: that it was long, say.
func (e *Error) Worked() bool {
	switch {
	case e.Unsent, e.Kind.Permanent(), e.Limited():
		return false
	}
	return e.Kind != ServerFault || e.Status != http.StatusServiceUnavailable
}
