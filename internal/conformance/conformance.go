// Package conformance checks the behaviour of a vLLM server over HTTP, of a real
// one or of the imitation. A check reports its findings as text without times or
// random values, so that two servers can be compared line by line, and fails where
// the server does something that our client does not expect.
package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"speceval/internal/clock"
)

// Target is a server to be checked. It must have nothing else to do meanwhile.
type Target struct {
	URL       string // such as http://127.0.0.1:8000
	Model     string // as served
	Context   int    // tokens of prompt and answer together
	Sequences int    // running at once, at most
	Thinking  bool   // the prompt ends inside the thinking, and a parser takes it apart
	Key       string // that the server demands; "" none
	KeepAlive time.Duration
	Clock     clock.Clock
	// Kill makes the engine die behind the server; nil where that cannot be done.
	Kill func() error
}

// Observation is what a check saw, in lines.
type Observation string

// ErrSkipped marks a check that cannot be made of this target.
var ErrSkipped = errors.New("skipped")

// Check is one thing that a server does.
type Check struct {
	Name  string // area/what
	About string // what it is good for, in one line
	run   func(context.Context, *session) (Observation, error)
}

// patience is how long a check may take, and a state be waited for.
const patience = time.Minute

// Run makes the check. An error that is ErrSkipped says why it was not made.
func (c Check) Run(ctx context.Context, t *Target) (Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// A connection for every request: one that follows a refusal on the same
	// connection may find it closed (connection/after a refusal).
	transport := &http.Transport{DisableKeepAlives: true}
	seen, err := c.run(ctx, &session{Target: t, http: &http.Client{Transport: transport}})
	return Observation(strings.TrimRight(string(seen), "\n")), err
}

// Checks lists all checks, in the order in which they must be made: the last one
// leaves a dead server.
func Checks() []Check {
	var all []Check
	for _, area := range [][]Check{surfaces(), answers(), streams(), thoughts(), continuations(), lengths(), refusals(), aborts(), crowds(), deaths()} {
		all = append(all, area...)
	}
	return all
}

// lines collects an observation.
type lines struct{ text strings.Builder }

func (l *lines) add(format string, args ...any) { fmt.Fprintf(&l.text, format+"\n", args...) }

func (l *lines) seen() Observation { return Observation(l.text.String()) }

// skip is the error of a check that cannot be made.
func skip(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSkipped, fmt.Sprintf(format, args...))
}

// Result is what came of one check.
type Result struct {
	Check Check
	Seen  Observation
	Err   error // ErrSkipped where the check does not apply
}

// RunAll makes all checks of a target, one after another.
func RunAll(ctx context.Context, t *Target) []Result {
	var results []Result
	for _, c := range Checks() {
		seen, err := c.Run(ctx, t)
		results = append(results, Result{c, seen, err})
	}
	return results
}

// Text is what the check saw, or why it did not see it.
func (r Result) Text() string {
	switch {
	case errors.Is(r.Err, ErrSkipped):
		return r.Err.Error()
	case r.Err != nil:
		return strings.TrimSpace(fmt.Sprintf("%s\nfailed: %v", r.Seen, r.Err))
	}
	return string(r.Seen)
}

// Record writes results down, so that they can be compared with those of another
// day, or of another server.
func Record(results []Result) []byte {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "[%s]\n%s\n\n", r.Check.Name, r.Text())
	}
	return []byte(b.String())
}

// Recorded reads a record: the text of each check by its name.
func Recorded(record []byte) (map[string]string, error) {
	texts := make(map[string]string)
	for part := range strings.SplitSeq(strings.TrimSpace(string(record)), "\n\n") {
		head, text, _ := strings.Cut(part, "\n")
		name, begins := strings.CutPrefix(head, "[")
		name, ends := strings.CutSuffix(name, "]")
		if !begins || !ends {
			return nil, fmt.Errorf("a record's part begins with %q, not with [the check's name]", head)
		}
		texts[name] = text
	}
	return texts, nil
}

// accepted lists in which checks the imitation may differ from a real server,
// and why.
var accepted = []struct{ check, reason string }{
	{"crowd/seeds", "the processor decides how a batch is rounded, and the imitation rounds nothing"},
}

// Accepted is the reason why the imitation may differ in a check from a real
// server, "" where it may not.
func Accepted(check string) string {
	for _, a := range accepted {
		if a.check == check {
			return a.reason
		}
	}
	return ""
}

// session is one check's traffic with its target.
type session struct {
	*Target
	http *http.Client
}

// fields are those of a request's JSON body.
type fields map[string]any

