package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// attacks are answers that no server sends that was asked for 512 tokens. %d in a piece is
// its number, from 1.
var attacks = map[string]struct {
	piece  string
	pieces int
	every  time.Duration
	part   bool // of one event
	want   string
}{
	"a text of 128 MiB":      {piece: `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<16) + `"}}]}`, pieces: 2048, want: "a text of more than"},
	"an event of 128 MiB":    {piece: strings.Repeat("x", 1<<16), part: true, pieces: 2048, want: "an event of more than"},
	"100,000 tokens":         {piece: `{"choices":[{"index":0,"delta":{"content":" word"}}],"usage":{"prompt_tokens":5,"completion_tokens":%d}}`, pieces: 100_000, want: "where max_tokens is 512"},
	"2,147,483,647 tokens":   {piece: `{"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2147483647}}`, pieces: 1, want: "where max_tokens is 512"},
	"a prompt of billions":   {piece: `{"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2147483647,"completion_tokens":1}}`, pieces: 1, want: "a prompt of 2147483647 tokens"},
	"the wrong choice first": {piece: `{"choices":[{"index":1,"delta":{"content":"2"},"finish_reason":"stop"},{"index":0,"delta":{"content":"3"},"finish_reason":"stop"}]}`, pieces: 1, want: "choice 1, where one was asked for"},
	"nothing, for ever":      {piece: `{"choices":[{"index":0,"delta":{"content":""}}]}`, pieces: 100, every: 100 * time.Millisecond, want: "no token came for 2s"},
}

// hostile is a server that answers short requests, and all others by an attack.
func hostile(t *testing.T, name string, said *atomic.Int64) string {
	t.Helper()
	a := attacks[name]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/v1/models":
			io.WriteString(w, `{"data":[{"id":"m"}]}`)
			return
		case r.URL.Path != "/v1/chat/completions":
			w.WriteHeader(404)
			return
		case !strings.Contains(string(body), `"max_tokens":512`):
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
			return
		}
		for n := 1; n <= a.pieces; n++ {
			piece := a.piece
			if strings.Contains(piece, "%d") {
				piece = fmt.Sprintf(piece, n)
			}
			if !a.part {
				piece = "data: " + piece + "\n\n"
			} else if n == 1 {
				piece = "data: " + piece
			}
			wrote, err := io.WriteString(w, piece)
			said.Add(int64(wrote))
			if err != nil {
				return
			}
			if a.every > 0 {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(a.every):
				}
			}
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestHostileServers: whatever a server says, the evaluation ends, names it, scores nothing
// of it and takes little memory.
func TestHostileServers(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("own.jsonl", []byte(ownBenchmark), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			var said atomic.Int64
			url := hostile(t, name, &said)
			peak := heapPeak(t)
			code, _, stderr := say(t, "evaluate", "--benchmark", "own.jsonl", "--model", "m", "--budget", "2", "--worker", url, "--out", strings.ReplaceAll(name, " ", "-"),
				"--set", "serving.attempts=1", "--set", "serving.hang_seconds=2", "--set", "serving.outage_seconds=0", "--set", "sampling.max_tokens=512")
			if most := peak(); code != exitFailed || !strings.Contains(stderr, a.want) || !strings.Contains(stderr, url) || most > 200<<20 {
				t.Errorf("exit code %d, at most %d MiB:\n%s", code, most>>20, stderr)
			}
		})
	}
}

// heapPeak watches the heap until it is called, and tells how much it grew at most.
func heapPeak(t *testing.T) func() uint64 {
	t.Helper()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	done := make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc {
				most = max(most, now.HeapAlloc-before.HeapAlloc)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(done); all.Wait(); return most }
}
