package vllm

import (
	"bufio"
	"io"
	"net"
	"net/http"
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

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status  int
		body    string
		want    Kind
		message string
	}{
		{401, `{"error":"Unauthorized"}`, Unauthorized, "Unauthorized"},
		{403, `no`, Unauthorized, "no"},
		{404, `{"error":{"message":"The model x does not exist.","type":"NotFoundError","param":"model","code":404}}`, UnknownModel, "The model x does not exist."},
		{404, `{"detail":"Not Found"}`, UnknownModel, "Not Found"},
		{400, `{"error":{"message":"too long","type":"BadRequestError","param":"input_tokens","code":400}}`, Rejected, "too long"},
		{422, `{"detail":[{"loc":["body"],"msg":"m"}]}`, Rejected, `[{"loc":["body"],"msg":"m"}]`},
		{501, `{"error":{"message":"m","type":"NotImplementedError","param":null,"code":501}}`, Rejected, "m"},
		{307, ``, Rejected, "elsewhere"},
		{429, `{"error":{"message":"no","type":"tokens","code":"insufficient_quota"}}`, Rejected, "no"},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, Rejected, "quota"},
		{424, `{"error":"Request failed during generation","error_type":"generation"}`, ServerFault, "during generation"},
		{409, `{"error":{"message":"lock timeout"}}`, ServerFault, "lock timeout"},
		{429, `slow down`, ServerFault, "slow down"},
		{500, `{"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}`, EngineDead, "EngineCore"},
		{500, `Internal Server Error`, ServerFault, "Internal Server Error"},
		{502, "<html>\xff</html>", ServerFault, `the web page "\xff"`},
		{502, "<html><head><title>502 Bad\n Gateway</title>…", ServerFault, `the web page "502 Bad Gateway"`},
		{503, ``, ServerFault, ""},
		{204, ``, ServerFault, ""},
	} {
		c := client(t, Options{Key: "hidden-key"}, func(w http.ResponseWriter, r *http.Request) {
			if tt.status == 307 {
				w.Header().Set("Location", "http://elsewhere/v1")
			}
			says(tt.status, tt.body)(w, r)
		})
		_, err := c.whole(t.Context(), request())
		e := fails(t, err, tt.want)
		if permanent := tt.want < EngineDead; e.Status != tt.status || e.Kind.Permanent() != permanent || !strings.Contains(e.Message, tt.message) || e.Limited() != (tt.want == ServerFault && tt.status == 429) {
			t.Errorf("%d %s: %+v", tt.status, tt.body, e)
		}
	}
}

// TestBrokenConnections before an answer, and in the middle of one.
func TestBrokenConnections(t *testing.T) {
	_, err := dial(t, "http://127.0.0.1:1", Options{}).whole(t.Context(), request())
	if e := fails(t, err, Unreachable); !e.Unsent {
		t.Error("a request that was refused counts as sent")
	}
	for say, want := range map[string]Kind{
		"": Unreachable, "SSH-2.0\r\n": Unreachable, "HTTP/1.1 200 OK\r\nconte": Unreachable,
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + chunk("a", "null", 1): Cut, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + good: Cut,
	} {
		c := dial(t, raw(t, func(_ int, c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, say)
		}), Options{})
		got, err := c.Stream(t.Context(), request(), nil)
		if e := fails(t, err, want); e.Unsent || want == Cut && got.Text != "a" {
			t.Errorf("%q: %+v, %v", say, got, err)
		}
	}
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
		if _, err := c.whole(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
	if requests.Load() != 3 {
		t.Errorf("%d requests arrived, want 3: the second twice", requests.Load())
	}
}
