package vllm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRecordedStream reads a stream that vLLM 0.23.0 sent, with every change
// that server-sent events allow.
func TestRecordedStream(t *testing.T) {
	recorded, err := os.ReadFile("testdata/stream.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := string(recorded)
	tests := map[string]string{
		"as recorded":   text,
		"CRLF":          strings.ReplaceAll(text, "\n", "\r\n"),
		"CR":            strings.ReplaceAll(text, "\n", "\r"),
		"comments":      ": hello\n\n" + strings.ReplaceAll(text, "data:", ":ping\nid: 1\nevent: message\nretry: 5\ndata:"),
		"several lines": strings.ReplaceAll(text, `,"object"`, ",\ndata:\"object\""),
		"no space":      strings.ReplaceAll(text, "data: ", "data:"),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			var counts []int
			var pieces Completion
			r := request()
			r.Model = "tiny-dense"
			got, err := client(t, Options{}, says(200, text)).Stream(t.Context(), r, func(p Piece) {
				counts = append(counts, p.Usage.Completion)
				pieces.PromptIDs, pieces.TokenIDs = append(pieces.PromptIDs, p.PromptIDs...), append(pieces.TokenIDs, p.IDs...)
				pieces.Text += p.Text
			})
			if err != nil {
				t.Fatal(err)
			}
			checkRecorded(t, got)
			if want := []int{0, 1, 2, 3, 4, 4}; !slices.Equal(counts, want) {
				t.Errorf("usage seen %v, want %v", counts, want)
			}
			if pieces.Text != got.Text || !slices.Equal(pieces.TokenIDs, got.TokenIDs) || !slices.Equal(pieces.PromptIDs, got.PromptIDs) {
				t.Errorf("pieces %+v of %+v", pieces, got)
			}
			if got.First.Before(got.Sent) || got.Finished.Before(got.First) {
				t.Errorf("times %v, %v, %v", got.Sent, got.First, got.Finished)
			}
		})
	}
}

// chunk is an event with a text, a finish reason or null, and a usage.
func chunk(text, finish string, tokens int) string {
	return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":%s}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":%d}}\n\n", text, finish, tokens)
}

const done = "data: [DONE]\n\n"

func TestBadStreams(t *testing.T) {
	a := chunk("a", "null", 1)
	end := chunk("b", `"stop"`, 2)
	tests := []struct {
		name, body string
		want       Kind
		status     int
	}{
		{"nothing", "", Cut, 0},
		{"no end", a, Cut, 0},
		{"finish, no [DONE]", a + end, Cut, 0},
		{"[DONE] half sent", a + end + "data: [DON", Cut, 0},
		{"[DONE], no finish", a + done, Cut, 0},
		{"half a chunk", a + end[:20], Cut, 0},
		{"ended by the server", a + chunk("", `"abort"`, 1) + done, Cut, 0},
		{"no usage", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n" + done, Garbage, 0},
		{"no usage of nothing", "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" + done, Garbage, 0},
		{"negative usage", a + chunk("b", "null", -1) + end + done, Garbage, 0},
		{"NaN usage", a + strings.Replace(end, `"completion_tokens":2`, `"completion_tokens":NaN`, 1) + done, Garbage, 0},
		{"empty usage", a + "data: {\"choices\":[],\"usage\":{}}\n\n" + end + done, Garbage, 0},
		{"text of no tokens", chunk("a", `"stop"`, 0) + done, Garbage, 0},
		{"not JSON", a + "data: <html>\n\n" + end + done, Garbage, 0},
		{"not UTF-8", a + "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}\n\n" + end + done, Garbage, 0},
		{"rejected late", `data: {"error": {"message": "m", "type": "BadRequestError", "param": null, "code": 400}}` + "\n\n" + done, Rejected, 400},
		{"rejected late without a code", `data: {"error": {"message": "m", "type": "BadRequestError"}}` + "\n\n" + done, Rejected, 400},
		{"rejected late by another server", `data: {"error": {"message": "m", "type": "invalid_request_error", "code": null}}` + "\n\n" + done, Rejected, 400},
		{"fault late", a + `data: {"error": {"message": "m", "type": "InternalServerError", "code": 500}}` + "\n\n" + done, ServerFault, 500},
		{"fault with a word for a code", a + `data: {"error": {"message": "m", "code": "overloaded"}}` + "\n\n" + done, ServerFault, 0},
		{"engine dies", a + `data: {"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "code": 500}}` + "\n\n" + done, EngineDead, 500},
		{"error in a word", a + `data: {"error": "m"}` + "\n\n" + done, ServerFault, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := client(t, Options{}, says(200, tt.body)).Stream(t.Context(), request(), nil)
			e := fails(t, err, tt.want)
			if e.Status != tt.status || tt.status != 0 && e.Message == "" {
				t.Errorf("error %+v, want status %d", e, tt.status)
			}
			if strings.HasPrefix(tt.body, a) && (!strings.HasPrefix(got.Text, "a") || got.Usage.Completion < 1) {
				t.Errorf("what was seen is lost: %+v", got)
			}
		})
	}
}

// TestStreamBreaks cuts the connection inside a stream.
func TestStreamBreaks(t *testing.T) {
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, chunk("a", "null", 1))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	got, err := c.Stream(t.Context(), request(), nil)
	if fails(t, err, Cut); got.Text != "a" {
		t.Errorf("text %q, want what was seen", got.Text)
	}
}

// TestStreamConnectionIsReused has a server whose body ends a moment after
// [DONE]: it must be read to its end for the connection to be used again.
func TestStreamConnectionIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		c := dial(t, "http://h", Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			connections++
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				for reader := bufio.NewReader(theirs); ; {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					body := chunk("a", `"stop"`, 1) + done
					fmt.Fprintf(theirs, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
					time.Sleep(10 * time.Millisecond)
					io.WriteString(theirs, "0\r\n\r\n")
				}
			}()
			return ours, nil
		}})
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

// TestSlowStreamIsNotIdle has a word every 35 s, of at most 60 s of silence.
func TestSlowStreamIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			r, _ := http.ReadRequest(bufio.NewReader(theirs))
			io.Copy(io.Discard, r.Body)
			io.WriteString(theirs, "HTTP/1.0 200 OK\r\n\r\n")
			for i := range 3 {
				time.Sleep(35 * time.Second)
				io.WriteString(theirs, chunk("a", "null", i+1))
			}
			io.WriteString(theirs, chunk("", `"stop"`, 4)+done)
		}()
		c := dial(t, "http://h", Options{Idle: time.Minute, Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil }})
		got, err := c.Stream(t.Context(), request(), nil)
		if err != nil || got.Text != "aaa" || got.Finished.Sub(got.First) != 70*time.Second {
			t.Errorf("%q in %v, %v", got.Text, got.Finished.Sub(got.First), err)
		}
	})
}
