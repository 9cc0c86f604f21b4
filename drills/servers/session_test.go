package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// session is the traffic of one behaviour's test with its server.
type session struct {
	*testing.T
	*observed
	ctx   context.Context
	notes strings.Builder
}

// saw adds a line to what was seen.
func (s *session) saw(format string, args ...any) { fmt.Fprintf(&s.notes, format+"\n", args...) }

func (s *session) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// oneEach opens a connection for every request: vLLM closes it after some refusals, which no
// header announces.
var oneEach = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// fields is the JSON body of a request.
type fields map[string]any

const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
)

// chat is the body of a small request with some fields set, or, where they are nil, taken
// away.
func (s *session) chat(set fields) fields {
	body := fields{
		"model": s.model, "messages": []fields{{"role": "user", "content": "hi"}},
		"temperature": 0.6, "top_p": 0.95, "seed": 1, "max_tokens": 12, "ignore_eos": true,
	}
	maps.Copy(body, set)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return body
}

// request prepares a request with headers, a name before each value. Its body is JSON
// unless it is text already.
func (s *session) request(ctx context.Context, method, path string, body any, headers ...string) *http.Request {
	content, ready := body.(string)
	if !ready && body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		content = string(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(content))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.key)
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	return request
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	kind   string // the content type without parameters
	body   []byte
}

func contentType(response *http.Response) string {
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	return kind
}

// try sends a request and reads the answer; goroutines use it.
func try(request *http.Request) (reply, error) {
	response, err := oneEach.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, contentType(response), body}, err
}

func (s *session) send(method, path string, body any, headers ...string) reply {
	s.Helper()
	got, err := try(s.request(s.ctx, method, path, body, headers...))
	s.ok(err)
	return got
}

func (s *session) get(path string) reply { s.Helper(); return s.send(http.MethodGet, path, nil) }

func (s *session) post(path string, body any) reply {
	s.Helper()
	return s.send(http.MethodPost, path, body)
}

// decode reads JSON.
func (s *session) decode(body []byte, to any) {
	s.Helper()
	if err := json.Unmarshal(body, to); err != nil {
		s.Fatalf("%v in %s", err, body)
	}
}

// completion is as much of an answer, or of a chunk, as is looked at.
type completion struct {
	ID      string
	Choices []struct {
		Text    string // of a completion of ids
		Message struct{ Content, Reasoning *string }
		Delta   struct{ Content, Reasoning *string }
		Finish  string `json:"finish_reason"`
		Tokens  []int  `json:"token_ids"`
		Prompt  []int  `json:"prompt_token_ids"`
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

// asked sends a chat request that is not streamed and must succeed; goroutines use it.
func (s *session) asked(ctx context.Context, set fields) (a completion, body []byte, err error) {
	got, err := try(s.request(ctx, http.MethodPost, chatPath, s.chat(set)))
	if err != nil {
		return a, nil, err
	}
	if err = json.Unmarshal(got.body, &a); err != nil || got.status != http.StatusOK {
		return a, nil, fmt.Errorf("answers %d: %s (%v)", got.status, got.body, err)
	}
	if len(a.Choices) != 1 || a.Usage == nil || a.Choices[0].Finish == "" {
		err = fmt.Errorf("not one finished choice with usage: %s", got.body)
	}
	return a, got.body, err
}

func (s *session) ask(set fields) completion {
	s.Helper()
	a, _, err := s.asked(s.ctx, set)
	s.ok(err)
	return a
}

// text is reasoning and answer together, separated by a bar.
func (a completion) text() string {
	return valueOf(a.Choices[0].Message.Reasoning) + "|" + valueOf(a.Choices[0].Message.Content)
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// tokens asks for the ids of a text, and returns also what the answer looked like.
func (s *session) tokens(set fields) ([]int, string) {
	s.Helper()
	set["model"] = s.model
	got := s.post("/tokenize", set)
	var t struct {
		Count  int
		Max    int `json:"max_model_len"`
		Tokens []int
	}
	s.decode(got.body, &t)
	if got.status != http.StatusOK || t.Count != len(t.Tokens) || t.Max != s.context {
		s.Fatalf("tokenize answers %d, counts %d of %d tokens, context %d", got.status, t.Count, len(t.Tokens), t.Max)
	}
	return t.Tokens, fmt.Sprintf("%d %s", got.status, formOf(got.body))
}

// spoken are the keys whose values are part of the protocol, not of an answer.
var spoken = []string{"object", "role", "finish_reason", "type", "param", "code", "owned_by"}

// formOf writes JSON without what may differ from answer to answer: values are given by
// their kind, keys are sorted, a list is its first element.
func formOf(body []byte) string {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return "not JSON"
	}
	return valueForm(v, "")
}

func valueForm(v any, key string) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+valueForm(v[k], k))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + valueForm(v[0], "") + "]"
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

// deltaForm matches the delta of a chunk.
var deltaForm = regexp.MustCompile(`delta: \{[^}]*\}`)

// refusal is an answer that is an error, in one line: its status, type, param and code. Of
// its message only the word that clients read counts: messages change from one version of
// vLLM to the next.
func refusal(got reply) string {
	var a completion
	if err := json.Unmarshal(got.body, &a); err != nil || a.Error == nil {
		return fmt.Sprintf("%d %s %s", got.status, got.kind, bytes.TrimSpace(got.body))
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
