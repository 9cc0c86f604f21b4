package vllm

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"speceval/internal/display"
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
	// UnknownEnd: the answer ended for a reason that speceval does not know, and may be
	// whole or cut.
	UnknownEnd
)

var kinds = [...]string{
	Unreachable: "unreachable", Unauthorized: "key refused", UnknownModel: "not found", Rejected: "request rejected",
	EngineDead: "engine dead", ServerFault: "server fault", Cut: "answer cut short", Idle: "silent", OtherModel: "another model",
	Garbage: "not an answer", NotContinued: "answer not continued", UnknownEnd: "unknown end of an answer",
}

// String is the kind in words, for messages.
func (k Kind) String() string { return kinds[k] }

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
	Hint  string // where the key is taken from, of a refused one
	Err   error  // the cause, if there is one
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
		fmt.Fprintf(&b, ": %s", cmp.Or(e.Hint, "give the key that the server was started with"))
	}
	return display.EscapedLine(b.String())
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Limited tells whether the server is well and takes no more requests for now.
func (e *Error) Limited() bool {
	return e.Kind == ServerFault && (e.Status == http.StatusTooManyRequests || e.Later > 0)
}

// Worked tells whether the server may have worked on the answer before it failed, so
// that the failure may tell something of the answer: that it was long, say.
func (e *Error) Worked() bool {
	return !e.Unsent && !e.Kind.Permanent() && !e.Limited() && (e.Kind != ServerFault || e.Status != http.StatusServiceUnavailable)
}

// ErrNotOffered is the cause of an error about something that this server does
// not do as it was started.
var ErrNotOffered = errors.New("not offered by this server")

func garbage(message string) error { return &Error{Kind: Garbage, Message: message} }

// failure is what a server reports with a status other than 200, or in an event of a stream,
// whose status is 0.
func failure(status int, body []byte) *Error {
	e := &Error{Status: status}
	code := e.describe(body)
	if e.Status == 0 && (strings.HasPrefix(e.Type, "BadRequest") || e.Type == "invalid_request_error") {
		e.Status = http.StatusBadRequest
	}
	switch {
	case e.Type == "insufficient_quota" || code == "insufficient_quota": // 429 as well, and waiting does not help
		e.Kind = Rejected
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		e.Kind = Unauthorized
	case e.Status == http.StatusNotFound:
		e.Kind = UnknownModel
	case slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, e.Status):
		e.Kind = ServerFault
	case e.Status >= 300 && e.Status < 500, e.Status == http.StatusNotImplemented:
		e.Kind = Rejected
	case strings.Contains(e.Message, "EngineCore") || strings.Contains(e.Message, "EngineDead"):
		e.Kind = EngineDead
	default:
		e.Kind = ServerFault
	}
	return e
}

// describe fills the words of e from a body: {"error": {"message", "type", "param", "code"}},
// {"error": "Unauthorized"} of vLLM's key check, {"detail": …} of the framework below it,
// {"message"}, {"text", "error_code"}, lists of these, a page, or text. It returns the code,
// if that is a word.
func (e *Error) describe(body []byte) (code string) {
	var v any
	if json.Unmarshal(body, &v, lenient) != nil {
		e.Message = clip(page(body))
		return ""
	}
	for list, ok := v.([]any); ok && len(list) > 0; list, ok = v.([]any) {
		v = list[0]
	}
	var fields map[string]any
	for _, name := range []string{"error", "errors", "detail", "message", "msg", "text", "title"} {
		outer, isObject := v.(map[string]any)
		if !isObject {
			break
		}
		fields = outer
		switch inner := outer[name].(type) {
		case nil, bool:
		case string:
			if e.Message == "" || name == "message" && inner != "" { // {"error": "Internal Server Error", "message": …}
				e.Message = inner
			}
		case map[string]any:
			if name == "error" {
				v = inner
				break
			}
			e.Message = cmp.Or(e.Message, written(inner))
		default:
			e.Message = cmp.Or(e.Message, written(inner))
		}
	}
	if e.Message = clip(e.Message); e.Message == "" {
		e.Message = clip(written(v))
	}
	e.Type, _ = fields["type"].(string)
	e.Param, _ = fields["param"].(string)
	e.Type, e.Param = clip(e.Type), clip(e.Param)
	for _, name := range []string{"code", "error_code", "status"} {
		number, isNumber := fields[name].(float64)
		word, _ := fields[name].(string)
		if n, err := strconv.Atoi(word); err == nil {
			number, isNumber = float64(n), true
		}
		if isNumber && e.Status == 0 && number >= 100 && number < 600 {
			e.Status = int(number)
		}
		code = cmp.Or(code, word)
	}
	return code
}

// written is a value as JSON.
func written(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}

var (
	title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)
	tags  = regexp.MustCompile(`(?is)<(script|style).*?</(script|style)>|<[^>]*>`)
)

// page is what a body says that is not JSON: of a page its title, or its text without one.
func page(body []byte) string {
	said := strings.TrimSpace(string(body))
	if !strings.HasPrefix(said, "<") {
		return said
	}
	words := tags.ReplaceAllString(said, " ")
	if found := title.FindStringSubmatch(said); found != nil {
		words = found[1]
	}
	words = strings.Join(strings.Fields(html.UnescapeString(words)), " ")
	return fmt.Sprintf("the web page %q", words[:min(len(words), 200)])
}

// starts quotes the beginning of what is no answer.
func starts(body []byte) string {
	if strings.HasPrefix(string(body), "<") {
		return page(body) + " in place of an answer: is this the address of the API, and no sign-in or proxy before it?"
	}
	return fmt.Sprintf("%q", clip(string(body[:min(len(body), 80)])))
}

// longestMessage bounds what is kept of a server's error text, in bytes.
const longestMessage = 1000

// clip makes text from a server fit for a message: valid UTF-8, not too long.
func clip(text string) string {
	if len(text) > longestMessage {
		text = text[:longestMessage] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
