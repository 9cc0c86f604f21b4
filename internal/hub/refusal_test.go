package hub_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/internal/hub"
	"speceval/internal/hub/hubtest"
)

// header makes headers of names and values.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// always is a fault of every request.
func always(f hubtest.Fault) func(*hubtest.Hub) {
	return func(h *hubtest.Hub) { h.Fault = func(hubtest.Request) hubtest.Fault { return f } }
}

func TestAccess(t *testing.T) {
	const page = "/datasets/" + dataset
	gated := func(h *hubtest.Hub) { h.Gated = []string{dataset} }
	tests := []struct {
		name, token string
		change      func(*hubtest.Hub)
		status      int
		want        string
	}{
		{"no token", "", gated, 401, "put a token of that account"},
		{"bad token", "hf_other", gated, 401, "does not know the token in HF_TOKEN"},
		{"terms not accepted", token, func(h *hubtest.Hub) { h.Refused = []string{dataset} }, 403, "accept the terms of the dataset at"},
		{"forbidden without a word", token, always(hubtest.Fault{Status: 403}), 403, "answers with 403:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, 10, test.change)
			l.options.Token = test.token
			err := l.wantFault(l.URL+page, "HF_TOKEN", test.want, dataset)
			if e := (*hub.AccessError)(nil); !errors.As(err, &e) || e.Status != test.status || e.Page != l.URL+page || e.Dataset != dataset {
				t.Errorf("error %+v, want an AccessError with status %d", e, test.status)
			}
			if len(l.Requests()) != 1 || test.token != "" && strings.Contains(err.Error(), test.token) {
				t.Errorf("%d requests, error %v", len(l.Requests()), err)
			}
		})
	}
}

func TestAnswersThatAreFinal(t *testing.T) {
	tests := []struct {
		name   string
		change func(*hubtest.Hub)
		want   string
	}{
		{"no such dataset", always(hubtest.Fault{Status: 404, Header: header("X-Error-Code", "RepoNotFound")}), "no such dataset"},
		{"no such revision", func(h *hubtest.Hub) { h.Revisions = map[string]string{dataset: strings.Repeat("e", 40)} }, "RevisionNotFound: Invalid rev id: " + revision + "): the dataset has no revision"},
		{"no such file", always(hubtest.Fault{Status: 404, Header: header("X-Error-Code", "EntryNotFound")}), "has no such file"},
		{"another 404", always(hubtest.Fault{Status: 404}), "is HF_ENDPOINT right"},
		{"a joke", always(hubtest.Fault{Status: 418}), "418"},
		{"another revision", always(hubtest.Fault{Header: header("X-Repo-Commit", strings.Repeat("e", 40))}), "answers with revision \"" + strings.Repeat("e", 40)},
		{"no revision", always(hubtest.Fault{Header: http.Header{"X-Repo-Commit": nil}}), "does not say of which revision"},
		{"no size", always(hubtest.Fault{Unmeasured: true}), "does not say how large it is"},
		{"an odd size", always(hubtest.Fault{Header: header("X-Linked-Size", "-5")}), `has "-5" bytes`},
		{"packed", always(hubtest.Fault{Header: header("Content-Encoding", "gzip")}), `packed by "gzip"`},
		{"a redirect to a file", always(hubtest.Fault{Status: 302, Header: header("Location", "file:///etc/passwd")}), `an address of "file"`},
		{"a redirect to nowhere", always(hubtest.Fault{Status: 302}), "sends on to nowhere"},
		{"a redirect to no host", always(hubtest.Fault{Status: 302, Header: header("Location", "http:///x")}), "not followed"},
		{"redirects for ever", always(hubtest.Fault{Status: 302, Header: header("Location", "/datasets/a/b/resolve/x/y")}), "more than 10 redirects"},
		{"words for a terminal", always(hubtest.Fault{Status: 418, Header: header("X-Error-Message", "a\u009b31mb"+token)}), "418 (a31mb<HF_TOKEN>)"},
		{"many words", always(hubtest.Fault{Status: 418, Header: header("X-Error-Message", strings.Repeat("ü", 5000))}), "418 (" + strings.Repeat("ü", 150) + ")"},
		{"a token for a host", always(hubtest.Fault{Status: 302, Header: header("Location", "ftp://x/"+token)}), "ftp"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, 10, test.change)
			l.wantFault(test.want, "fetch "+name+" of "+dataset)
			if len(l.clock.slept) > 0 || len(l.beside()) > 0 {
				t.Errorf("waited %v, left %v", l.clock.slept, l.beside())
			}
		})
	}
}

