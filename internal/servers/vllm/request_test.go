package vllm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestBody(t *testing.T) {
	full := request()
	full.TopK, full.ThinkingBudget = 20, 8192
	full.IgnoreEOS = true
	full.TemplateArguments = map[string]any{"enable_thinking": true}
	bare := request()
	bare.TokenIDs, bare.Temperature = false, 0
	standard := request()
	standard.TokenIDs = false
	large := standard
	large.Seed = math.MaxInt64
	left, topK := standard, standard
	left.LeaveOut, topK.TopK = FieldsNamed([]string{"temperature", "top_p", "top_k", "seed"}), 20
	rest := full
	rest.MaxTokens, rest.left, rest.Prefix = 9, new(int), &Prefix{PromptIDs: []int32{1, 2}, IDs: []int32{3, 4}}
	plain := manner{plain: true}
	const (
		start = `{"model":"m","messages":[{"role":"user","content":"hi"}],"seed":7,`
		usual = start + `"temperature":0.6,"top_p":0.95,"max_tokens":4`
	)
	tests := []struct {
		name    string
		request Request
		stream  bool
		manner  manner
		want    string
	}{
		{"whole", full, false, manner{}, usual +
			`,"top_k":20,"min_p":0,"repetition_penalty":1,"chat_template_kwargs":{"enable_thinking":true},"thinking_token_budget":8192,"ignore_eos":true,"return_token_ids":true}`},
		{"zeros are sent", bare, false, manner{}, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"stream", bare, true, manner{}, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"stream":true,` +
			`"stream_options":{"include_usage":true,"continuous_usage_stats":true},"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"the rest of an answer", rest, true, manner{}, fmt.Sprintf(`{"model":"m","seed":%d,"temperature":0.6,"top_p":0.95,"max_tokens":7,"stream":true,`+
			`"stream_options":{"include_usage":true,"continuous_usage_stats":true},"top_k":20,"min_p":0,"repetition_penalty":1,"thinking_token_budget":0,`+
			`"ignore_eos":true,"return_token_ids":true,"prompt":[1,2,3,4]}`, ContinuationSeed(7, 2))},
		{"plain", standard, false, plain, usual + `}`},
		{"plain stream", standard, true, plain, usual + `,"stream":true,"stream_options":{"include_usage":true}}`},
		{"plain, of what was refused nothing", standard, true, manner{plain: true, refused: lengthField | usageOfStreams | LeaveSeed},
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.6,"top_p":0.95,"max_completion_tokens":4,"stream":true}`},
		{"what is left out", left, false, manner{}, `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4,"min_p":0,"repetition_penalty":1}`},
		{"what is left out, plain", left, false, plain, `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":4}`},
		{"top_k, plain", topK, false, plain, usual + `,"top_k":20}`},
		{"a context that does not hold it", bare, false, manner{context: 4}, start + `"temperature":0,"top_p":0.95,"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"a context that holds it", bare, false, manner{context: 5}, start + `"temperature":0,"top_p":0.95,"max_tokens":4,"top_k":0,"min_p":0,"repetition_penalty":1}`},
		{"a context that may not hold it, plain", standard, false, manner{plain: true, context: 517}, strings.Replace(usual, `"max_tokens":4`, `"max_tokens":3`, 1) + `}`},
		{"plain seed of 31 bits", large, false, plain, strings.Replace(usual, `"seed":7`, `"seed":2147483647`, 1) + `}`},
	}
	for _, tt := range tests {
		body, err := tt.request.body(tt.stream, tt.manner)
		if err != nil || string(body) != tt.want {
			t.Errorf("%s: %s, %v\nwant %s", tt.name, body, err, tt.want)
		}
	}
}

// TestUnfitRequestsAreNotSent, nor those of what only vLLM knows to others.
func TestUnfitRequestsAreNotSent(t *testing.T) {
	for _, tt := range []struct {
		want  string
		plain bool
		spoil func(*Request)
	}{
		{"seed -1", false, func(r *Request) { r.Seed = -1 }},
		{"max_tokens 0", false, func(r *Request) { r.MaxTokens = 0 }},
		{"UTF-8", false, func(r *Request) { r.Messages[0].Content = "a\xff" }},
		{"NaN", false, func(r *Request) { r.Temperature = math.NaN() }},
		{"chat_template_kwargs", true, func(r *Request) { r.TemplateArguments = map[string]any{"enable_thinking": false} }},
		{"a thinking budget", true, func(r *Request) { r.ThinkingBudget = 1 }},
		{"ignore_eos", true, func(r *Request) { r.IgnoreEOS = true }},
		{"ids of tokens", true, func(r *Request) { r.TokenIDs = true }},
	} {
		c := dial(t, "http://127.0.0.1:1", Options{Plain: tt.plain}) // nothing listens there
		r := plainRequest()
		tt.spoil(&r)
		_, err := c.whole(t.Context(), r)
		_, streamed := c.Stream(t.Context(), r, nil)
		for _, err := range []error{err, streamed} {
			if e := fails(t, err, Rejected); !e.Unsent || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		}
	}
}

// request is a good one.
func request() Request {
	return Request{
		Sampling: Sampling{Model: "m", Temperature: 0.6, TopP: 0.95, MaxTokens: 4},
		Messages: []Message{{Role: "user", Content: "hi"}}, Seed: 7, TokenIDs: true,
	}
}

// whole asks for an answer in one piece.
func (c *Client) whole(ctx context.Context, r Request) (Completion, error) {
	r.LeaveOut |= LeaveStream
	return c.Stream(ctx, r, nil)
}

// client is a client of a server with the given handler.
func client(t *testing.T, o Options, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return dial(t, server.URL, o)
}

func dial(t testing.TB, url string, o Options) *Client {
	t.Helper()
	c, err := New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// says answers every request alike.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// fails checks the kind of an error.
func fails(t *testing.T, err error, want Kind) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *Error of kind %q", err, want)
	}
	if e.Kind != want {
		t.Fatalf("error %v of kind %q, want %q", err, e.Kind, want)
	}
	if e.URL == "" {
		t.Errorf("error %v names no server", err)
	}
	return e
}

// raw is a server that gives each connection to serve, in order.
func raw(t testing.TB, serve func(n int, c net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ; n++ {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer c.Close(); serve(n, c) })
		}
	})
	t.Cleanup(func() { listener.Close(); all.Wait() })
	return "http://" + listener.Addr().String()
}

// hasty is a clock on which every wait is over at once.
type hasty struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hasty) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hasty) Sleep(ctx context.Context, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
	return ctx.Err()
}
