package vllm

import (
	"bytes"
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

	"speceval/internal/terminal/display"
)

// Kind is a way in which a server fails, as far as callers must tell them apart.
type Kind int

// The kinds, in no order that matters.
const (
	Unreachable  Kind = iota + 1 // no answer began: refused, reset, no such host
	Unauthorized                 // the key is wrong or missing (401, 403)
	UnknownModel                 // the server serves no such model or path (404)
	Rejected                     // the request is wrong (other 4xx, also inside a stream), or was not fit to be sent
	EngineDead                   // the HTTP side is up and the engine behind it is not
	ServerFault                  // any other failure of the server (5xx, also inside a stream), or its wish to be asked later (408, 425, 429)
	Cut                          // the answer began and did not come to its end
	Idle                         // nothing came for longer than allowed
	OtherModel                   // another model answered than was asked for
	Garbage                      // no answer: not JSON, not UTF-8, no choices, no usage or an impossible one, too large
	NotContinued                 // the answer cannot go on from its prefix with the law of a whole one; it can be begun anew
	UnknownEnd                   // the answer ended for an unknown reason, and may be whole or cut
)

var kinds = [...]struct {
	name      string
	permanent bool
}{
	Unreachable: {"unreachable", false}, Unauthorized: {"key refused", true}, UnknownModel: {"not found", true}, Rejected: {"request rejected", true},
	EngineDead: {"engine dead", false}, ServerFault: {"server fault", false}, Cut: {"answer cut short", false}, Idle: {"silent", false},
	OtherModel: {"another model", true}, Garbage: {"not an answer", false}, NotContinued: {"answer not continued", true}, UnknownEnd: {"unknown end of an answer", true},
}

// String is the kind in words, for messages.
func (k Kind) String() string { return kinds[k].name }

// Permanent reports whether a retry is useless.
func (k Kind) Permanent() bool { return kinds[k].permanent }

// Error is a failure of a server, or of a request to it. All methods of Client return it,
// except that a request whose context ended returns the context's error instead.
type Error struct {
	Kind    Kind
	URL     string        // of the server
	Status  int           // of HTTP, or of the error inside a stream; 0 if there was none
	Type    string        // the server's name for the error, such as "BadRequestError"
	Message string        // in the server's words, or ours
	Param   string        // the field of the request that is wrong, if the server tells
	Unsent  bool          // the server cannot have had the request
	Later   time.Duration // for which the server wants to be left alone; 0 if it does not say
	Hint    string        // where the key is taken from, of a refused one
	Err     error         // the cause, if there is one
}

