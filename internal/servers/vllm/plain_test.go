package vllm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// dialects are streams as other servers send them, of a request for the model m.
var dialects = []struct {
	name, body      string
	text, reasoning string
	finish          string
	usage           Usage
}{
	{"transformers serve: no [DONE], the end in a chunk of its own", // as recorded, with transformers 5.23
		`data: {"id":"abc","choices":[{"index":0,"delta":{"role":"assistant"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}` + "\n\n" +
			`data: {"id":"abc","choices":[{"index":0,"delta":{"content":"3"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}` + "\n\n" +
			`data: {"id":"abc","choices":[{"index":0,"delta":{"content":"+4"},"index":0}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":""}` + "\n\n" +
			`data: {"id":"abc","choices":[{"index":0,"delta":{},"index":0,"finish_reason":"length"}],"created":1795355837,"model":"m@main","object":"chat.completion.chunk","system_fingerprint":"","usage":{"completion_tokens":6,"prompt_tokens":31,"total_tokens":37}}` + "\n\n",
		"3+4", "", "length", Usage{31, 6, -1}},
	{"llama.cpp: a null text first, usage in a chunk without choices", // as recorded, build 11434
		`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}` + "\n\n" +
			`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":"3"}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}` + "\n\n" +
			`data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk"}` + "\n\n" +
			`data: {"choices":[],"created":1795357394,"id":"chatcmpl-Z","model":"m","system_fingerprint":"b0-unknown","object":"chat.completion.chunk","usage":{"completion_tokens":6,"prompt_tokens":31,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":30}},"timings":{"cache_n":30}}` + "\n\n" + done,
		"3", "", "length", Usage{31, 6, -1}},
	{"comments, an empty last text, usage in a chunk without choices",
		": PROCESSING\n\n" + `data: {"model":"p/m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n" +
			": PROCESSING\n\n" + `data: {"model":"p/m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n" +
			`data: {"model":"p/m","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"model":"p/m","choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":0}}}` + "\n\n" + done,
		"a", "", "stop", Usage{2, 1, 0}},
	{"no usage", `data: {"model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + done,
		"a", "", "stop", untold},
	{"null everywhere", `data: {"model":null,"choices":null,"usage":null}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"r"},"finish_reason":null}],"usage":null}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":null,"completion_tokens":null}}` + "\n\n" + done,
		"", "r", "stop", untold},
	{"reasoning by both names", `data: {"choices":[{"index":0,"delta":{"reasoning":"r","reasoning_content":""}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"reasoning":"s","reasoning_content":"s"}}]}` + "\n\n" + chunk("a", `"stop"`, 3) + done,
		"a", "rs", "stop", Usage{1, 3, -1}},
	{"zeros until the end", chunk("a", "null", 0) + strings.Replace(chunk("b", `"stop"`, 0), `"prompt_tokens":1`, `"prompt_tokens":0`, 1) + `data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":2}}` + "\n\n",
		"ab", "", "stop", Usage{4, 2, -1}},
	{"zeros for a text", chunk("a", `"stop"`, 0) + done, "a", "", "stop", untold},
	{"thinking that is no part of the answer's tokens", chunk("a", "null", 1) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":9}}}` + "\n\n" + done,
		"a", "", "stop", Usage{1, 1, -1}},
	{"a byte order mark, CRLF, comments, bare data and other events",
		"\ufeff" + strings.ReplaceAll(chunk("a", "null", 1)+": hi\n\ndata:\n\ndata: \n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"+
			"data: {\"object\":\"x\"}\n\ndata\n\n:\n\n"+chunk("b", `"stop"`, 2)+"data: [DONE] \n\n", "\n", "\r\n"),
		"ab", "", "stop", Usage{1, 2, -1}},
	{"a text, and an empty one by another name", `data: {"choices":[{"index":0,"delta":{"content":"a","reasoning_content":"r","reasoning":null},"message":{"role":"assistant","content":"","reasoning":""}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"message":{"content":null},"delta":{"content":"b","content":null},"text":""}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"content":"c"},"message":{"content":"abc"},"finish_reason":"null"}]}` + "\n\n" + chunk("", `"stop"`, 3) + done,
		"abc", "r", "stop", Usage{1, 3, -1}},
	{"a refusal in place of a text", `data: {"choices":[{"index":0,"delta":{"content":null,"refusal":"No"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"refusal":"."},"finish_reason":"stop"}]}` + "\n\n" + done,
		"No.", "", "stop", untold},
	{"an end in other words, kept as it came", chunk("a", `"MAX_TOKENS"`, 1) + done, "a", "", "MAX_TOKENS", Usage{1, 1, -1}},
	{"the end without its blank line", chunk("a", `"stop"`, 1) + "data: [DONE]", "a", "", "stop", Usage{1, 1, -1}},
}

