package vllm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnswersBeyondTheirTokens are what no server sends that was asked for four tokens.
func TestAnswersBeyondTheirTokens(t *testing.T) {
	long := strings.Repeat("x", someText+textOfToken*(4+plainExcess)+1)
	ids := `"token_ids":[` + strings.TrimSuffix(strings.Repeat("1,", 5+plainExcess), ",") + `]`
	name := strings.Repeat("n", longestName+1)
	nested := strings.Repeat("[", 1<<15) + strings.Repeat("]", 1<<15)
	for what, change := range map[string]func(string) string{
		"more tokens than asked for": func(s string) string {
			return strings.ReplaceAll(s, `"completion_tokens":1`, `"completion_tokens":100000`)
		},
		"billions of tokens": func(s string) string {
			return strings.ReplaceAll(s, `"completion_tokens":1`, `"completion_tokens":2147483647`)
		},
		"more than 32 bits of tokens": func(s string) string {
			return strings.ReplaceAll(s, `"completion_tokens":1`, `"completion_tokens":1e999`)
		},
		"billions of tokens of prompt":  func(s string) string { return strings.ReplaceAll(s, `"prompt_tokens":1`, `"prompt_tokens":2147483647`) },
		"a text longer than its tokens": func(s string) string { return strings.ReplaceAll(s, `"content":"a"`, `"content":"`+long+`"`) },
		"a thought longer than its tokens": func(s string) string {
			return strings.ReplaceAll(s, `"content":"a"`, `"content":"a","reasoning":"`+long+`"`)
		},
		"more ids than tokens": func(s string) string { return strings.ReplaceAll(s, `"index":0`, `"index":0,`+ids) },
		"ids of a prompt without end": func(s string) string {
			return strings.ReplaceAll(s, `"usage"`, `"prompt_token_ids":[`+strings.Repeat("1,", someTemplate*2)+`1],"usage"`)
		},
		"an id of megabytes": func(s string) string { return strings.ReplaceAll(s, `"choices"`, `"id":"`+name+`","choices"`) },
		"a fingerprint of megabytes": func(s string) string {
			return strings.ReplaceAll(s, `"choices"`, `"system_fingerprint":"`+name+`","choices"`)
		},
		"a model of megabytes":  func(s string) string { return strings.ReplaceAll(s, `"choices"`, `"model":"`+name+`","choices"`) },
		"a reason of megabytes": func(s string) string { return strings.ReplaceAll(s, `"stop"`, `"`+name+`"`) },
		"more JSON than tokens": func(s string) string {
			return strings.ReplaceAll(s, `"choices"`, `"more":"`+strings.Repeat("m", 2<<20)+`","choices"`)
		},
		"JSON that is too deep": func(s string) string { return strings.ReplaceAll(s, `"choices"`, `"more":`+nested+`,"choices"`) },
		"a second choice": func(s string) string {
			return strings.ReplaceAll(s, `"choices":[`, `"choices":[{"index":1,"delta":{"content":"b"}},`)
		},
		"a choice of another index": func(s string) string { return strings.ReplaceAll(s, `"index":0`, `"index":7`) },
		"the same choice twice": func(s string) string {
			return strings.ReplaceAll(s, `"choices":[`, `"choices":[{"index":0,"delta":{"content":"b"}},`)
		},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", what, plain), func(t *testing.T) {
				o := Options{Plain: plain}
				_, err := client(t, o, says(200, change(good))).Complete(t.Context(), plainRequest())
				fails(t, err, Garbage)
				if len(err.Error()) > 2000 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
				_, err = client(t, o, says(200, change(chunk("a", `"stop"`, 1))+done)).Stream(t.Context(), plainRequest(), nil)
				fails(t, err, Garbage)
			})
		}
	}
	_, err := client(t, Options{}, says(200, strings.Replace(good, `"content":"a"`, `"content":"`+long[:textOf(1)+1]+`"`, 1))).Complete(t.Context(), request())
	fails(t, err, Garbage) // of a server that counts every token
}

