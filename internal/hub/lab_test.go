package hub_test

import (
	"bytes"
	"context"
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

// wantWhole fetches the file, and checks it and what is left beside it.
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

// wantFault fetches in vain.
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
