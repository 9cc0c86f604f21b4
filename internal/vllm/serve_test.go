package vllm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

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
func raw(t *testing.T, serve func(n int, c net.Conn)) string {
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
