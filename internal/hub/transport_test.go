package hub_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/hub"
)

// TestSecureStaysSecure sends a reader of a secure service on to an insecure
// address, to which nothing may go.
func TestSecureStaysSecure(t *testing.T) {
	secure := httptest.NewTLSServer(http.RedirectHandler("http://127.0.0.1:1/x", http.StatusFound))
	defer secure.Close()
	l := lay(t, 10, nil)
	l.options.Endpoint, l.options.Transport = secure.URL, secure.Client().Transport
	l.wantFault(`an address of "http": that is not followed`)
}

func TestUnknownCertificateIsFinal(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	l := lay(t, 10, nil)
	l.options.Endpoint = secure.URL
	l.wantFault("certificate")
	if len(l.clock.slept) > 0 {
		t.Errorf("tried again after %v", l.clock.slept)
	}
}

// TestTokenStaysHome follows redirects to other hosts, and to other ports and
// names of the same: the token goes to none of them.
func TestTokenStaysHome(t *testing.T) {
	tests := []struct {
		endpoint, to string
		want         bool // that the token goes there
	}{
		{"https://hub.example", "https://hub.example/else", true},
		{"https://hub.example", "https://HUB.example:443/else", true},
		{"https://hub.example", "/else", true},
		{"https://hub.example", "https://cdn.hub.example/else", false},
		{"https://hub.example", "https://hub.example:8443/else", false},
		{"https://hub.example", "https://hub.example.evil/else", false},
		{"https://hub.example", "https://hub.example@evil.example/else", false},
		{"https://hub.example", "//evil.example/else", false},
		{"http://hub.example", "https://hub.example/else", false},
	}
	for _, test := range tests {
		var asked []*http.Request
		client, err := hub.New(hub.Options{Endpoint: test.endpoint, Token: token, Attempts: 1, Clock: &clockwork{}, Quiet: quiet, Transport: answerer(func(r *http.Request) *http.Response {
			asked = append(asked, r)
			if !strings.HasSuffix(r.URL.Path, "/else") {
				return &http.Response{StatusCode: 302, Header: header("Location", test.to, "X-Repo-Commit", revision, "X-Linked-Size", "5")}
			}
			return &http.Response{StatusCode: 200, Header: header("X-Repo-Commit", revision), ContentLength: 5, Body: io.NopCloser(strings.NewReader("12345"))}
		})})
		if err != nil {
			t.Fatal(err)
		}
		fetched, err := client.Fetch(t.Context(), hub.File{Dataset: dataset, Revision: revision, Name: name}, filepath.Join(t.TempDir(), "x"), nil)
		if err != nil || fetched.Verified != "size" {
			t.Errorf("%s: fetched %+v, %v", test.to, fetched, err)
		}
		for _, r := range asked {
			there := strings.HasSuffix(r.URL.Path, "/else")
			if got := r.Header.Get("Authorization") != ""; got != (!there || test.want) || r.URL.User != nil {
				t.Errorf("%s to %s: the request to %s has a token: %v", test.endpoint, test.to, r.URL, got)
			}
		}
	}
}

// answerer is a network of one function.
type answerer func(*http.Request) *http.Response

func (a answerer) RoundTrip(r *http.Request) (*http.Response, error) {
	response := a(r)
	if response == nil {
		return nil, io.ErrUnexpectedEOF
	}
	if response.Body == nil {
		response.Body = http.NoBody
	}
	response.Request = r
	return response, nil
}

// FuzzAnswers has a service answer anything at all, two answers in turn. There is
// an error, which holds no token, or a file that is what the service says.
func FuzzAnswers(f *testing.F) {
	content := "made of nothing"
	blob := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	whole := sha256.Sum256([]byte(content))
	good := fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Repo-Commit: %s\r\nETag: \"%x\"\r\nContent-Length: %d\r\n\r\n%s", revision, blob, len(content), content)
	moved := fmt.Sprintf("HTTP/1.1 302 Found\r\nX-Repo-Commit: %s\r\nX-Linked-Etag: \"%x\"\r\nX-Linked-Size: %d\r\nLocation: https://cdn.example/x?sign=%s\r\n\r\n", revision, whole, len(content), token)
	for _, answer := range []string{
		good, moved,
		"HTTP/1.1 206 Partial Content\r\nX-Repo-Commit: " + revision + "\r\nContent-Range: bytes 0-4/15\r\n\r\nmade ",
		"HTTP/1.1 302 Found\r\nLocation: \x7f://" + token + "\r\n\r\n",
		"HTTP/1.1 429 No\r\nRetry-After: 99999999999999999999\r\nX-Error-Message: \xff\x00" + token + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-Repo-Commit: " + revision + "\r\nX-Linked-Size: 9223372036854775807\r\n\r\nx",
		"HTTP/1.1 416 No\r\nX-Linked-Size: -9223372036854775808\r\n\r\n",
	} {
		f.Add([]byte(answer), []byte(good), uint8(3))
		f.Add([]byte(moved), []byte(answer), uint8(7))
	}
	f.Fuzz(func(t *testing.T, one, other []byte, kept uint8) {
		turn := 0
		reports := ""
		client, err := hub.New(hub.Options{Endpoint: "https://hub.example", Token: token, Attempts: 3, Clock: &clockwork{}, Quiet: quiet,
			Report: func(line string) { reports += line },
			Transport: answerer(func(r *http.Request) *http.Response {
				turn++
				if turn > 200 {
					return nil
				}
				answer := [][]byte{one, other}[turn%2]
				response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), r)
				if err != nil {
					return nil
				}
				return response
			})})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path+".part", []byte(content)[:int(kept)%len(content)], 0o666); err != nil {
			t.Fatal(err)
		}
		fetched, err := client.Fetch(t.Context(), hub.File{Dataset: dataset, Revision: revision, Name: name}, path, nil)
		if said := fmt.Sprint(err, reports); strings.Contains(said, token) {
			t.Errorf("the token is in %q", said)
		}
		got, missing := os.ReadFile(path)
		if (err == nil) != (missing == nil) {
			t.Fatalf("error %v, and of the file %v", err, missing)
		}
		if err == nil && (fetched.SHA256 != fmt.Sprintf("%x", sha256.Sum256(got)) || fetched.Bytes != int64(len(got)) || fetched.Revision != revision) {
			t.Errorf("fetched %+v, %d bytes", fetched, len(got))
		}
	})
}
