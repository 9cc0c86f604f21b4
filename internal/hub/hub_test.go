package hub_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/hub"
	"speceval/internal/hub/hubtest"
)

func TestFetch(t *testing.T) {
	tests := []struct {
		name     string
		size     int
		change   func(*hubtest.Hub)
		verified string
		requests int
	}{
		{"small", 1000, nil, "git", 2},
		{"small, at another address of the host", 1000, func(h *hubtest.Hub) { h.Moved = true }, "git", 4},
		{"large, from another host", 3 << 20, large, "sha256", 3},
		{"empty", 0, nil, "git", 1},
		{"of a gated dataset", 1000, func(h *hubtest.Hub) { h.Gated, h.Large = []string{dataset}, 1 }, "sha256", 3},
		{"with a tag that is no hash", 1000, func(h *hubtest.Hub) {
			h.Fault = func(hubtest.Request) hubtest.Fault { return hubtest.Fault{Header: header("ETag", `W/"some"`)} }
		}, "size", 2},
		{"with its hash on a redirect, and another tag on the file", 10, func(h *hubtest.Hub) {
			h.Moved = true
			h.Fault = func(r hubtest.Request) hubtest.Fault {
				tag := map[bool]string{true: fmt.Sprintf("%x", sha1.Sum(append([]byte("blob 10\x00"), made(10)...))), false: "some"}[r.Number%2 == 0]
				return hubtest.Fault{Header: header("ETag", `"`+tag+`"`)}
			}
		}, "git", 4},
		{"with its hash on the file, and another tag on a redirect", 10, func(h *hubtest.Hub) {
			h.Moved = true
			h.Fault = func(r hubtest.Request) hubtest.Fault {
				if r.Number%2 == 0 {
					return hubtest.Fault{Header: header("ETag", `"some"`)}
				}
				return hubtest.Fault{}
			}
		}, "git", 4},
		{"with its size and hash on a redirect of the host", 1000, func(h *hubtest.Hub) {
			h.Moved = true
			h.Fault = func(r hubtest.Request) hubtest.Fault {
				if r.Number%2 == 0 {
					return hubtest.Fault{Header: header("ETag", `"`+strings.Repeat("a", 40)+`"`, "X-Linked-ETag", `"any"`, "X-Linked-Size", "1000")}
				}
				return hubtest.Fault{}
			}
		}, "size", 4},
		{"with the hash of its redirect's text", 3 << 20, func(h *hubtest.Hub) {
			h.Large = 1
			h.Fault = func(r hubtest.Request) hubtest.Fault {
				return hubtest.Fault{Header: header("ETag", `"`+strings.Repeat("a", 64)+`"`)}
			}
		}, "sha256", 3},
		{"in an answer of unknown length", 1000, func(h *hubtest.Hub) {
			h.Fault = func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Unmeasured: r.Method == "GET"} }
		}, "git", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := lay(t, test.size, test.change)
			fetched := l.wantWhole()
			if fetched.Verified != test.verified || fetched.Kept {
				t.Errorf("fetched %+v, want it verified by %s", fetched, test.verified)
			}
			if got := l.Requests(); len(got) != test.requests {
				t.Errorf("%d requests, want %d: %+v", len(got), test.requests, got)
			}
			for _, r := range l.Requests() {
				if want := map[bool]string{false: token, true: ""}[r.Store]; r.Token != want {
					t.Errorf("request %+v carries another token than %q", r, want)
				}
			}
		})
	}
}

func TestFetchWithoutToken(t *testing.T) {
	l := lay(t, 1000, nil)
	l.options.Token = ""
	l.wantWhole()
	for _, r := range l.Requests() {
		if r.Token != "" {
			t.Errorf("request %+v carries a token", r)
		}
	}
}

func TestEndpointWithAPath(t *testing.T) {
	l := lay(t, 10, nil)
	l.options.Endpoint = l.URL + "/mirror/"
	l.wantFault("404", "is HF_ENDPOINT right ("+l.URL+"/mirror)")
}