// TestLongestHonestAnswers are as long as tokens can be, all of them, and JSON can make them.
func TestLongestHonestAnswers(t *testing.T) {
	r := plainRequest()
	r.MaxTokens = 2000
	for what, token := range map[string]string{"blanks": strings.Repeat(" ", 128), "lines": strings.Repeat(`\n`, 128), "escaped": strings.Repeat(`\u4e2d`, 11)} {
		whole := strings.NewReplacer(`"content":"a"`, `"content":"`+strings.Repeat(token, 2000)+`"`, `"completion_tokens":1`, `"completion_tokens":2000`).Replace(good)
		if _, err := client(t, Options{}, says(200, whole)).Complete(t.Context(), r); err != nil {
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
	for what, tt := range map[string]struct {
		status int
		start  string
		piece  string
		want   Kind
	}{
		"text":             {200, "", chunk(strings.Repeat("x", 9000), "null", 1), Garbage},
		"one event":        {200, "data: ", strings.Repeat("x", 9000), Garbage},
		"lines of one":     {200, "", "data: " + strings.Repeat("x", 9000) + "\n", Garbage},
		"comments":         {200, "", ":" + strings.Repeat("x", 9000) + "\n\n", Garbage},
		"empty pieces":     {200, "", chunk("", "null", 0), Garbage},
		"a refusal":        {400, "", strings.Repeat("no ", 3000), Rejected},
		"a server's fault": {500, "", strings.Repeat("no ", 3000), ServerFault},
	} {
		t.Run(what, func(t *testing.T) {
			said := 0
			c := client(t, Options{Plain: true}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.WriteHeader(tt.status)
				for n, err := io.WriteString(w, tt.start); err == nil && said < 64<<20; n, err = io.WriteString(w, tt.piece) {
					said += n
				}
			})
			_, err := c.Stream(t.Context(), plainRequest(), nil)
			fails(t, err, tt.want)
			c.Close()
		})
	}
}

// TestControlAnswersWithoutEnd are lists of models and metrics that do not end.
func TestControlAnswersWithoutEnd(t *testing.T) {
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"data":[`)
		said := 0
		for n, err := 0, error(nil); err == nil && said < 64<<20; said += n {
			n, err = io.WriteString(w, strings.Repeat(`{"id":"another one, and yet another one"},`, 400))
		}
		if said > 4*largestControl {
			t.Errorf("%s: %d bytes were read", r.URL.Path, said)
		}
	})
	if models, err := c.Models(t.Context()); len(models) > 0 {
		t.Errorf("%d models", len(models))
	} else {
		fails(t, err, Garbage)
	}
	_, err := c.Metrics(t.Context())
	fails(t, err, Garbage)
	_, err = c.Tokenize(t.Context(), "m", "x")
	fails(t, err, Garbage)
	name := strings.Repeat("n", longestName+1)
	_, err = client(t, Options{}, says(200, `{"data":[{"id":"m"},{"id":"`+name+`"}]}`)).Models(t.Context())
	fails(t, err, Garbage)
	_, err = client(t, Options{}, says(200, `{"version":"`+name+`"}`)).Version(t.Context())
	fails(t, err, Garbage)
}

// TestContinuationsAreBoundedToo: a server that goes on with an answer within a character
// writes the text of that itself, and is asked for a token at a time.
func TestContinuationsAreBoundedToo(t *testing.T) {
	const half = "\ufffd"
	rest := func(n int) string {
		return `data: {"choices":[{"index":0,"text":"x","finish_reason":"length","token_ids":[7]}],"usage":{"prompt_tokens":` + fmt.Sprint(n) + `,"completion_tokens":1}}` + "\n\n" + done
	}
	serve := func(text func(ids int) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var q struct {
				Prompt any
				Tokens []int32
			}
			json.NewDecoder(r.Body).Decode(&q)
			switch r.URL.Path {
			case "/tokenize":
				io.WriteString(w, `{"tokens":[1,2]}`)
			case "/detokenize":
				json.NewEncoder(w).Encode(map[string]string{"prompt": text(len(q.Tokens))})
			default:
				ids, _ := q.Prompt.([]any)
				io.WriteString(w, rest(len(ids)))
			}
		}
	}
	r := request()
	r.MaxTokens = 40
	r.Prefix = &Prefix{PromptIDs: []int32{1}, IDs: []int32{5}, Text: "a"}
	long := strings.Repeat("x", textOf(r.MaxTokens)+1)
	_, err := client(t, Options{}, serve(func(ids int) string {
		switch ids {
		case 1:
			return "a"
		case 2:
			return "a" + half
		}
		return "a" + long
	})).Stream(t.Context(), r, nil)
	fails(t, err, Garbage)
}

// TestTimeIsThatOfTokens: what is no token keeps no stream alive, and tokens only those
// that may come.
func TestTimeIsThatOfTokens(t *testing.T) {
	role := `data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n"
	untold := `data: {"choices":[{"index":0,"delta":{"content":" word"}}]}` + "\n\n"
	for what, tt := range map[string]struct {
		head, piece string
		every       time.Duration
		counted     bool             // the piece has a %d for a count
		at          [2]time.Duration // of the end, of vLLM and others
		want        Kind
	}{
		"empty pieces":             {"", role, time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
		"comments":                 {"", ": alive\n\n", time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
		"the same count":           {"", chunk("", "null", 0), time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
		"a token, and nothing":     {chunk("a", "null", 1), role, time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
		"tokens past the last":     {"", "counted", time.Second, true, [2]time.Duration{11 * time.Second, 27 * time.Second}, Garbage},
		"pieces past the last":     {"", untold, time.Second, false, [2]time.Duration{91 * time.Second, 91 * time.Second}, Idle},
		"a token now and then":     {"", "counted", 59 * time.Second, true, [2]time.Duration{149 * time.Second, 149 * time.Second}, Idle},
		"headers that never end":   {"headers", "X-More: 1\r\n", time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
		"a refusal without an end": {"refusal", "no ", time.Second, false, [2]time.Duration{60 * time.Second, 60 * time.Second}, Idle},
	} {
		for i, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %t", what, plain), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var servers sync.WaitGroup
					defer servers.Wait()
					c := dial(t, "http://h", Options{Plain: plain, Idle: time.Minute, Dial: func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						servers.Go(func() {
							defer theirs.Close()
							r, _ := http.ReadRequest(bufio.NewReader(theirs))
							io.Copy(io.Discard, r.Body)
							switch tt.head {
							case "headers":
								io.WriteString(theirs, "HTTP/1.0 200 OK\r\n")
							case "refusal":
								io.WriteString(theirs, "HTTP/1.0 500 No\r\n\r\n")
							default:
								io.WriteString(theirs, "HTTP/1.0 200 OK\r\n\r\n"+tt.head)
							}
							for n := 1; ; n++ {
								time.Sleep(tt.every)
								piece := tt.piece
								if tt.counted {
									piece = chunk(" w", "null", n)
								}
								if _, err := io.WriteString(theirs, piece); err != nil {
									return
								}
							}
						})
						return ours, nil
					}})
					r := plainRequest()
					r.MaxTokens = 10
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
					_, err = c.Complete(t.Context(), request())
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
