package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

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

// text is reasoning and answer together, told apart by a bar.
func (a answer) text() string {
	return value(a.Choices[0].Message.Reasoning) + "|" + value(a.Choices[0].Message.Content)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