// reply is an answer that was read to its end.
type reply struct {
	status int
	kind   string // the content type without parameters
	body   []byte
}

const chatPath = "/v1/chat/completions"

// chat is the body of a small request with some fields set, or, where they are
// nil, taken away.
func (s *session) chat(set fields) fields {
	body := fields{
		"model": s.Model, "messages": []fields{{"role": "user", "content": "hi"}},
		"temperature": 0.6, "top_p": 0.95, "seed": 1, "max_tokens": 12, "ignore_eos": true,
	}
	maps.Copy(body, set)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return body
}

// request prepares a request; its body is JSON unless it is text already.
func (s *session) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content []byte
	switch b := body.(type) {
	case nil:
	case string:
		content = []byte(b)
	default:
		var err error
		if content, err = json.Marshal(b); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.URL, "/")+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if s.Key != "" {
		request.Header.Set("Authorization", "Bearer "+s.Key)
	}
	return request, nil
}

// send sends a request and reads the answer.
func (s *session) send(request *http.Request) (reply, error) {
	response, err := s.http.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return reply{status: response.StatusCode, kind: kind, body: body}, err
}

func (s *session) get(ctx context.Context, path string) (reply, error) {
	request, err := s.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return reply{}, err
	}
	return s.send(request)
}

func (s *session) post(ctx context.Context, path string, body any) (reply, error) {
	request, err := s.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return reply{}, err
	}
	return s.send(request)
}

// answer is as much of a completion, or of a chunk, as the checks look at.
type answer struct {
	ID      string
	Choices []struct {
		Message struct{ Content, Reasoning *string }
		Delta   struct{ Content, Reasoning *string }
		Finish  *string `json:"finish_reason"`
		Tokens  []int   `json:"token_ids"`
	}
	Prompt []int `json:"prompt_token_ids"`
	Usage  *usage
	Error  *struct {
		Message, Type string
		Param         *string
		Code          int
	}
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// ask sends a chat request that is not streamed and must succeed.
func (s *session) ask(ctx context.Context, set fields) (answer, []byte, error) {
	got, err := s.post(ctx, chatPath, s.chat(set))
	if err != nil {
		return answer{}, nil, err
	}
	if got.status != http.StatusOK {
		return answer{}, nil, fmt.Errorf("answers %d: %s", got.status, got.body)
	}
	var a answer
	if err := json.Unmarshal(got.body, &a); err != nil {
		return answer{}, nil, fmt.Errorf("%w: %s", err, got.body)
	}
	if len(a.Choices) != 1 || a.Usage == nil || a.Choices[0].Finish == nil {
		return a, nil, fmt.Errorf("not one finished choice with usage: %s", got.body)
	}
	return a, got.body, nil
}

// text is reasoning and answer together, separated by a bar.
func (a answer) text() string {
	return value(a.Choices[0].Message.Reasoning) + "|" + value(a.Choices[0].Message.Content)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// spoken are the keys whose values are part of the protocol, not of an answer.
var spoken = []string{"object", "role", "finish_reason", "type", "param", "code", "owned_by"}

// shape writes JSON without what may differ from answer to answer: values are
// given by their kind, keys are sorted, a list is its first element.
func shape(body []byte) string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return "not JSON"
	}
	return form(v, "")
}

func form(v any, key string) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+form(v[k], k))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + form(v[0], "") + "]"
	case nil:
		return "null"
	case string:
		if !slices.Contains(spoken, key) {
			return "text"
		}
	case float64:
		if !slices.Contains(spoken, key) {
			return "number"
		}
	}
	return fmt.Sprint(v)
}

var delta = regexp.MustCompile(`delta: \{[^}]*\}`)

// chunkShape is the shape of a chunk whatever its delta brings.
func chunkShape(raw string) string {
	return delta.ReplaceAllString(shape([]byte(raw)), "delta: {…}")
}

// refusal is an answer that is an error, in one line: its status, type, param and
// code. Of its message only the word that clients read counts: messages change from
// one version of vLLM to the next.
func refusal(got reply) string {
	var a answer
	if err := json.Unmarshal(got.body, &a); err != nil || a.Error == nil {
		return fmt.Sprintf("%d %s %s", got.status, got.kind, strings.TrimSpace(string(got.body)))
	}
	param, word := "null", ""
	if a.Error.Param != nil {
		param = *a.Error.Param
	}
	if strings.Contains(a.Error.Message, "EngineCore") {
		word = ", EngineCore"
	}
	return fmt.Sprintf("%d %s, param %s, code %d, %s%s", got.status, a.Error.Type, param, a.Error.Code, got.kind, word)
}
