package vllm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamConnectionIsReused has a server whose body ends a moment after
// [DONE]: it must be read to its end for the connection to be used again.
func TestStreamConnectionIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		var servers sync.WaitGroup
		defer servers.Wait()
		c := dial(t, "http://h", Options{Dial: piped(&servers, func(theirs net.Conn, n int) {
			connections = n + 1
			for reader := bufio.NewReader(theirs); ; {
				body := chunk("a", `"stop"`, 1) + done
				fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
				time.Sleep(10 * time.Millisecond)
				io.WriteString(theirs, "0\r\n\r\n")
				r, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
			}
		})})
		for range 5 {
			if _, err := c.Stream(t.Context(), request(), nil); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		if connections != 1 {
			t.Errorf("%d connections for 5 streams, want 1", connections)
		}
	})
}

// TestStreamStaysOpen has a server that says it is done and hangs then.
func TestStreamStaysOpen(t *testing.T) {
	left := make(chan bool)
	c := client(t, Options{Clock: new(hasty)}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, chunk("a", `"stop"`, 1)+done)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		left <- true
	})
	if got, err := c.Stream(t.Context(), request(), nil); err != nil || got.Text != "a" {
		t.Errorf("%q, %v", got.Text, err)
	}
	<-left
}

// TestAbortStream cancels a stream in its middle: the server learns of it, and
// the last usage is kept.
func TestAbortStream(t *testing.T) {
	left := make(chan bool)
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := range 3 {
			io.WriteString(w, chunk("a", "null", i+1))
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		left <- true
	})
	ctx, cancel := context.WithCancel(t.Context())
	got, err := c.Stream(ctx, request(), func(p Piece) {
		if p.Usage.Completion == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("error %v, want the context's", err)
	}
	if got.Usage.Completion != 3 || got.Text != "aaa" || got.Finish != "" {
		t.Errorf("seen %+v, want 3 tokens", got)
	}
	<-left
}
