package vllm

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
)

func TestNewAddresses(t *testing.T) {
	for url, want := range map[string][2]string{
		"http://h:8000":                    {"http://h:8000", "http://h:8000/v1"},
		"http://h:8000/":                   {"http://h:8000", "http://h:8000/v1"},
		"http://h:8000/v1":                 {"http://h:8000", "http://h:8000/v1"},
		"http://h:8000/v1/":                {"http://h:8000", "http://h:8000/v1"},
		"https://api.example.com/v1":       {"https://api.example.com", "https://api.example.com/v1"},
		"https://host/openai/v1":           {"https://host/openai", "https://host/openai/v1"},
		"http://[::1]:8000/v1":             {"http://[::1]:8000", "http://[::1]:8000/v1"},
		"https://host/v1/chat/completions": {"https://host", "https://host/v1"},
		"https://host/vault":               {"https://host/vault", "https://host/vault/v1"},
		"https://host/api/paas/v4":         {"https://host/api/paas/v4", "https://host/api/paas/v4"},
		"https://host/v1beta/openai/":      {"https://host/v1beta/openai", "https://host/v1beta/openai"},
		"https://v1.example.com/proxy":     {"https://v1.example.com/proxy", "https://v1.example.com/proxy/v1"},
	} {
		if c := dial(t, url, Options{}); c.URL() != want[0] || c.api != want[1] {
			t.Errorf("New(%q) is of %q, asked at %q", url, c.URL(), c.api)
		}
	}
	for _, url := range []string{"", "h:8000", "ftp://h", "http://", "http://u:p@h", "http://h?a=b", "http://h/%zz"} {
		if _, err := New(url, Options{}); err == nil {
			t.Errorf("New(%q) finds nothing wrong", url)
		}
	}
}

