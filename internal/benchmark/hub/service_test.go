package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const token = "hf_neverToBeSeen"

var file = File{Dataset: "made/numbers", Revision: "0123456789abcdef0123456789abcdef01234567", Name: "data/some rows 100%.jsonl"}

// lab is a service with one file, and a place to download it to.
type lab struct {
	*testing.T
	Client
	content  []byte
	large    bool // the file is in a store on another host
	hub      *httptest.Server
	store    *httptest.Server
	fault    func(r *http.Request) http.HandlerFunc // answers in place of the service; nil: none
	mu       sync.Mutex
	requests []*http.Request
	sent     int // bytes of the file
	path     string
	reports  []string
	waits    []time.Duration
	waiting  func() // at every wait; nil: nothing
	now      func() time.Time
}

func newLab(t *testing.T, size int, large bool) *lab {
	t.Helper()
	l := &lab{T: t, content: make([]byte, size), large: large, path: filepath.Join(t.TempDir(), "deep", "rows.jsonl"), now: time.Now}
	rand.NewChaCha8([32]byte{byte(size)}).Read(l.content)
	l.hub = httptest.NewServer(http.HandlerFunc(l.serve))
	l.store = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(func() { l.hub.Close(); l.store.Close() })
	l.restart(l.hub.URL, token)
	return l
}

// restart makes a client, as another process would.
func (l *lab) restart(endpoint, token string) {
	l.Helper()
	c, err := New(Options{Endpoint: endpoint, Token: token, Clock: l, Report: func(line string) { l.reports = append(l.reports, line) }})
	if err != nil {
		l.Fatal(err)
	}
	l.Client = *c
}

func (l *lab) Now() time.Time { return l.now() }

// Sleep waits for nothing.
func (l *lab) Sleep(ctx context.Context, d time.Duration) error {
	l.waits = append(l.waits, d)
	if l.waiting != nil {
		l.waiting()
	}
	return ctx.Err()
}

func (l *lab) serve(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.requests = append(l.requests, r)
	var answer http.HandlerFunc
	if l.fault != nil {
		answer = l.fault(r)
	}
	l.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	atStore := "http://"+r.Host == l.store.URL
	switch {
	case atStore && (r.Method != http.MethodGet || r.Header.Get("Authorization") != "" || r.FormValue("signed") != "yes"):
		http.Error(w, "the signature does not match", http.StatusForbidden)
		return
	case atStore:
	case r.URL.Path != "/datasets/"+file.Dataset+"/resolve/"+file.Revision+"/"+file.Name:
		http.NotFound(w, r)
		return
	default:
		w.Header().Set("X-Repo-Commit", file.Revision)
		if l.large {
			w.Header().Set("X-Linked-Size", fmt.Sprint(len(l.content)))
			w.Header().Set("X-Linked-Etag", fmt.Sprintf(`"%x"`, sha256.Sum256(l.content)))
			http.Redirect(w, r, l.store.URL+"/blob?signed=yes", http.StatusFound)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(l.content)), l.content...))))
	}
	http.ServeContent(&counted{w, l, len(l.content)}, r, "", time.Time{}, bytes.NewReader(l.content))
}

// counted counts the bytes of the file, and breaks the connection after some of them.
type counted struct {
	http.ResponseWriter
	l    *lab
	left int
}

func (c *counted) Write(p []byte) (int, error) {
	p = p[:min(len(p), c.left)]
	c.left -= len(p)
	c.l.mu.Lock()
	c.l.sent += len(p)
	c.l.mu.Unlock()
	n, err := c.ResponseWriter.Write(p)
	if c.left == 0 {
		http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// cutAfter serves the file, and breaks the connection after n bytes of it.
func (l *lab) cutAfter(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n > 0 {
			http.ServeContent(&counted{w, l, n}, r, "", time.Time{}, bytes.NewReader(l.content))
			http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// status answers with a status and headers, a name before each value.
func status(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Repo-Commit", file.Revision)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
	}
}

// bytes reports whether a request is one for bytes, at the host that has them.
func (l *lab) bytes(r *http.Request) bool {
	return r.Method == http.MethodGet && l.large == ("http://"+r.Host == l.store.URL)
}

func (l *lab) fetch(ctx context.Context) (Fetched, error) {
	l.Helper()
	fetched, err := l.Fetch(ctx, file, l.path, func(done, total int64) {
		if done > total || total != int64(len(l.content)) {
			l.Errorf("%d bytes of %d", done, total)
		}
	})
	if said := fmt.Sprint(err, l.reports); strings.Contains(said, token) || strings.Contains(said, "signed") {
		l.Errorf("a secret is in %q", said)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if r.Header.Get("Authorization") != "" && "http://"+r.Host != l.hub.URL {
			l.Errorf("the token went to %s", r.Host)
		}
	}
	return fetched, err
}

// wantWhole downloads the file, and checks it and the files beside it.
func (l *lab) wantWhole() Fetched {
	l.Helper()
	fetched, err := l.fetch(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	got, err := os.ReadFile(l.path)
	if err != nil || !bytes.Equal(got, l.content) || fetched.Bytes != int64(len(got)) || fetched.SHA256 != fmt.Sprintf("%x", sha256.Sum256(got)) {
		l.Errorf("%d bytes are there, %v; fetched %+v", len(got), err, fetched)
	}
	if parts := l.parts(); len(parts) > 0 {
		l.Errorf("left %v", parts)
	}
	return fetched
}

// wantFault downloads and expects an error that names the file's address.
func (l *lab) wantFault(parts ...string) {
	l.Helper()
	_, err := l.fetch(l.Context())
	for _, part := range append(parts, "download http://", "/datasets/made/numbers/resolve/"+file.Revision+"/data/some%20rows%20100%25.jsonl") {
		if err == nil || !strings.Contains(err.Error(), part) {
			l.Errorf("error %v, want one with %q", err, part)
		}
	}
}

// parts are the files of first bytes.
func (l *lab) parts() []string {
	all, _ := filepath.Glob(l.path + ".*")
	return all
}

// kept is the size of the part.
func (l *lab) kept() int {
	l.Helper()
	parts := l.parts()
	if len(parts) != 1 {
		l.Fatalf("parts %v, want one", parts)
	}
	info, err := os.Stat(parts[0])
	if err != nil {
		l.Fatal(err)
	}
	return int(info.Size())
}

// cut downloads the first n bytes, as a call that is interrupted.
func (l *lab) cut(n int) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	l.waiting = cancel
	l.fault = func(r *http.Request) http.HandlerFunc {
		if l.bytes(r) {
			return l.cutAfter(n)
		}
		return nil
	}
	if _, err := l.fetch(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes are kept in %s.", n, l.path)) {
		l.Fatalf("error %v", err)
	}
	l.waiting, l.fault, l.sent, l.requests, l.waits = nil, nil, 0, nil, nil
}
