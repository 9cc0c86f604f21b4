package vllm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestAnswersBeyondTheirTokens are what no server sends that was asked for four tokens.
func TestAnswersBeyondTheirTokens(t *testing.T) {
	long := strings.Repeat("x", someText+textOfToken*(4+plainExcess)+1)
	ids := `"token_ids":[` + strings.TrimSuffix(strings.Repeat("1,", 5+plainExcess), ",") + `]`
	name := strings.Repeat("n", longestName+1)
	nested := strings.Repeat("[", 1<<15) + strings.Repeat("]", 1<<15)
	for what, change := range map[string][2]string{
		"more tokens than asked for":       {`"completion_tokens":1`, `"completion_tokens":100000`},
		"more than 32 bits of tokens":      {`"completion_tokens":1`, `"completion_tokens":1e999`},
		"billions of tokens of prompt":     {`"prompt_tokens":1`, `"prompt_tokens":2147483647`},
		"a text longer than its tokens":    {`"content":"a"`, `"content":"` + long + `"`},
		"a thought longer than its tokens": {`"content":"a"`, `"content":"a","reasoning":"` + long + `"`},
		"more ids than tokens":             {`"index":0`, `"index":0,` + ids},
		"ids of a prompt without end":      {`"usage"`, `"prompt_token_ids":[` + strings.Repeat("1,", someTemplate*2) + `1],"usage"`},
		"an id of megabytes":               {`"choices"`, `"id":"` + name + `","choices"`},
		"a reason of megabytes":            {`"stop"`, `"` + name + `"`},
		"more JSON than tokens":            {`"choices"`, `"more":"` + strings.Repeat("m", 2<<20) + `","choices"`},
		"JSON that is too deep":            {`"choices"`, `"more":` + nested + `,"choices"`},
	} {
		change := func(s string) string { return strings.ReplaceAll(s, change[0], change[1]) }
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", what, plain), func(t *testing.T) {
				o := Options{Plain: plain}
				_, err := client(t, o, says(200, change(good))).whole(t.Context(), plainRequest())
				fails(t, err, Garbage)
				if len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				_, err = client(t, o, says(200, change(chunk("a", `"stop"`, 1))+done)).Stream(t.Context(), plainRequest(), nil)
				fails(t, err, Garbage)
			})
		}
	}
}

// TestLongestHonestAnswers are as long as tokens can be, all of them, and JSON can make them.
func TestLongestHonestAnswers(t *testing.T) {
	r := plainRequest()
	r.MaxTokens = 2000
	for what, token := range map[string]string{"blanks": strings.Repeat(" ", 128), "lines": strings.Repeat(`\n`, 128), "escaped": strings.Repeat(`\u4e2d`, 11)} {
		whole := strings.NewReplacer(`"content":"a"`, `"content":"`+strings.Repeat(token, 2000)+`"`, `"completion_tokens":1`, `"completion_tokens":2000`).Replace(good)
		if _, err := client(t, Options{}, says(200, whole)).whole(t.Context(), r); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var pieces strings.Builder
		for i := range 2000 {
			pieces.WriteString(strings.Replace(chunk("a", "null", i+1), `"content":"a"`, `"content":"`+token+`"`, 1))
		}
		pieces.WriteString(chunk("", `"length"`, 2000) + done)
		if got, err := client(t, Options{}, says(200, pieces.String())).Stream(t.Context(), r, nil); err != nil || got.Usage.Completion != 2000 {
			t.Errorf("%s in pieces: %v", what, err)
		}
	}
}

