package vllm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// instant answers requests as fast as a connection carries them, without
// reading more of them than their length.
func instant(b *testing.B, answer string) string {
	return raw(b, func(_ int, c net.Conn) {
		for reader := bufio.NewReader(c); ; {
			length := 0
			for line := []byte{0}; len(line) > 0; {
				var err error
				if line, err = reader.ReadSlice('\n'); err != nil {
					return
				}
				line = bytes.TrimSpace(line)
				if n, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
					length, _ = strconv.Atoi(string(n))
				}
			}
			reader.Discard(length)
			io.WriteString(c, answer)
		}
	})
}

const chunksOfStream = 256

// long is a request for as many tokens.
func long() Request {
	r := request()
	r.MaxTokens = chunksOfStream
	return r
}

// pieces is what a server says to a streamed request of 256 tokens.
func pieces() string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n")
	piece := func(data string) { fmt.Fprintf(&b, "%x\r\ndata: %s\n\n\r\n", len(data)+8, data) }
	for i := range chunksOfStream {
		finish := "null"
		if i == chunksOfStream-1 {
			finish = `"stop"`
		}
		piece(fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1795280926,"model":"m","choices":[{"index":0,`+
			`"delta":{"content":" word"},"logprobs":null,"finish_reason":%s}],"usage":{"prompt_tokens":21,"total_tokens":%d,"completion_tokens":%d}}`,
			finish, 22+i, 1+i))
	}
	piece("[DONE]")
	b.WriteString("0\r\n\r\n")
	return b.String()
}

// BenchmarkStream is of one stream of 256 chunks.
func BenchmarkStream(b *testing.B) {
	url := instant(b, pieces())
	b.Run("client", func(b *testing.B) {
		c := dial(b, url, Options{Connections: 64})
		b.ReportAllocs()
		for b.Loop() {
			got, err := c.Stream(b.Context(), long(), func(Piece) {})
			if err != nil || got.Usage.Completion != chunksOfStream {
				b.Fatal(got.Usage, err)
			}
		}
	})
}
