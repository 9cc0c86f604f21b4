package vllm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"speceval/internal/shown"
)

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
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Permanent tells whether asking again is useless.
func (k Kind) Permanent() bool {
	return k == Unauthorized || k == UnknownModel || k == Rejected || k == OtherModel || k == NotContinued
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
	return shown.Line(b.String())
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