func TestDialects(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			text, reasoning := "", ""
			got, err := client(t, Options{Plain: true}, says(200, d.body)).Stream(t.Context(), plainRequest(), func(p Piece) {
				text, reasoning = text+p.Text, reasoning+p.Reasoning
				if u := p.Usage; u.Told() && u.check() != nil {
					t.Errorf("heard of the usage %+v", u)
				}
			})
			if text != got.Text || reasoning != got.Reasoning {
				t.Errorf("the pieces are %q and %q", text, reasoning)
			}
			if err != nil || got.Text != d.text || got.Reasoning != d.reasoning || got.Finish != d.finish || got.Usage != d.usage {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// plainRequest is a good one that any server may get.
func plainRequest() Request {
	r := request()
	r.TokenIDs = false
	return r
}

// TestPlainStreamsThatEndEarly: what is left out must not hide that a stream was
// cut, and what was counted so far stays a number.
func TestPlainStreamsThatEndEarly(t *testing.T) {
	a := `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"
	for name, tt := range map[string]struct {
		body string
		want Kind
	}{
		"nothing":             {"", Cut},
		"no finish":           {a, Cut},
		"[DONE], no finish":   {a + done, Cut},
		"ended by the server": {a + chunk("", `"error"`, 1) + done, Cut},
		"ended as null":       {a + chunk("", `"null"`, 1) + done, Cut},
		"an unknown end":      {a + chunk("", `"novel_end"`, 1) + done, UnknownEnd},
		"half a chunk":        {a + a[:20], Cut},
		"an error":            {a + `data: {"error":{"message":"m","code":502}}` + "\n\n", ServerFault},
		"a page":              {"data: <html>\n\n", Garbage},
		"another model":       {strings.Replace(a, `{"c`, `{"model":"m-mini","c`, 1) + done, OtherModel},
	} {
		got, err := client(t, Options{Plain: true}, says(200, tt.body)).Stream(t.Context(), plainRequest(), nil)
		if fails(t, err, tt.want); got.Usage != untold && got.Usage.check() != nil {
			t.Errorf("%s: usage %+v", name, got.Usage)
		}
	}
}

// TestUnknownEnds: no answer that ends in an unknown way passes, and asking again is no use.
func TestUnknownEnds(t *testing.T) {
	body := `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"WORD"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	for word, want := range map[string]Kind{"novel_end": UnknownEnd, "OTHER": UnknownEnd, "null": Garbage, "": Garbage, "abort": Cut, "insufficient_system_resource": Cut, "eos_token": 0, "SAFETY": 0} {
		_, err := client(t, Options{}, says(200, strings.Replace(body, "WORD", word, 1))).Complete(t.Context(), request())
		if want == 0 {
			if err != nil {
				t.Errorf("%q: %v", word, err)
			}
			continue
		}
		if e := fails(t, err, want); want == UnknownEnd && (!e.Kind.Permanent() || !strings.Contains(err.Error(), fmt.Sprintf("%q", word))) {
			t.Errorf("%q: %v", word, err)
		}
	}
	withheld := `{"choices":[{"index":0,"finish_reason":"content_filter: PROHIBITED_CONTENT"}],"usage":{"prompt_tokens":9,"completion_tokens":0}}`
	if got, err := client(t, Options{}, says(200, withheld)).Complete(t.Context(), request()); err != nil || got.Text != "" || got.Finish != "content_filter: PROHIBITED_CONTENT" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSameModel(t *testing.T) {
	for named, want := range map[string]bool{
		"m": true, "m-2024-08-06": true, "m-0613": true, "m-001": true, "m:latest": true, "m@main": true, "p/m": true, "a/p/m:free": true, "M": true, "p/M-0613": true,
		"": false, "m-mini": false, "m-70b": false, "m-405b": false, "m-3": false, "mm": false, "m2": false, "p/mm": false, "m/p": false, "m-": false,
	} {
		if SameModel("m", named) != want {
			t.Errorf("asked for m, %q answers: %t", named, !want)
		}
	}
	if !SameModel("/models/m", "/models/m@main") || !SameModel("p/m", "p/m") || SameModel("p/m", "m") || SameModel("", "m") {
		t.Error("names with slashes")
	}
}

// TestOtherModel asks vLLM, which names the model as it was asked, and others.
func TestOtherModel(t *testing.T) {
	for named, wants := range map[string][2]bool{"m": {true, true}, "m-2024-08-06": {false, true}, "gpt-4o": {false, false}, "": {true, true}} {
		whole := strings.Replace(good, `{"choices"`, fmt.Sprintf(`{"model":%q,"choices"`, named), 1)
		pieces := strings.Replace(chunk("a", `"stop"`, 1), `{"choices"`, fmt.Sprintf(`{"model":%q,"choices"`, named), 1) + done
		for i, plain := range []bool{false, true} {
			got, err := client(t, Options{Plain: plain}, says(200, whole)).Complete(t.Context(), plainRequest())
			streamed, errOfStream := client(t, Options{Plain: plain}, says(200, pieces)).Stream(t.Context(), plainRequest(), nil)
			for _, err := range []error{err, errOfStream} {
				if wants[i] {
					if err != nil || got.Model != named || streamed.Model != named {
						t.Errorf("%q, plain %t: %q, %q, %v", named, plain, got.Model, streamed.Model, err)
					}
					continue
				}
				if e := fails(t, err, OtherModel); !e.Kind.Permanent() || !strings.Contains(err.Error(), `"m"`) || !strings.Contains(err.Error(), named) {
					t.Errorf("error %v, want one that names both models", err)
				}
			}
		}
	}
}

// picky is a server that refuses some fields, and keeps what it was sent.
type picky struct {
	status  int
	refusal map[string]string // by field
	mu      sync.Mutex
	sent    []map[string]any
}

func (p *picky) serve(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	json.NewDecoder(r.Body).Decode(&body)
	p.mu.Lock()
	p.sent = append(p.sent, body)
	p.mu.Unlock()
	for field, refusal := range p.refusal {
		if _, found := body[field]; found {
			says(p.status, refusal)(w, r)
			return
		}
	}
	if body["stream"] == true {
		io.WriteString(w, chunk("a", `"stop"`, 1)+done)
		return
	}
	io.WriteString(w, good)
}

const (
	wantsTheOtherName = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
	wantsLess         = `{"detail":[{"type":"extra_forbidden","loc":["body","FIELD"],"msg":"Extra inputs are not permitted"}]}`
)

// TestRefusedFields: what a server can do without is left out or renamed, once
// and for all; what would change the answers is an error.
func TestRefusedFields(t *testing.T) {
	without := func(field string) string { return strings.Replace(wantsLess, "FIELD", field, 1) }
	tests := []struct {
		name     string
		server   *picky
		requests int // for two streams; 0: an error
		refused  string
	}{
		{"max_tokens", &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName}}, 3, ""},
		{"seed", &picky{status: 422, refusal: map[string]string{"seed": without("seed")}}, 3, "takes no seed"},
		{"stream_options", &picky{status: 422, refusal: map[string]string{"stream_options": without("stream_options")}}, 3, "may not tell tokens"},
		{"all three", &picky{status: 400, refusal: map[string]string{"seed": without("seed"), "max_tokens": wantsTheOtherName, "stream_options": without("stream_options")}}, 5, "seed"},
		{"temperature", &picky{status: 400, refusal: map[string]string{"temperature": `{"error":{"message":"Unsupported value: 'temperature' does not support 0.6 with this model.","type":"invalid_request_error","param":"temperature"}}`}}, 0, "'temperature' does not support 0.6"},
		{"top_p", &picky{status: 400, refusal: map[string]string{"top_p": `{"error":{"message":"top_p must be 1"}}`}}, 0, "top_p must be 1"},
		{"the other name, too", &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName, "max_completion_tokens": `{"error":{"message":"max_completion_tokens is too large: 4"}}`}}, 0, "too large"},
		{"seeds by a server that fails", &picky{status: 500, refusal: map[string]string{"seed": "no seed"}}, 0, "no seed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, Options{Plain: true}, tt.server.serve)
			for range 2 {
				_, err := c.Stream(t.Context(), plainRequest(), nil)
				if tt.requests == 0 {
					if err == nil || !strings.Contains(err.Error(), tt.refused) {
						t.Errorf("error %v, want %q", err, tt.refused)
					}
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Complete(t.Context(), plainRequest()); (err == nil) != (tt.requests > 0) {
				t.Error(err)
			}
			sent := tt.server.sent
			last := sent[len(sent)-1]
			if tt.requests > 0 && len(sent) != tt.requests+1 {
				t.Errorf("%d requests for three, want %d", len(sent), tt.requests+1)
			}
			if tt.requests > 0 && last["max_tokens"] != 4.0 && last["max_completion_tokens"] != 4.0 {
				t.Errorf("sent %v, without a limit of tokens", last)
			}
			if said := strings.Join(c.Refused(), "; "); tt.requests > 0 && (said == "") != (tt.refused == "") || tt.requests > 0 && !strings.Contains(said, tt.refused) {
				t.Errorf("says %q", said)
			}
		})
	}
	server := &picky{status: 400, refusal: map[string]string{"max_tokens": wantsTheOtherName}}
	_, err := client(t, Options{}, server.serve).Complete(t.Context(), request())
	if fails(t, err, Rejected); len(server.sent) != 1 {
		t.Errorf("vLLM is asked %d times for what it refuses", len(server.sent))
	}
}

// TestManner changes how a server is spoken to and back.
func TestManner(t *testing.T) {
	asked := make(chan string, 9)
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		says(500, "no list")(w, r)
	})
	c.TreatAsPlain(time.Second)
	if _, err := c.Metrics(t.Context()); !c.Plain() || !strings.Contains(err.Error(), "not offered") {
		t.Errorf("metrics of a plain server: %v", err)
	}
	if err := c.ResetPrefixCache(t.Context()); err == nil || len(asked) > 0 {
		t.Errorf("%v, and %d questions", err, len(asked))
	}
	if err := c.Health(t.Context()); err != nil || <-asked != "/v1/models" {
		t.Errorf("a plain server that answers is ill: %v", err)
	}
	c.TreatAsVLLM()
	if err := c.Health(t.Context()); err == nil || <-asked != "/health" || c.Plain() {
		t.Errorf("vLLM that answers 500 is well")
	}
}