func TestProgress(t *testing.T) {
	l := lay(t, 5<<20, large)
	var last int64 = -1
	_, err := l.fetch(t.Context(), func(done, total int64) {
		if done < last || done > total || total != 5<<20 {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil || last != 5<<20 {
		t.Errorf("ended at %d, %v", last, err)
	}
}

func TestFileThatIsThereStays(t *testing.T) {
	for _, change := range []func(*hubtest.Hub){nil, large} {
		l := lay(t, 70000, change)
		l.put("", l.content)
		l.put(".part.json", []byte("of a process that ended while it tidied up"))
		var done int64
		fetched, err := l.fetch(t.Context(), func(n, _ int64) { done = n })
		if err != nil || !fetched.Kept || fetched.Bytes != 70000 || done != 70000 {
			t.Errorf("fetched %+v, %v; reported %d bytes", fetched, err, done)
		}
		if l.bodies() != 0 || !l.reported("is there already") {
			t.Errorf("asked %+v, reported %q", l.Requests(), l.reports)
		}
		if l.wantWhole().SHA256 != fetched.SHA256 {
			t.Errorf("another SHA-256 than that of the file: %s", fetched.SHA256)
		}
	}
}

func TestFileThatIsThereIsAnother(t *testing.T) {
	other := made(70000)
	other[69999]++
	for _, there := range [][]byte{other, other[:10], {}} {
		l := lay(t, 70000, large)
		l.put("", there)
		if l.wantWhole().Kept || !l.reported("is another") {
			t.Errorf("reported %q", l.reports)
		}
	}
}

// TestFileThatIsThereOutlivesFaults breaks what would replace a file.
func TestFileThatIsThereOutlivesFaults(t *testing.T) {
	l := lay(t, 70000, func(h *hubtest.Hub) {
		h.Fault = func(r hubtest.Request) hubtest.Fault { return hubtest.Fault{Break: true, After: 100} }
	})
	l.put("", []byte("old"))
	l.options.Attempts = 1
	l.wantFault("cut off after 100 of 70000 bytes", "100 bytes are kept in rows.jsonl.part, run again")
	if got := l.file(""); !bytes.Equal(got, []byte("old")) {
		t.Errorf("%d bytes are there", len(got))
	}
}

func TestFolderInTheWay(t *testing.T) {
	l := lay(t, 10, nil)
	if err := os.MkdirAll(l.path, 0o777); err != nil {
		t.Fatal(err)
	}
	l.wantFault("is there and is no file: move it away")
}

func TestNew(t *testing.T) {
	tests := []struct{ endpoint, token, want string }{
		{"", "", ""},
		{"https://mirror.example/hub/", " hf_x\n", ""},
		{"mirror.example", "", "HF_ENDPOINT: want an address like https://huggingface.co"},
		{"ftp://mirror.example", "", "HF_ENDPOINT"},
		{"https://me:hf_secret@mirror.example", "", "HF_ENDPOINT"},
		{"https://mirror.example?x=1", "", "HF_ENDPOINT"},
		{"https://mirror.example:port", "", "HF_ENDPOINT"},
		{"", "hf_secret x", "HF_TOKEN: has characters"},
		{"", "hf_secret\r\nX-Other: 1", "HF_TOKEN: has characters"},
		{"", "hf_secret\u00e9", "HF_TOKEN: has characters"},
	}
	for _, test := range tests {
		_, err := hub.New(hub.Options{Endpoint: test.endpoint, Token: test.token})
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hf_secret")) {
			t.Errorf("%q with %q: error %v, want %q", test.endpoint, test.token, err, test.want)
		}
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	good := hub.File{Dataset: "a/b", Revision: revision, Name: "x"}
	tests := map[string]func(f *hub.File){
		"want an id like cais/mmlu":            func(f *hub.File) { f.Dataset = "../b" },
		`dataset "a/b/c"`:                      func(f *hub.File) { f.Dataset = "a/b/c" },
		`dataset "a/b?x"`:                      func(f *hub.File) { f.Dataset = "a/b?x" },
		"want 40 hexadecimal digits":           func(f *hub.File) { f.Revision = "main" },
		`file "../x" of a/b: want a path like`: func(f *hub.File) { f.Name = "../x" },
		`file "/x"`:                            func(f *hub.File) { f.Name = "/x" },
		`file "."`:                             func(f *hub.File) { f.Name = "." },
		`file "x\ny"`:                          func(f *hub.File) { f.Name = "x\ny" },
	}
	client, err := hub.New(hub.Options{Endpoint: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range tests {
		f := good
		change(&f)
		if _, err := client.Fetch(t.Context(), f, t.TempDir()+"/x", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", f, err, want)
		}
	}
}

const (
	dataset  = "made/numbers"
	name     = "data/some rows 100%.jsonl"
	revision = "0123456789abcdef0123456789abcdef01234567"
	token    = "hf_neverToBeSeen"
)

// lab is a service with one file, and a folder to fetch it to.
type lab struct {
	*hubtest.Hub
	t       *testing.T
	clock   *clockwork
	content []byte
	path    string // to fetch to
	options hub.Options
	reports []string
}

// lay makes a service with a made file of some bytes; change may change what it
// does, before it starts.
func lay(t *testing.T, size int, change func(*hubtest.Hub)) *lab {
	t.Helper()
	h := &hubtest.Hub{Dir: t.TempDir(), Token: token}
	content := made(size)
	path := filepath.Join(h.Dir, dataset, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(h)
	}
	hubtest.Start(t, h)
	clock := &clockwork{}
	l := &lab{Hub: h, t: t, clock: clock, content: content, path: filepath.Join(t.TempDir(), "deep", "rows.jsonl")}
	l.options = hub.Options{Endpoint: h.URL, Token: token, Clock: clock, Quiet: quiet, Report: func(line string) { l.reports = append(l.reports, line) }}
	return l
}

// made are bytes that look the same nowhere.
func made(size int) []byte {
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size)}).Read(content)
	return content
}

func large(h *hubtest.Hub) { h.Large = 1 }

func (l *lab) fetch(ctx context.Context, progress func(done, total int64)) (hub.Fetched, error) {
	l.t.Helper()
	client, err := hub.New(l.options)
	if err != nil {
		l.t.Fatal(err)
	}
	fetched, err := client.Fetch(ctx, hub.File{Dataset: dataset, Revision: revision, Name: name}, l.path, progress)
	if said := fmt.Sprint(err, l.reports); strings.Contains(said, token) {
		l.t.Errorf("the token is in %q", said)
	}
	return fetched, err
}

// wantWhole fetches the file, and checks it and the files left next to it.
func (l *lab) wantWhole() hub.Fetched {
	l.t.Helper()
	fetched, err := l.fetch(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	digest := sha256.Sum256(l.content)
	if fetched.SHA256 != hex.EncodeToString(digest[:]) || fetched.Bytes != int64(len(l.content)) || fetched.Revision != revision {
		l.t.Errorf("fetched %+v", fetched)
	}
	if got := l.file(""); !bytes.Equal(got, l.content) {
		l.t.Errorf("%d bytes are there, not the %d of the file", len(got), len(l.content))
	}
	if left := l.beside(); len(left) != 1 {
		l.t.Errorf("the folder holds %v", left)
	}
	return fetched
}

// wantFault fetches and expects an error.
func (l *lab) wantFault(parts ...string) error {
	l.t.Helper()
	_, err := l.fetch(l.t.Context(), nil)
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			l.t.Errorf("error %v, want one with %q", err, part)
		}
	}
	return err
}

// file is what stands at the path with a suffix; nil: nothing.
func (l *lab) file(suffix string) []byte {
	content, err := os.ReadFile(l.path + suffix)
	if err != nil {
		return nil
	}
	return content
}

func (l *lab) put(suffix string, content []byte) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path), 0o777); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(l.path+suffix, content, 0o666); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) beside() []string {
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(l.path), "*"))
	return all
}

