package vllm

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeIsThatOfTokens: what is no token keeps no stream alive, and tokens only those
// that may come. An answer that comes whole may take the time of its tokens, and no more.
func TestTimeIsThatOfTokens(t *testing.T) {
	role := delta(`"role":"assistant"`)
	second, minute := time.Second, time.Minute
	for what, tt := range map[string]struct {
		head, piece string // "" is a chunk with its count
		every       time.Duration
		at          [2]time.Duration // of the end, of vLLM and others
		want        Kind
	}{
		"empty pieces":             {head, role, second, [2]time.Duration{minute, minute}, Idle},
		"comments":                 {head, ": alive\n\n", second, [2]time.Duration{minute, minute}, Idle},
		"the same count":           {head, chunk("", "null", 0), second, [2]time.Duration{minute, minute}, Idle},
		"a token, and nothing":     {head + chunk("a", "null", 1), role, second, [2]time.Duration{minute, minute}, Idle},
		"tokens past the last":     {head, "", second, [2]time.Duration{11 * second, 27 * second}, Garbage},
		"headers that never end":   {"HTTP/1.0 200 OK\r\n", "X-More: 1\r\n", second, [2]time.Duration{minute, minute}, Idle},
		"a whole answer":           {head, " ", second, [2]time.Duration{90 * second, 90 * second}, Idle},
		"a refusal without an end": {"HTTP/1.0 500 No\r\n\r\n", "no ", second, [2]time.Duration{minute, minute}, Idle},
	} {
		for i, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", what, plain), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var servers sync.WaitGroup
					defer servers.Wait()
					c := dial(t, "http://h", Options{Plain: plain, Idle: time.Minute, Dial: piped(&servers, func(theirs net.Conn, _ int) {
						_, err := io.WriteString(theirs, tt.head)
						for n := 1; err == nil; n++ {
							time.Sleep(tt.every)
							_, err = io.WriteString(theirs, cmp.Or(tt.piece, chunk(" w", "null", n)))
						}
					})})
					r := plainRequest()
					r.MaxTokens = 10
					if what == "a whole answer" {
						r.LeaveOut = LeaveStream
					}
					started := time.Now()
					_, err := c.Stream(t.Context(), r, nil)
					fails(t, err, tt.want)
					if took := time.Since(started); took != tt.at[i] {
						t.Errorf("ended after %v, want %v: %v", took, tt.at[i], err)
					}
					c.Close()
				})
			})
		}
	}
}

// TestSilenceOfPlainServers: a request may wait for its turn as long as others are served, but
// a stream that has begun may not stop, whatever others hear, and a server that is silent to
// all is hung.
func TestSilenceOfPlainServers(t *testing.T) {
	tests := map[string]struct {
		serve    func(turn chan bool, c net.Conn, n int)
		requests int
		idle     int // of these, which count as hung
		took     time.Duration
	}{
		"one at a time": {func(turn chan bool, c net.Conn, n int) {
			io.WriteString(c, head+delta(`"role":"assistant"`))
			turn <- true
			tokens(c, 4, 20*time.Second)
			<-turn
		}, 4, 0, 320 * time.Second},
		"a stream that stops": {func(_ chan bool, c net.Conn, n int) {
			io.WriteString(c, head+chunk("a", "null", 1))
			io.Copy(io.Discard, c)
		}, 1, 1, time.Minute},
		"one of two stops": {func(_ chan bool, c net.Conn, n int) {
			io.WriteString(c, head)
			if n == 0 {
				io.WriteString(c, chunk("a", "null", 1))
				io.Copy(io.Discard, c)
			} else {
				tokens(c, 30, 4*time.Second)
			}
		}, 2, 1, 2 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := make(chan bool, 1)
				var servers, all sync.WaitGroup
				defer servers.Wait()
				c := dial(t, "http://h", Options{Plain: true, Idle: time.Minute, Connections: 9, Dial: piped(&servers, func(c net.Conn, n int) { tt.serve(turn, c, n) })})
				defer c.Close()
				started, idle := time.Now(), atomic.Int32{}
				for range tt.requests {
					all.Go(func() {
						r := plainRequest()
						r.MaxTokens = 40
						if _, err := c.Stream(t.Context(), r, nil); err != nil {
							if fails(t, err, Idle); time.Since(started) != time.Minute {
								t.Errorf("given up after %v", time.Since(started))
							}
							idle.Add(1)
						}
					})
				}
				all.Wait()
				if took := time.Since(started); int(idle.Load()) != tt.idle || took != tt.took {
					t.Errorf("%d of %d requests count as hung, after %v", idle.Load(), tt.requests, took)
				}
			})
		})
	}
}

// head begins an answer that ends with its connection.
const head = "HTTP/1.0 200 OK\r\n\r\n"

// tokens writes some, one at a time, and the end.
func tokens(w io.Writer, n int, every time.Duration) {
	for i := range n {
		time.Sleep(every)
		io.WriteString(w, chunk("a", "null", i+1))
	}
	io.WriteString(w, chunk("", `"stop"`, n)+done)
}

// piped connects to servers in memory, each of which has read a request; they are numbered.
func piped(servers *sync.WaitGroup, serve func(c net.Conn, n int)) func(context.Context, string, string) (net.Conn, error) {
	var n atomic.Int32
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		servers.Go(func() {
			defer theirs.Close()
			r, _ := http.ReadRequest(bufio.NewReader(theirs))
			at := int(n.Add(1)) - 1
			io.Copy(io.Discard, r.Body)
			serve(theirs, at)
		})
		return ours, nil
	}
}