// KindOf is the kind of an *Error in err; 0 of any other error.
func KindOf(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// Error is one line, in which what the server says is escaped.
func (e *Error) Error() string {
	said := fmt.Sprintf("%s: %s", e.URL, e.Kind)
	if e.Status != 0 {
		said += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Message != "" {
		said += ": " + e.Message
	}
	if e.Err != nil {
		said += ": " + e.Err.Error()
	}
	if e.Kind == Unauthorized {
		said += ": " + cmp.Or(e.Hint, "give the key that the server was started with")
	}
	for _, f := range fields {
		if f.name != "" && e.refuses(f.named) {
			said += fmt.Sprintf(" (leave it out by --set sampling.leave_out=%s)", f.name)
			break
		}
	}
	return display.EscapedLine(said)
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrLoading: a server is up and not ready yet (503), as one that loads its model.
var ErrLoading = errors.New("not ready yet")

// ErrNotOffered: this server does not do what is asked, as it was started.
var ErrNotOffered = errors.New("not offered by this server")

// Is has errors.Is find ErrLoading.
func (e *Error) Is(target error) bool {
	return target == ErrLoading && e.Status == http.StatusServiceUnavailable
}

// Limited reports whether the server is well and takes no more requests for now.
func (e *Error) Limited() bool {
	return e.Kind == ServerFault && (e.Status == http.StatusTooManyRequests || e.Later > 0)
}

// Worked reports whether the server may have worked on the answer before it failed, so that
// the failure may depend on the answer, as on its length.
func (e *Error) Worked() bool {
	return !e.Unsent && !e.Kind.Permanent() && !e.Limited() && (e.Kind != ServerFault || e.Status != http.StatusServiceUnavailable)
}

func garbage(format string, args ...any) error {
	return &Error{Kind: Garbage, Message: fmt.Sprintf(format, args...)}
}

// failure is the error of a response with a status other than 200, or of an event of a
// stream, whose status is 0.
func failure(status int, body []byte) *Error {
	e := &Error{Status: status, Kind: ServerFault}
	code := e.describe(body)
	if e.Status == 0 && (strings.HasPrefix(e.Type, "BadRequest") || e.Type == "invalid_request_error") {
		e.Status = http.StatusBadRequest
	}
	switch s := e.Status; {
	case e.Type == "insufficient_quota" || code == "insufficient_quota": // 429 as well, and waiting does not help
		e.Kind = Rejected
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e.Kind = Unauthorized
	case s == http.StatusNotFound:
		e.Kind = UnknownModel
	case slices.Contains(passing, s):
	case s >= 300 && s < 500 || s == http.StatusNotImplemented:
		e.Kind = Rejected
	case strings.Contains(e.Message, "EngineCore") || strings.Contains(e.Message, "EngineDead"):
		e.Kind = EngineDead
	}
	return e
}

// passing are statuses below 500 of what passes: a request that was held up, a generation that failed
// (424 of TGI), too many requests, a connection that a gateway lost.
var passing = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests, 499}

// describe fills the words of e from a body: {"error": {"message", "type", "param", "code"}},
// {"error": "Unauthorized"}, {"detail": …}, {"message"}, {"text", "error_code"}, lists of these,
// a page, or text. It returns the code, if that is a word.
func (e *Error) describe(body []byte) (code string) {
	var v any
	if json.Unmarshal(body, &v, lenient) != nil {
		e.Message = clip(page(body))
		return ""
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	fields, _ := v.(map[string]any)
	e.Message, _ = fields["error"].(string)
	if inner, ok := fields["error"].(map[string]any); ok {
		fields, v = inner, inner
	}
	for _, name := range []string{"base_resp", "title", "text", "errors", "detail", "msg", "message"} { // {"error": "Internal Server Error", "message": …}
		e.Message = cmp.Or(written(fields[name]), e.Message)
	}
	e.Message, e.Type, e.Param = clip(cmp.Or(e.Message, written(v))), clip(written(fields["type"])), clip(written(fields["param"]))
	for _, name := range []string{"code", "error_code", "status"} {
		word := written(fields[name])
		if number, err := strconv.ParseFloat(word, 64); err != nil {
			code = cmp.Or(code, word)
		} else if e.Status == 0 && number >= 100 && number < 600 {
			e.Status = int(number)
		}
	}
	return code
}

// written is a text, or a value as JSON; "" of null.
func written(v any) string {
	if s, ok := v.(string); ok || v == nil {
		return s
	}
	text, _ := json.Marshal(v, json.Deterministic(true)) // which came from JSON
	return string(text)
}

var (
	title  = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)
	markup = regexp.MustCompile(`(?is)<(script|style).*?</(script|style)>|<[^>]*>`)
)

// page is the message in a body that is not JSON: of a page its title, or its text without
// one.
func page(body []byte) string {
	said := strings.TrimSpace(string(body))
	if !strings.HasPrefix(said, "<") {
		return said
	}
	words := markup.ReplaceAllString(said, " ")
	if found := title.FindStringSubmatch(said); found != nil {
		words = found[1]
	}
	words = strings.Join(strings.Fields(html.UnescapeString(words)), " ")
	return fmt.Sprintf("the web page %q", words[:min(len(words), 200)])
}

// starts quotes the beginning of what is no answer.
func starts(body []byte) string {
	body = bytes.TrimSpace(body)
	if strings.HasPrefix(string(body), "<") {
		return page(body) + " in place of an answer: is this the address of the API, and no sign-in or proxy before it?"
	}
	return fmt.Sprintf("%q", clip(string(body[:min(len(body), 80)])))
}

// clip makes text from a server fit for a message: valid UTF-8, not too long.
func clip(text string) string {
	if len(text) > longestMessage {
		text = text[:longestMessage] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// longestMessage bounds what is kept of a server's error text, in bytes.
const longestMessage = 1000

// longestLater bounds what a server may ask for.
const longestLater = 10 * time.Minute

// later is how long a server wants to be left alone: Retry-After in seconds or as a date, or the
// field in milliseconds that some services send next to it. 0 if the answer has neither.
func later(h http.Header, now time.Time) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64)
	if seconds /= 1000; err != nil {
		seconds, err = strconv.ParseFloat(strings.TrimSuffix(h.Get("Retry-After"), "s"), 64)
	}
	if date, notDate := http.ParseTime(h.Get("Retry-After")); err != nil && notDate == nil {
		seconds = date.Sub(now).Seconds()
	}
	if !(seconds > 0) { // NaN as well
		return 0
	}
	return time.Duration(min(seconds, longestLater.Seconds()) * float64(time.Second))
}