// bodies counts the requests for bytes.
func (l *lab) bodies() int {
	return len(slices.DeleteFunc(l.Requests(), func(r hubtest.Request) bool { return r.Method != "GET" || r.Status >= 300 && r.Status < 400 }))
}

// sentSince counts the bytes of the file that were sent for requests after the
// first so many. Of requests that were given up more may be sent than came.
func (l *lab) sentSince(requests int) int64 {
	var sent int64
	for _, r := range l.Requests()[requests:] {
		sent += r.Bytes
	}
	return sent
}

func (l *lab) reported(part string) bool {
	return slices.ContainsFunc(l.reports, func(line string) bool { return strings.Contains(line, part) })
}

// quiet is what a clockwork never sleeps to its end: no test that has one is
// about silence.
const quiet = 987654321 * time.Second

// clockwork is a clock on which every wait is over at once, and noted.
type clockwork struct {
	mu    sync.Mutex
	slept []time.Duration
	asked func() // at every wait; nil: nothing
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func (c *clockwork) Now() time.Time { return noon }

func (c *clockwork) Sleep(ctx context.Context, d time.Duration) error {
	if d == quiet {
		<-ctx.Done()
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept = append(c.slept, d)
	if c.asked != nil {
		c.asked()
	}
	return ctx.Err()
}
