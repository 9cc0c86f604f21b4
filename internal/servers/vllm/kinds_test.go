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
)

// TestCauses: an error names the cause that the server gave, whatever form it has, and the server.
func TestCauses(t *testing.T) {
	const cause = "CUDA out of memory at layer 7"
	for body, want := range map[string]Kind{
		dataOf(`{"error":{"message":"CAUSE","code":"500"}}`):                                                                      ServerFault,
		dataOf(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"CAUSE"}}]}`): ServerFault, // OpenRouter
		dataOf(`{"choices":[{"index":0,"delta":{}}],"x_groq":{"error":"CAUSE"}}`):                                                 ServerFault,
		dataOf(`{"error":"CAUSE"}`):                                                                                ServerFault,
		dataOf(`{"error":{"type":"x","detail":"CAUSE"}}`):                                                          ServerFault,
		dataOf(`{"error":"Internal Server Error","message":"CAUSE","status":500}`):                                 ServerFault,
		dataOf(`{"type":"error","error":{"type":"overloaded_error","message":"CAUSE"}}`):                           ServerFault,
		dataOf(`{"detail":"CAUSE"}`) + done:                                                                        ServerFault,
		dataOf(`{"detail":[{"loc":["body"],"msg":"CAUSE"}]}`):                                                      ServerFault,
		dataOf(`{"errors":[{"message":"CAUSE"}]}`):                                                                 ServerFault,
		dataOf(`{"choices":null,"base_resp":{"status_code":1002,"status_msg":"CAUSE"}}`):                           ServerFault,
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
			_, err = client(t, Options{}, says(200, body)).whole(t.Context(), request())
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
	_, err := client(t, Options{KeyHint: "the key of worker w is taken from the environment variable W_KEY"}, says(401, `{}`)).Models(t.Context())
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