func TestLater(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "", 0},
		{"Retry-After", "20", 20 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e99", longestLater},
		{"Retry-After", "soon", 0},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := later(h, now); got != tt.want {
			t.Errorf("%s: %s is %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestLimited(t *testing.T) {
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "7")
		says(429, `{"error":{"message":"slow down","type":"rate_limit_error"}}`)(w, r)
	})
	clock := new(notes)
	err := Retry{Attempts: 3, Clock: clock}.Do(t.Context(), func(ctx context.Context) error {
		_, err := c.Complete(ctx, request())
		return err
	})
	if e := fails(t, err, ServerFault); !e.Limited() || e.Later != 7*time.Second || !slices.Equal(clock.slept, []time.Duration{e.Later, e.Later}) {
		t.Errorf("%+v, waited %v", e, clock.slept)
	}
	_, err = client(t, Options{}, says(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`)).Complete(t.Context(), request())
	fails(t, err, Rejected)
	_, err = client(t, Options{}, says(500, ``)).Complete(t.Context(), request())
	if fails(t, err, ServerFault).Limited() {
		t.Error("any fault is a limit")
	}
}

// TestSilenceOfPlainServers: a request may wait for its turn as long as others
// are served, but a stream that has begun may not stop, and a server that is
// silent to all is hung.
func TestSilenceOfPlainServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan bool, 1) // the server works on one request at a time
		served := 0
		c := dial(t, "http://h", Options{Plain: true, Idle: time.Minute, Connections: 9, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				r, _ := http.ReadRequest(bufio.NewReader(theirs))
				io.Copy(io.Discard, r.Body)
				io.WriteString(theirs, "HTTP/1.0 200 OK\r\n\r\n"+`data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}`+"\n\n")
				turn <- true
				defer func() { <-turn }()
				if served++; served > 4 {
					io.WriteString(theirs, chunk("a", "null", 1))
					io.Copy(io.Discard, theirs) // hangs until the client is gone
					return
				}
				for i := range 4 {
					time.Sleep(20 * time.Second)
					io.WriteString(theirs, chunk("a", "null", i+1))
				}
				io.WriteString(theirs, chunk("", `"stop"`, 4)+done)
			}()
			return ours, nil
		}})
		ask := func(n int) (idle int, took time.Duration) {
			started := time.Now()
			errs := make([]error, n)
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _, errs[i] = c.Stream(t.Context(), plainRequest(), nil) })
			}
			all.Wait()
			for _, err := range errs {
				if err != nil {
					fails(t, err, Idle)
					idle++
				}
			}
			return idle, time.Since(started)
		}
		if idle, took := ask(4); idle != 0 || took != 320*time.Second {
			t.Errorf("%d of 4 requests count as hung, after %v", idle, took)
		}
		if idle, took := ask(1); idle != 1 || took != time.Minute {
			t.Errorf("a stream that stops was given up %d times, after %v", idle, took)
		}
	})
}

// TestSilenceOfOneStream stops a stream that has begun, while another goes on.
func TestSilenceOfOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := make(chan int, 2)
		c := dial(t, "http://h", Options{Plain: true, Idle: time.Minute, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			connections <- 1
			stops := len(connections) == 1
			go func() {
				defer theirs.Close()
				r, _ := http.ReadRequest(bufio.NewReader(theirs))
				io.Copy(io.Discard, r.Body)
				io.WriteString(theirs, "HTTP/1.0 200 OK\r\n\r\n"+chunk("a", "null", 1))
				if stops {
					io.Copy(io.Discard, theirs)
					return
				}
				for i := range 30 {
					time.Sleep(4 * time.Second)
					io.WriteString(theirs, chunk("a", "null", i+2))
				}
				io.WriteString(theirs, chunk("", `"stop"`, 31)+done)
			}()
			return ours, nil
		}})
		started := time.Now()
		r := plainRequest()
		r.MaxTokens = 40
		var took time.Duration
		var stopped, other error
		var all sync.WaitGroup
		all.Go(func() { _, stopped = c.Stream(t.Context(), r, nil); took = time.Since(started) })
		synctest.Wait()
		all.Go(func() { _, other = c.Stream(t.Context(), r, nil) })
		all.Wait()
		if fails(t, stopped, Idle); other != nil || took != time.Minute {
			t.Errorf("given up after %v; the other: %v", took, other)
		}
	})
}