func TestUnknownDatasetWithoutToken(t *testing.T) {
	l := lay(t, 10, nil)
	l.Dir += "x"
	l.options.Token = ""
	l.wantFault("401 (RepoNotFound", "HF_TOKEN")
}

// TestAnswersThatPass breaks the first requests, and lets the others through.
func TestAnswersThatPass(t *testing.T) {
	tests := []struct {
		name  string
		fault hubtest.Fault
		store bool // breaks the store's answers
		waits []time.Duration
	}{
		{"500", hubtest.Fault{Status: 500}, false, nil},
		{"503", hubtest.Fault{Status: 503, Header: header("Retry-After", "7")}, false, []time.Duration{7 * time.Second, 7 * time.Second}},
		{"429", hubtest.Fault{Status: 429}, false, nil},
		{"429 with seconds", hubtest.Fault{Status: 429, Header: header("Retry-After", "120")}, false, []time.Duration{2 * time.Minute, 2 * time.Minute}},
		{"429 with a date", hubtest.Fault{Status: 429, Header: header("Retry-After", noon.Add(time.Minute).Format(http.TimeFormat))}, false, []time.Duration{time.Minute, time.Minute}},
		{"429 with a date that has passed", hubtest.Fault{Status: 429, Header: header("Retry-After", noon.Add(-time.Minute).Format(http.TimeFormat))}, false, nil},
		{"429 with garbage", hubtest.Fault{Status: 429, Header: header("Retry-After", "soon")}, false, nil},
		{"no answer", hubtest.Fault{Break: true, After: -1}, false, nil},
		{"no answer of the store", hubtest.Fault{Break: true, After: -1}, true, nil},
		{"an address of the store that is too old", hubtest.Fault{Status: 403}, true, nil},
		{"a store that has lost the file", hubtest.Fault{Status: 404}, true, nil},
		{"a break before the first byte", hubtest.Fault{Break: true}, true, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			broken := 0
			l := lay(t, 1000, func(h *hubtest.Hub) {
				h.Large = 1
				h.Fault = func(r hubtest.Request) hubtest.Fault {
					if broken == 2 || r.Store != test.store {
						return hubtest.Fault{}
					}
					broken++
					return test.fault
				}
			})
			l.wantWhole()
			if len(l.clock.slept) != 2 || !l.reported("trying again in") {
				t.Fatalf("slept %v, reported %q", l.clock.slept, l.reports)
			}
			for i, d := range l.clock.slept {
				whole := time.Second << i
				if test.waits != nil && d != test.waits[i] || test.waits == nil && (d < whole/2 || d > whole) {
					t.Errorf("waits %v, want %v", l.clock.slept, test.waits)
				}
			}
		})
	}
}

func TestAskedToComeBackMuchLater(t *testing.T) {
	l := lay(t, 10, always(hubtest.Fault{Status: 429, Header: header("Retry-After", strconv.Itoa(3*3600))}))
	l.wantFault("429", "asks to come back in 3h0m0s")
	if len(l.clock.slept) > 0 {
		t.Errorf("slept %v", l.clock.slept)
	}
}

func TestWaits(t *testing.T) {
	waits := func(seed uint64, attempts int) []time.Duration {
		l := lay(t, 10, always(hubtest.Fault{Status: 500}))
		l.options.Seed, l.options.Attempts = seed, attempts
		l.wantFault("given up after "+strconv.Itoa(attempts)+" attempts", "500")
		if len(l.Requests()) != attempts {
			t.Errorf("%d requests for %d attempts", len(l.Requests()), attempts)
		}
		return l.clock.slept
	}
	one, again, other := waits(1, 30), waits(1, 30), waits(2, 30)
	same := 0
	for i, d := range one {
		whole := min(time.Second<<min(i, 10), time.Minute)
		if d != again[i] || d < whole/2 || d > whole {
			t.Errorf("wait %d is %v and %v, want %v at most", i, d, again[i], whole)
		}
		if d == other[i] {
			same++
		}
	}
	if len(one) != 29 || same > 0 {
		t.Errorf("%d waits, %d are those of another seed", len(one), same)
	}
}

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
