package vllm

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
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
		{"no model", false, func(r *Request) { r.Model = "" }},
		{"no messages", false, func(r *Request) { r.Messages = nil }},
		{"seed -1", false, func(r *Request) { r.Seed = -1 }},
		{"max tokens is 0", false, func(r *Request) { r.MaxTokens = 0 }},
		{"id", false, func(r *Request) { r.ID = "a\r\nb" }},
		{"message 0", false, func(r *Request) { r.Messages[0].Content = "a\xff" }},
		{"NaN", false, func(r *Request) { r.Temperature = math.NaN() }},
		{"chat_template_kwargs", true, func(r *Request) { r.TemplateArguments = map[string]any{"enable_thinking": false} }},
		{"thinking budget", true, func(r *Request) { r.ThinkingBudget = 1 }},
		{"ignore_eos", true, func(r *Request) { r.IgnoreEOS = true }},
		{"ids of tokens", true, func(r *Request) { r.TokenIDs = true }},
	} {
		c := dial(t, "http://127.0.0.1:1", Options{Plain: tt.plain}) // nothing listens there
		r := plainRequest()
		tt.spoil(&r)
		_, err := c.Complete(t.Context(), r)
		_, streamed := c.Stream(t.Context(), r, nil)
		for _, err := range []error{err, streamed} {
			if e := fails(t, err, Rejected); !e.Unsent || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		}
	}
}

// notes is a clock that notes what is slept.
type notes struct {
	hasty
	slept []time.Duration
}

func (n *notes) Sleep(ctx context.Context, d time.Duration) error {
	n.slept = append(n.slept, d)
	return n.hasty.Sleep(ctx, d)
}

func TestRetry(t *testing.T) {
	transient := &Error{Kind: ServerFault, URL: "u"}
	tests := []struct {
		name     string
		attempts int
		errs     []error // of the attempts, nil after them
		calls    int
		ok       bool
	}{
		{"at once", 3, nil, 1, true},
		{"second", 3, []error{transient}, 2, true},
		{"too often", 3, []error{transient, transient, transient}, 3, false},
		{"zero is one", 0, []error{transient}, 1, false},
		{"unauthorized", 3, []error{&Error{Kind: Unauthorized}}, 1, false},
		{"rejected", 3, []error{transient, &Error{Kind: Rejected}}, 2, false},
		{"not a server's", 3, []error{io.ErrUnexpectedEOF}, 1, false},
		{"unreachable, dead, cut, silent, garbage", 9,
			[]error{&Error{Kind: Unreachable}, &Error{Kind: EngineDead}, &Error{Kind: Cut}, &Error{Kind: Idle}, &Error{Kind: Garbage}}, 6, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls, reports := 0, 0
			clock := new(notes)
			r := Retry{Attempts: tt.attempts, Clock: clock, Report: func(int, error, time.Duration) { reports++ }}
			err := r.Do(t.Context(), func(context.Context) error {
				calls++
				if calls <= len(tt.errs) {
					return tt.errs[calls-1]
				}
				return nil
			})
			if calls != tt.calls || (err == nil) != tt.ok || reports != calls-1 || len(clock.slept) != calls-1 {
				t.Errorf("%d calls, %d reports, slept %v, error %v", calls, reports, clock.slept, err)
			}
			if !tt.ok && (!errors.Is(err, tt.errs[calls-1]) || strings.Contains(err.Error(), "3 attempts") != (calls == 3)) {
				t.Errorf("error %v, want the last one", err)
			}
		})
	}
}

func TestRetryWaits(t *testing.T) {
	run := func(seed int64) []time.Duration {
		clock := new(notes)
		r := Retry{Attempts: 6, Clock: clock, First: time.Second, Most: 5 * time.Second, Seed: seed}
		r.Do(t.Context(), func(context.Context) error { return &Error{Kind: Cut} })
		return clock.slept
	}
	one := run(1)
	if !slices.Equal(one, run(1)) || slices.Equal(one, run(2)) {
		t.Errorf("waits %v, others with the same seed, or the same with another", one)
	}
	for i, most := range []time.Duration{1, 2, 4, 5, 5} {
		if most *= time.Second; one[i] > most || one[i] < most/2 {
			t.Errorf("wait %d is %v, want %v to %v", i+1, one[i], most/2, most)
		}
	}
	if d := (Retry{Most: 1 << 62}).wait(200); d <= 0 {
		t.Errorf("wait 200 is %v", d)
	}
}

func TestRetryEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Retry{Attempts: 5, Clock: ender{cancel}}.Do(ctx, func(context.Context) error {
		calls++
		return &Error{Kind: Cut}
	})
	if calls != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d calls, %v, want one and the context's error", calls, err)
	}
}

// ender is a clock during whose wait the caller gives up.
type ender struct{ cancel context.CancelFunc }

func (ender) Now() time.Time { return time.Time{} }

func (e ender) Sleep(ctx context.Context, _ time.Duration) error {
	e.cancel()
	return ctx.Err()
}

// request is a good one.
func request() Request {
	return Request{
		Model: "m", Messages: []Message{{Role: "user", Content: "hi"}}, Seed: 7,
		Temperature: 0.6, TopP: 0.95, MaxTokens: 4, TokenIDs: true,
	}
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