// TestEndlessAnswers never end what they say.
func TestEndlessAnswers(t *testing.T) {
	stream := func(c *Client) error { _, err := c.Stream(t.Context(), plainRequest(), nil); return err }
	models := func(c *Client) error { _, err := c.Models(t.Context()); return err }
	metrics := func(c *Client) error { _, err := c.Metrics(t.Context()); return err }
	list := strings.Repeat(`{"id":"another one, and yet another one"},`, 400)
	for what, tt := range map[string]struct {
		ask    func(*Client) error
		status int
		start  string
		piece  string
		want   Kind
	}{
		"text":             {stream, 200, "", chunk(strings.Repeat("x", 9000), "null", 1), Garbage},
		"one event":        {stream, 200, "data: ", strings.Repeat("x", 9000), Garbage},
		"lines of one":     {stream, 200, "", "data: " + strings.Repeat("x", 9000) + "\n", Garbage},
		"a refusal":        {stream, 400, "", strings.Repeat("no ", 3000), Rejected},
		"a server's fault": {stream, 500, "", strings.Repeat("no ", 3000), ServerFault},
		"models":           {models, 200, `{"data":[`, list, Garbage},
		"metrics":          {metrics, 200, `{"data":[`, list, Garbage},
	} {
		t.Run(what, func(t *testing.T) {
			said := 0
			c := client(t, Options{Plain: what != "metrics"}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.WriteHeader(tt.status)
				for n, err := io.WriteString(w, tt.start); err == nil && said < 64<<20; n, err = io.WriteString(w, tt.piece) {
					said += n
				}
				if said > 4*largestControl {
					t.Errorf("%d bytes were read", said)
				}
			})
			fails(t, tt.ask(c), tt.want)
			c.Close()
		})
	}
	name := strings.Repeat("n", longestName+1)
	fails(t, models(client(t, Options{}, says(200, `{"data":[{"id":"m"},{"id":"`+name+`"}]}`))), Garbage)
}

// TestContinuationsAreBoundedToo: a server that goes on with an answer within a character
// writes the text of that itself, and is asked for a token at a time.
func TestContinuationsAreBoundedToo(t *testing.T) {
	r := request()
	r.MaxTokens = 40
	r.Prefix = &Prefix{PromptIDs: []int32{1}, IDs: []int32{5}, Text: "a"}
	texts := []string{"", "a", "a\ufffd", "a" + strings.Repeat("x", textOf(r.MaxTokens)+1)} // of so many tokens
	_, err := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Tokens []int32 }
		json.NewDecoder(r.Body).Decode(&q)
		switch r.URL.Path {
		case "/tokenize":
			io.WriteString(w, `{"tokens":[1,2]}`)
		case "/detokenize":
			json.NewEncoder(w).Encode(map[string]string{"prompt": texts[len(q.Tokens)]})
		default:
			io.WriteString(w, dataOf(`{"choices":[{"index":0,"text":"x","finish_reason":"length","token_ids":[7]}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`)+done)
		}
	}).Stream(t.Context(), r, nil)
	fails(t, err, Garbage)
}

// TestHostileTransport are attacks below the JSON: the client ends each, takes little, and
// goes nowhere else.
func TestHostileTransport(t *testing.T) {
	for what, tt := range map[string]struct {
		answer string
		more   string // again and again
		want   []Kind
	}{
		"interim answers without end": {"", "HTTP/1.1 100 Continue\r\n\r\n", []Kind{Unreachable}},
		"headers without end":         {"HTTP/1.1 200 OK\r\n", "X-More: " + strings.Repeat("x", 9000) + "\r\n", []Kind{Unreachable}},
		"chunks with extensions":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("x", 2000) + "\r\n:\r\n", []Kind{Cut}},
		"a chunk of all memory":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n", strings.Repeat("x", 9000), []Kind{Garbage}},
		"a length of all memory":      {"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", strings.Repeat("x", 9000), []Kind{Garbage}},
		"gzip that was not asked for": {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00", "", []Kind{Garbage, Cut}},
		"a redirect":                  {"HTTP/1.1 307 Go\r\nLocation: http://elsewhere/v1\r\nContent-Length: 0\r\n\r\n", "", []Kind{Rejected}},
	} {
		t.Run(what, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				c := dial(t, raw(t, func(_ int, conn net.Conn) {
					r, err := http.ReadRequest(bufio.NewReader(conn))
					if err != nil {
						return
					}
					if r.Header.Get("Accept-Encoding") != "" {
						t.Error("asks for what must be unpacked")
					}
					io.Copy(io.Discard, r.Body)
					said, err := io.WriteString(conn, tt.answer)
					for tt.more != "" && err == nil && said < 256<<20 {
						var n int
						n, err = io.WriteString(conn, tt.more)
						said += n
					}
					if said > 64<<20 {
						t.Errorf("read %d bytes", said)
					}
				}), Options{Key: "hush"})
				var err error
				if stream {
					_, err = c.Stream(t.Context(), request(), nil)
				} else {
					_, err = c.whole(t.Context(), request())
				}
				e := fails(t, err, tt.want[min(len(tt.want)-1, map[bool]int{true: 1}[stream])])
				if strings.Contains(e.Error(), "hush") {
					t.Errorf("tells the key: %v", e)
				}
				c.Close()
			}
		})
	}
}
