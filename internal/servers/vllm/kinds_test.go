package vllm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dataOf is an event of JSON.
func dataOf(json string) string { return "data: " + json + "\n\n" }

// stopped ends a stream.
var stopped = dataOf(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}`) + done

// delta is an event with a field of a delta.
func delta(field string) string { return dataOf(`{"choices":[{"index":0,"delta":{` + field + `}}]}`) }

// TestKindsOfHonestServers has streams and answers of which every honest server may send one.
func TestKindsOfHonestServers(t *testing.T) {
	a := delta(`"content":"a"`)
	withUsage := func(usage string) string {
		return a + dataOf(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":`+usage+`}`) + done
	}
	told := Usage{20, 8, -1}
	for name, tt := range map[string]struct {
		body            string
		text, reasoning string
		usage           Usage // the zero value: any
		mended          int
	}{
		"counts as floats":                  {withUsage(`{"prompt_tokens":20.0,"completion_tokens":8.0,"total_tokens":28.0}`), "a", "", told, 0},
		"counts with an exponent":           {withUsage(`{"prompt_tokens":2e1,"completion_tokens":0.8E+1}`), "a", "", told, 0},
		"counts as strings":                 {withUsage(`{"prompt_tokens":"20","completion_tokens":"8"}`), "a", "", told, 0},
		"counts of parts of tokens":         {withUsage(`{"prompt_tokens":20.5,"completion_tokens":8.25}`), "a", "", untold, 0},
		"reasoning counted as a float":      {withUsage(`{"prompt_tokens":20,"completion_tokens":8,"completion_tokens_details":{"reasoning_tokens":3.0}}`), "a", "", Usage{20, 8, 3}, 0},
		"a usage that is a list":            {withUsage(`[]`), "a", "", untold, 0},
		"details that are a list":           {withUsage(`{"prompt_tokens":20,"completion_tokens":8,"completion_tokens_details":[]}`), "a", "", told, 0},
		"a usage of null":                   {withUsage(`null`), "a", "", untold, 0},
		"numeric ids":                       {dataOf(`{"id":7,"system_fingerprint":1.5,"choices":[{"index":0,"delta":{"content":"a"}}]}`) + stopped, "a", "", Usage{}, 0},
		"an id that is a list":              {dataOf(`{"id":[7],"choices":[{"index":0,"delta":{"content":"a"}}]}`) + stopped, "a", "", Usage{}, 0},
		"no numbers":                        {dataOf(`{"choices":[{"index":0,"delta":{"content":"a\"NaN: -Infinity"},"logprobs":{"content":[{"logprob":-Infinity},{"logprob": NaN}]}}]}`) + stopped, `a"NaN: -Infinity`, "", Usage{}, 0},
		"index null":                        {strings.ReplaceAll(a+stopped, `"index":0`, `"index":null`), "a", "", Usage{}, 0},
		"index float":                       {strings.ReplaceAll(a+stopped, `"index":0`, `"index":0.0`), "a", "", Usage{}, 0},
		"index string":                      {strings.ReplaceAll(a+stopped, `"index":0`, `"index":"0"`), "a", "", Usage{}, 0},
		"a text and its end side by side":   {dataOf(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{},"finish_reason":"stop"}]}`) + done, "a", "", Usage{}, 0},
		"parts":                             {delta(`"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`) + stopped, "ab", "", Usage{}, 0},
		"parts with thinking":               {delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]`) + stopped, "a", "r", Usage{}, 0},
		"parts of other names":              {delta(`"content":[{"type":"reasoning","text":"r"},{"type":"thinking","thinking":"s"},{"type":"output_text","text":"a"},{"type":"reference","ids":[1]}]`) + stopped, "a", "rs", Usage{}, 0},
		"a part alone, and texts":           {delta(`"content":{"type":"text","text":"a"}`) + delta(`"content":["b","c"]`) + delta(`"content":[]`) + stopped, "abc", "", Usage{}, 0},
		"thinking in parts":                 {delta(`"reasoning_content":[{"type":"text","text":"r"}]`) + a + stopped, "a", "r", Usage{}, 0},
		"a pair in two chunks":              {delta(`"content":"x \ud83d"`) + delta(`"content":"\ude00 y"`) + stopped, "x 😀 y", "", Usage{}, 0},
		"a pair around an empty chunk":      {delta(`"content":"\\\uD83D"`) + delta(`"content":""`) + delta(`"role":"assistant"`) + delta(`"content":"\uDE00"`) + stopped, "\\😀", "", Usage{}, 0},
		"pairs of thinking and text":        {delta(`"reasoning":"\ud83d"`) + delta(`"reasoning":"\ude00"`) + delta(`"content":"\ud83d"`) + delta(`"content":"\ude01"`) + stopped, "😁", "😀", Usage{}, 0},
		"a pair in two parts":               {delta(`"content":[{"type":"text","text":"\ud83d"},{"type":"text","text":"\ude00"}]`) + stopped, "😀", "", Usage{}, 0},
		"a first half alone":                {delta(`"content":"x \ud83d"`) + delta(`"content":"y"`) + stopped, "x \ufffdy", "", Usage{}, 1},
		"a second half alone":               {delta(`"content":"x \udcaf"`) + stopped, "x \ufffd", "", Usage{}, 1},
		"a first half at the end":           {delta(`"content":"x \ud83d"`) + stopped, "x \ufffd", "", Usage{}, 1},
		"halves, and a character like them": {delta(`"content":"\ufffd\ud83d\ud83d�\\ud83d"`) + stopped, "\ufffd\ufffd\ufffd\ufffd\\ud83d", "", Usage{}, 2},
		"a whole answer":                    {strings.Replace(good, `"a"`, `"a\u2028\ud83d\ude00"`, 1), "a\u2028😀", "", Usage{1, 1, -1}, 0},
		"a whole answer in lines":           {"\ufeff\r\n \r\n" + strings.ReplaceAll(good, ",", ",\r\n\r\n  "), "a", "", Usage{1, 1, -1}, 0},
		"a whole answer in an event":        {dataOf(good), "a", "", Usage{1, 1, -1}, 0},
		"chunks in lines, not events":       {strings.NewReplacer("data: [DONE]\n\n", "", "data: ", "", "\n\n", "\n").Replace(a + a + stopped), "aa", "", Usage{}, 0},
		"events with single line ends":      {strings.ReplaceAll(a+a+stopped, "\n\n", "\n"), "aa", "", Usage{}, 0},
		"errors of nothing": {dataOf(`{"error":{},"choices":[{"index":0,"delta":{"content":"a"}}]}`) + dataOf(`{"error":"","choices":[{"index":0,"delta":{"content":"b"}}]}`) +
			dataOf(`{"error":false,"choices":[{"index":0,"delta":{"content":"c"}}]}`) + stopped, "abc", "", Usage{}, 0},
	} {
		for _, packed := range []bool{false, true} {
			c := client(t, Options{Plain: true}, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if !packed {
					io.WriteString(w, tt.body)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				packer := gzip.NewWriter(w)
				io.WriteString(packer, tt.body)
				packer.Close()
			})
			text, reasoning := "", ""
			got, err := c.Stream(t.Context(), plainRequest(), func(p Piece) { text, reasoning = text+p.Text, reasoning+p.Reasoning })
			if err != nil || got.Text != tt.text || got.Reasoning != tt.reasoning || got.Finish != "stop" || got.Mended != tt.mended {
				t.Errorf("%s, packed %t: %+v, %v", name, packed, got, err)
			}
			if text != got.Text || reasoning != got.Reasoning || tt.usage != (Usage{}) && got.Usage != tt.usage {
				t.Errorf("%s, packed %t: pieces %q and %q, usage %+v", name, packed, text, reasoning, got.Usage)
			}
		}
	}
}

// TestCauses: an error names the cause that the server gave, whatever form it has, and the server.
func TestCauses(t *testing.T) {
	const cause = "CUDA out of memory at layer 7"
	for body, want := range map[string]Kind{
		dataOf(`{"error":{"message":"CAUSE","code":"500"}}`):                                                       ServerFault,
		dataOf(`{"error":"CAUSE"}`):                                                                                ServerFault,
		dataOf(`{"error":{"type":"x","detail":"CAUSE"}}`):                                                          ServerFault,
		dataOf(`{"error":"Internal Server Error","message":"CAUSE","status":500}`):                                 ServerFault,
		dataOf(`{"type":"error","error":{"type":"overloaded_error","message":"CAUSE"}}`):                           ServerFault,
		dataOf(`{"detail":"CAUSE"}`) + done:                                                                        ServerFault,
		dataOf(`{"detail":[{"loc":["body"],"msg":"CAUSE"}]}`):                                                      ServerFault,
		dataOf(`{"errors":[{"message":"CAUSE"}]}`):                                                                 ServerFault,
		dataOf(`{"text":"CAUSE","error_code":50001}`):                                                              ServerFault,
		dataOf(`{"object":"error","message":"CAUSE","type":"InternalServerError","param":null,"code":500}`) + done: ServerFault,
		dataOf(`{"object":"error","message":"CAUSE","code":400}`):                                                  Rejected,
		dataOf(`{"code":7,"info":"CAUSE"}`):                                                                        Garbage,
		"error: {\"code\":500,\"message\":\"CAUSE\",\"type\":\"server_error\"}\n\n":                                ServerFault,
		"error: CAUSE\n\n":                                ServerFault,
		"event: error\ndata: CAUSE\n\n":                   ServerFault,
		"event: error\ndata: {\"message\":\"CAUSE\"}\n\n": ServerFault,
		`{"error":{"message":"CAUSE","code":400}}`:        Rejected,
		"{\"detail\":\n \"CAUSE\"\n}":                     ServerFault,
		`{"message":"CAUSE"}`:                             Garbage,
		"upstream: CAUSE":                                 Garbage,
		"<!doctype html>\n<html>\n<head><style>b{}</style><title> CUDA out of\n memory at layer&#32;7</title></head>": Garbage,
		"<html><script>x</script><body><p>CUDA out of memory <b>at layer 7</b></body></html>":                         Garbage,
	} {
		body := strings.ReplaceAll(body, "CAUSE", cause)
		begun := delta(`"content":"It is"`)
		for _, before := range []string{"", begun} {
			if before != "" && want == Garbage || before != "" && body[0] == '{' {
				continue // without an error that begins, a stream that has begun is cut
			}
			c := client(t, Options{Plain: true}, says(200, before+body))
			_, err := c.Stream(t.Context(), plainRequest(), nil)
			if fails(t, err, want); !strings.Contains(strings.ReplaceAll(err.Error(), `\`, ""), cause) || !strings.Contains(err.Error(), c.URL()) {
				t.Errorf("%q: %v", before+body, err)
			}
			if before != "" {
				continue
			}
			_, err = client(t, Options{}, says(200, body)).Complete(t.Context(), request())
			if fails(t, err, want); !strings.Contains(err.Error(), cause) {
				t.Errorf("%q, whole: %v", body, err)
			}
			for _, status := range []int{400, 500} {
				body := strings.TrimPrefix(strings.TrimSuffix(body, "\n\n"), "data: ")
				_, err = client(t, Options{Plain: true}, says(status, body)).Stream(t.Context(), plainRequest(), nil)
				if err == nil || !strings.Contains(err.Error(), fmt.Sprint(status)) || !strings.Contains(err.Error(), cause) {
					t.Errorf("%d %q: %v", status, body, err)
				}
			}
		}
	}
	_, err := client(t, Options{}, says(429, `{"error":{"message":"no","type":"tokens","code":"insufficient_quota"}}`)).Complete(t.Context(), request())
	fails(t, err, Rejected)
	_, err = client(t, Options{KeyHint: "the key of worker w is taken from the environment variable W_KEY"}, says(401, `{}`)).Models(t.Context())
	if fails(t, err, Unauthorized); !strings.HasSuffix(err.Error(), "variable W_KEY") {
		t.Error(err)
	}
	_, err = client(t, Options{}, says(200, "<title>Sign in</title>")).Models(t.Context())
	if fails(t, err, Garbage); !strings.Contains(err.Error(), `"Sign in"`) {
		t.Error(err)
	}
	_, err = dial(t, "http://127.0.0.1:1", Options{}).Models(t.Context())
	if fails(t, err, Unreachable); !strings.Contains(err.Error(), "nothing listens on 127.0.0.1:1") {
		t.Error(err)
	}
}

// TestPacked are bodies that are packed as no one asked, or without end.
func TestPacked(t *testing.T) {
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	for range 256 {
		packer.Write(make([]byte, 1<<20))
	}
	packer.Close()
	for encoding, body := range map[string]string{"gzip": bomb.String(), "br": "xyz", "x-gzip": "no gzip"} {
		c := client(t, Options{Plain: true}, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Encoding", encoding)
			io.WriteString(w, body)
		})
		_, err := c.Stream(t.Context(), plainRequest(), nil)
		fails(t, err, Garbage)
		_, err = c.Models(t.Context())
		fails(t, err, Garbage)
	}
}

// TestEnvironment asks, in a process of its own, for a host that only a proxy knows, and one
// whose authority only a file knows.
func TestEnvironment(t *testing.T) {
	if address := os.Getenv("VLLM_TEST_ASKS"); address != "" {
		models, err := dial(t, address, Options{}).Models(t.Context())
		fmt.Printf("asked: %v, %v\n", models, err)
		return
	}
	proxy := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":"by proxy of %s"}]}`, r.URL.Host)
	}).URL()
	secret := httptest.NewTLSServer(says(200, `{"data":[{"id":"by an authority"}]}`))
	defer secret.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secret.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ address, proxy, without, authority, want string }{
		{"http://models.invalid", proxy, "", "", "by proxy of models.invalid"},
		{"http://models.invalid", proxy, "models.invalid", "", "no answer"},
		{"http://models.invalid", "http://127.0.0.1:1", "", "", "nothing listens on 127.0.0.1:1, the proxy of the environment"},
		{"http://127.0.0.1:1", proxy, "", "", "nothing listens on 127.0.0.1:1: "},
		{secret.URL, "", "", authority, "by an authority"},
		{secret.URL, "", "", "", "SSL_CERT_FILE"},
	} {
		asks := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		asks.Env = append(os.Environ(), "VLLM_TEST_ASKS="+tt.address, "http_proxy="+tt.proxy, "no_proxy="+tt.without, "SSL_CERT_FILE="+tt.authority)
		if said, err := asks.CombinedOutput(); err != nil || !strings.Contains(string(said), tt.want) {
			t.Errorf("%+v: %s, %v", tt, said, err)
		}
	}
	dialled := false
	c := dial(t, "http://h", Options{Dial: func(context.Context, string, string) (net.Conn, error) { dialled = true; return nil, io.EOF }})
	if _, err := c.Models(t.Context()); err == nil || !dialled || c.transport.Proxy != nil {
		t.Errorf("connections of one's own go by a proxy: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		asked, listed string
		want          bool
	}{{"m", "*", true}, {"openai/m", "openai/*", true}, {"m", "openai/*", false}, {"openai/", "openai/*", false}, {"pub/m:free", "pub/m:free", true}, {"m", "p/m", true}, {"m", "mm", false}} {
		if Serves(tt.asked, tt.listed) != tt.want {
			t.Errorf("asked %q, listed %q: %t", tt.asked, tt.listed, !tt.want)
		}
	}
	for _, tt := range []struct {
		asked, named string
		want         bool
	}{{"openai/gpt-x", "gpt-x", true}, {"pub/m:free", "pub/m", true}, {"pub/m:free", "m", true}, {"m", "M", true}, {"pub/m", "x", false}, {"pub/m-mini", "pub/m", false}, {"pub/m", "pub", false}} {
		r := plainRequest()
		r.Model = tt.asked
		body := strings.Replace(good, `{"choices"`, fmt.Sprintf(`{"model":%q,"choices"`, tt.named), 1)
		if _, err := client(t, Options{Plain: true}, says(200, body)).Complete(t.Context(), r); (err == nil) != tt.want {
			t.Errorf("asked %q, answered by %q: %v", tt.asked, tt.named, err)
		}
		if _, err := client(t, Options{}, says(200, body)).Complete(t.Context(), r); err == nil {
			t.Errorf("asked %q of vLLM, answered by %q", tt.asked, tt.named)
		}
	}
}

