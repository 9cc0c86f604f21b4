package imitation_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
)

var tasks = []benchmark.Task{
	{Benchmark: "b", ID: "sum", UserPrompt: "What is 17+25?", Scorer: "math", Answer: "42"},
	{Benchmark: "b", ID: "word", UserPrompt: "Which?", Scorer: "choice", Answer: "C", Options: 4},
}

// dense is a model that always answers right.
func dense() imitation.Settings {
	passes := map[fleet.TaskKey]float64{{Benchmark: "b", ID: "sum"}: 1, {Benchmark: "b", ID: "word"}: 1}
	author := fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: tasks, Passes: passes, AnswerTokens: 80, ThinkingTokens: 120})
	return imitation.Settings{Model: "m", MaxModelLen: 4096, MaxSequences: 4, Author: author}
}

func thinking() imitation.Settings {
	s := dense()
	s.Thinking, s.ReasoningParser = true, "qwen3"
	return s
}

// chat is the body of a chat with more fields, given as JSON without braces.
func chat(more string) string {
	return `{"model":"m","messages":[{"role":"user","content":"What is 17+25?"}],"seed":4` + more + `}`
}

const chats = "/v1/chat/completions"

// post sends a JSON body to a handler in this process.
func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	return postWith(context.Background(), h, path, body)
}

func postWith(ctx context.Context, h http.Handler, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// answer is what tests read of responses and chunks.
type answer struct {
	Choices []struct {
		Message, Delta struct{ Content, Reasoning *string }
		IDs            []int32 `json:"token_ids"`
	}
	Usage *struct {
		Completion int `json:"completion_tokens"`
	}
}

func parse(t *testing.T, body []byte) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return a
}

func value(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

// events splits a stream; the last is "[DONE]" if it is complete.
func events(t *testing.T, body io.Reader) []string {
	t.Helper()
	var all []string
	scanner := bufio.NewScanner(body)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			all = append(all, data)
		} else if scanner.Text() != "" {
			t.Errorf("a line of a stream is %q", scanner.Text())
		}
	}
	return all
}

// metric is a sample of /metrics, summed over labels; want may name labels.
func metric(t *testing.T, h http.Handler, want string) float64 {
	t.Helper()
	sum, found := 0.0, false
	for line := range strings.Lines(get(h, "/metrics").Body.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(name, "vllm:"+want) && !strings.HasPrefix(line, "#") {
			var v float64
			if _, err := fmt.Sscan(value, &v); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			sum, found = sum+v, true
		}
	}
	if !found {
		t.Fatalf("/metrics has no %s", want)
	}
	return sum
}

// buffer is a bytes.Buffer that goroutines may share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