// TestRecordedAnswer reads an answer that vLLM 0.23.0 gave.
func TestRecordedAnswer(t *testing.T) {
	recorded, err := os.ReadFile("testdata/answer.json")
	if err != nil {
		t.Fatal(err)
	}
	var path, id, key, kind string
	var sent map[string]any
	c := client(t, Options{Key: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		path, id = r.URL.Path, r.Header.Get("X-Request-Id")
		key, kind = r.Header.Get("Authorization"), r.Header.Get("Content-Type")
		json.NewDecoder(r.Body).Decode(&sent)
		w.Write(recorded)
	})
	r := request()
	r.ID, r.Model = "trace", "tiny-dense"
	got, err := c.Complete(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if path != "/v1/chat/completions" || id != "trace" || key != "Bearer secret" || kind != "application/json" || sent["seed"] != 7.0 {
		t.Errorf("sent %s, id %q, key %q, %q, %v", path, id, key, kind, sent)
	}
	if got.Finished.Before(got.Sent) || got.Sent.IsZero() || !got.First.IsZero() {
		t.Errorf("times %v, %v, %v", got.Sent, got.First, got.Finished)
	}
	checkRecorded(t, got)
}

// promptIDs are of the prompt of the recorded answer.
var promptIDs = []int32{257, 117, 115, 101, 114, 10, 104, 105, 258, 10, 257, 97, 115, 115, 105, 115, 116, 97, 110, 116, 10}

// checkRecorded compares with the recorded answer, which was streamed as well.
func checkRecorded(t *testing.T, got Completion) {
	t.Helper()
	want := Completion{
		ID: "chatcmpl-trace", Model: "tiny-dense", Text: "���H", Finish: "length", Usage: Usage{Prompt: 21, Completion: 4, Reasoning: -1},
		TokenIDs: []int32{132, 131, 169, 72}, PromptIDs: promptIDs, Fingerprint: "vllm-0.23.0-564dff19",
		Sent: got.Sent, First: got.First, Finished: got.Finished,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("completion %+v\nwant %+v", got, want)
	}
}

const good = `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`

// TestBadAnswers has every way in which an answer with status 200 is none.
func TestBadAnswers(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the good answer has no %s", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct {
		name, body string
		want       Kind
	}{
		{"empty", ``, Garbage},
		{"page", `<html>busy</html>`, Garbage},
		{"half", good[:len(good)/2], Cut},
		{"more", good + good, Garbage},
		{"no choices", `{"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage},
		{"empty choices", `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage},
		{"null choice", `{"choices":[null],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, Garbage},
		{"choices of another kind", `{"choices":5}`, Garbage},
		{"no message", swap(`"message":{"content":"a"},`, ``), Garbage},
		{"text of another kind", swap(`"a"`, `5`), Garbage},
		{"parts without a text", swap(`"a"`, `[{"a":"b"}]`), Garbage},
		{"no usage", swap(`"usage"`, `"used"`), Garbage},
		{"null usage", swap(`{"prompt_tokens":1,"completion_tokens":1}`, `null`), Garbage},
		{"empty usage", swap(`"prompt_tokens":1,"completion_tokens":1`, ``), Garbage},
		{"NaN usage", swap(`"completion_tokens":1`, `"completion_tokens":NaN`), Garbage},
		{"negative usage", swap(`"completion_tokens":1`, `"completion_tokens":-1`), Garbage},
		{"broken usage", swap(`"completion_tokens":1`, `"completion_tokens":1.5`), Garbage},
		{"huge usage", swap(`"completion_tokens":1`, `"completion_tokens":1e99`), Garbage},
		{"no prompt", swap(`"prompt_tokens":1`, `"prompt_tokens":0`), Garbage},
		{"text of no tokens", swap(`"completion_tokens":1`, `"completion_tokens":0`), Garbage},
		{"negative reasoning", swap(`"completion_tokens":1`, `"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":-1}`), Garbage},
		{"too much reasoning", swap(`"completion_tokens":1`, `"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":2}`), Garbage},
		{"not UTF-8", swap(`"a"`, "\"a\xff\""), Garbage},
		{"half a character", swap(`"a"`, "\"\xe2\x82\""), Garbage},
		{"token beyond 32 bits", swap(`"finish_reason"`, `"token_ids":[4294967296],"finish_reason"`), Garbage},
		{"unfinished", swap(`"stop"`, `null`), Garbage},
		{"ended by the server", swap(`"stop"`, `"abort"`), Cut},
		{"error object", `{"error":{"message":"m","type":"BadRequestError","code":400}}`, Rejected},
		{"deep", strings.Repeat(`{"choices":[`, 20000), Garbage},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := client(t, Options{}, says(200, tt.body)).Complete(t.Context(), request())
			fails(t, err, tt.want)
		})
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		status    int
		body      string
		want      Kind
		permanent bool
		message   string
	}{
		{401, `{"error":"Unauthorized"}`, Unauthorized, true, "Unauthorized"},
		{403, `no`, Unauthorized, true, "no"},
		{404, `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":"model","code":404}}`, UnknownModel, true, "The model x does not exist."},
		{404, `{"detail":"Not Found"}`, UnknownModel, true, "Not Found"},
		{400, `{"error":{"message":"too long","type":"BadRequestError","param":"input_tokens","code":400}}`, Rejected, true, "too long"},
		{422, `{"detail":[{"loc":["body"],"msg":"m"}]}`, Rejected, true, `[{"loc":["body"],"msg":"m"}]`},
		{501, `{"error":{"message":"m","type":"NotImplementedError","param":null,"code":501}}`, Rejected, true, "m"},
		{307, ``, Rejected, true, "elsewhere"},
		{429, `slow down`, ServerFault, false, "slow down"},
		{500, `{"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}`, EngineDead, false, "EngineCore"},
		{500, `Internal Server Error`, ServerFault, false, "Internal Server Error"},
		{502, "<html>\xff</html>", ServerFault, false, `the web page "\xff"`},
		{502, "<html><head><title>502 Bad\n Gateway</title>…", ServerFault, false, `the web page "502 Bad Gateway"`},
		{503, ``, ServerFault, false, ""},
		{204, ``, ServerFault, false, ""},
	}
	for _, tt := range tests {
		c := client(t, Options{Key: "hidden-key"}, func(w http.ResponseWriter, r *http.Request) {
			if tt.status == 307 {
				w.Header().Set("Location", "http://elsewhere/v1")
			}
			says(tt.status, tt.body)(w, r)
		})
		_, err := c.Complete(t.Context(), request())
		_, streamed := c.Stream(t.Context(), request(), nil)
		for _, err := range []error{err, streamed} {
			e := fails(t, err, tt.want)
			if e.Status != tt.status || e.Kind.Permanent() != tt.permanent || !strings.Contains(e.Message, tt.message) {
				t.Errorf("%d %s: %+v", tt.status, tt.body, e)
			}
			if strings.Contains(err.Error(), "hidden-key") {
				t.Errorf("the key is in the error %v", err)
			}
		}
	}
}

func TestUnreachable(t *testing.T) {
	_, err := dial(t, "http://127.0.0.1:1", Options{}).Complete(t.Context(), request())
	if e := fails(t, err, Unreachable); !e.Unsent {
		t.Error("a request that was refused counts as sent")
	}
	for name, say := range map[string]string{"closes": "", "speaks no HTTP": "SSH-2.0\r\n", "stops in the header": "HTTP/1.1 200 OK\r\nconte"} {
		url := raw(t, func(_ int, c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, say)
		})
		_, err := dial(t, url, Options{}).Complete(t.Context(), request())
		if e := fails(t, err, Unreachable); e.Unsent {
			t.Errorf("%s: counts as not sent", name)
		}
	}
}

func TestCutBody(t *testing.T) {
	url := raw(t, func(_ int, c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"+good)
	})
	_, err := dial(t, url, Options{}).Complete(t.Context(), request())
	fails(t, err, Cut)
}

// TestKeptConnectionIsClosed has a server that closes a kept connection when
// the next request is on its way: the request must be sent again.
func TestKeptConnectionIsClosed(t *testing.T) {
	var requests atomic.Int32
	url := raw(t, func(n int, c net.Conn) {
		reader := bufio.NewReader(c)
		for i := 0; ; i++ {
			r, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			requests.Add(1)
			if n == 0 && i == 1 {
				c.(*net.TCPConn).SetLinger(0) // a reset
				return
			}
			(&http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(good)), Body: io.NopCloser(strings.NewReader(good))}).Write(c)
		}
	})
	c := dial(t, url, Options{})
	for range 2 {
		if _, err := c.Complete(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
	if requests.Load() != 3 {
		t.Errorf("%d requests arrived, want 3: the second twice", requests.Load())
	}
}