// TestAContextThatIsShort: an answer of vLLM ends with the context, where it does not hold
// the prompt and all that was asked for.
func TestAContextThatIsShort(t *testing.T) {
	sent := make(chan bool, 9)
	c := client(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		limited := strings.Contains(string(body), "max_tokens")
		if sent <- limited; limited {
			says(400, `{"error":{"message":"This model's maximum context length is 256 tokens. However, you requested 4 output tokens","type":"BadRequestError"}}`)(w, r)
			return
		}
		io.WriteString(w, good)
	})
	r := request()
	r.TokenIDs = false
	_, err := c.Complete(t.Context(), r)
	fails(t, err, Rejected)
	c.ShortContext(256)
	if answer, err := c.Complete(t.Context(), r); err != nil || answer.Finish != "stop" {
		t.Errorf("%+v, %v", answer, err)
	}
	if a, b, c := <-sent, <-sent, <-sent; !a || !b || c {
		t.Errorf("limits of tokens: %t %t %t", a, b, c)
	}
}

// TestAnswersThatComeWhole are asked for without "stream" where the user leaves it out.
func TestAnswersThatComeWhole(t *testing.T) {
	c := client(t, Options{Plain: true, Idle: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "stream") {
			says(400, `{"error":{"message":"streaming is not supported"}}`)(w, r)
			return
		}
		io.WriteString(w, good)
	})
	r := plainRequest()
	_, err := c.Stream(t.Context(), r, nil)
	if err == nil || !strings.Contains(err.Error(), "--set sampling.leave_out=stream") {
		t.Errorf("error %v", err)
	}
	r.LeaveOut = LeaveStream
	heard := ""
	answer, err := c.Stream(t.Context(), r, func(p Piece) { heard += p.Text })
	if err != nil || answer.Text == "" || heard != answer.Text {
		t.Errorf("%q, heard %q, %v", answer.Text, heard, err)
	}
}
