package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFetch(t *testing.T) {
	for name, tt := range map[string]struct {
		size, requests int
		large          bool
	}{"small": {1000, 2, false}, "large": {3 << 20, 3, true}, "empty": {0, 1, false}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, tt.size, tt.large)
			if l.wantWhole().Kept || len(l.requests) != tt.requests || l.requests[0].Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("%d requests, want %d", len(l.requests), tt.requests)
			}
			if l.sent = 0; !l.wantWhole().Kept || l.sent > 0 {
				t.Errorf("%d bytes were sent of a file that is there", l.sent)
			}
			os.WriteFile(l.path, append(l.content, 'x'), 0o666)
			if l.wantWhole().Kept {
				t.Error("a longer file was kept")
			}
		})
	}
}

// TestCutsAtRandomPoints breaks downloads at random bytes, half of them so that the
// process ends too: no byte is sent twice.
func TestCutsAtRandomPoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		l := newLab(t, 1+random.IntN(300_000), random.IntN(2) == 0)
		cuts := random.IntN(8)
		l.fault = func(r *http.Request) http.HandlerFunc {
			if cuts == 0 || !l.bytes(r) {
				return nil
			}
			cuts--
			return l.cutAfter(random.IntN(len(l.content)+1) >> random.IntN(10))
		}
		for cuts > 0 && random.IntN(2) == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			l.waiting = cancel
			l.fetch(ctx)
			l.waiting = nil
			l.restart(l.hub.URL, token)
		}
		if info, err := os.Stat(l.path); err == nil && info.Size() < int64(len(l.content)) {
			t.Errorf("%d bytes of %d are there as if whole", info.Size(), len(l.content))
		}
		l.wantWhole()
		if l.sent != len(l.content) {
			t.Errorf("%d bytes were sent for %d", l.sent, len(l.content))
		}
	}
}

// TestResume keeps 400 of 1000 bytes, changes something, and downloads again.
func TestResume(t *testing.T) {
	ranged := func(header, text string) func(*lab) http.HandlerFunc {
		return func(*lab) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Range", header)
				w.WriteHeader(http.StatusPartialContent)
				io.WriteString(w, text)
			}
		}
	}
	for name, tt := range map[string]struct {
		answer func(l *lab) http.HandlerFunc // to the first request for bytes
		sent   int
	}{
		"no fault": {func(*lab) http.HandlerFunc { return nil }, 600},
		"ranges are ignored": {func(l *lab) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Range")
				http.ServeContent(&counted{w, l, 1001}, r, "", time.Time{}, bytes.NewReader(l.content))
			}
		}, 1000},
		"another range": {ranged("bytes 401-999/1000", "x"), 1000},
		"no range":      {ranged("", "x"), 1000},
		"no such range": {func(*lab) http.HandlerFunc { return status(416) }, 1000},
		"more bytes than there are": {func(l *lab) http.HandlerFunc {
			return ranged("bytes 400-5000/5001", string(l.content[400:])+strings.Repeat("x", 4001))(l)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1000, false)
			l.cut(400)
			once := false
			l.fault = func(r *http.Request) http.HandlerFunc {
				if !l.bytes(r) || once {
					return nil
				}
				once = true
				return tt.answer(l)
			}
			l.wantWhole()
			if l.sent != tt.sent {
				t.Errorf("%d bytes were sent, want %d", l.sent, tt.sent)
			}
		})
	}
}

// TestWrongBytes has a part that is not the file's: it is found and removed, and the
// file from before stays.
func TestWrongBytes(t *testing.T) {
	for _, large := range []bool{false, true} {
		for _, size := range []int{400, 1001} {
			l := newLab(t, 1000, large)
			l.cut(400)
			os.WriteFile(l.parts()[0], make([]byte, size), 0o666)
			os.WriteFile(l.path, []byte("old"), 0o666)
			l.wantFault("not the bytes that the service describes", "run again")
			if old, err := os.ReadFile(l.path); string(old) != "old" || len(l.parts()) > 0 {
				t.Errorf("%q is there, %v; parts %v", old, err, l.parts())
			}
			l.wantWhole()
		}
	}
}

func TestRefusals(t *testing.T) {
	gitHash := `"` + strings.Repeat("a", 40) + `"`
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no account":       {status(401), "answers with 401 Unauthorized: log in, accept the terms at HUB/datasets/made/numbers, and put a token"},
		"terms":            {status(403, "X-Error-Message", "not in the \u009b list"), `403 Forbidden, "not in the \u009b list": log in, accept the terms`},
		"no file":          {status(404, "X-Error-Message", "Entry not found"), `404 Not Found, "Entry not found": look at HUB/datasets/made/numbers; is HF_ENDPOINT right?`},
		"another status":   {status(418), "answers with 418"},
		"another revision": {status(200, "X-Repo-Commit", "main", "ETag", gitHash), `revision "main", want 0123`},
		"no revision":      {status(200, "X-Repo-Commit", ""), `is HF_ENDPOINT right?`},
		"no digest":        {status(200, "X-Linked-Size", "5", "ETag", `"abc"`), "no SHA-256 or Git hash"},
		"no size":          {status(200, "ETag", gitHash, "Transfer-Encoding", "chunked"), "gives no size"},
		"too large":        {status(200, "X-Linked-Size", "99999999999999", "ETag", gitHash), "at most 68719476736"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 10, false)
			l.fault = func(*http.Request) http.HandlerFunc { return tt.answer }
			l.wantFault(strings.ReplaceAll(tt.want, "HUB", l.hub.URL))
			if len(l.waits) > 0 || len(l.parts()) > 0 {
				t.Errorf("waited %v, left %v", l.waits, l.parts())
			}
		})
	}
}

// TestRetries breaks the first two answers.
func TestRetries(t *testing.T) {
	usual := []time.Duration{time.Second, 2 * time.Second}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		store  bool // breaks the store's answers
		waits  []time.Duration
	}{
		"500":                             {status(500), false, usual},
		"429":                             {status(429, "Retry-After", "soon"), false, usual},
		"429 with seconds":                {status(429, "Retry-After", "120"), false, []time.Duration{2 * time.Minute, 2 * time.Minute}},
		"an old address of the store":     {status(403), true, usual},
		"no answer":                       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, usual},
		"no answer of the store":          {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, usual},
		"silence":                         {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, usual},
		"silence of the store":            {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, true, usual},
		"silence in the middle of a file": {func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); <-r.Context().Done() }, true, usual},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1000, true)
			broken := 0
			l.now = func() time.Time { return time.Now().Add(200*time.Millisecond - quiet) } // a minute of silence ends soon
			l.fault = func(r *http.Request) http.HandlerFunc {
				if broken == 2 || tt.store != ("http://"+r.Host == l.store.URL) {
					return nil
				}
				broken++
				return tt.answer
			}
			l.wantWhole()
			if !slices.Equal(l.waits, tt.waits) || len(l.reports) != 2 || !strings.Contains(l.reports[0], "next attempt in") {
				t.Errorf("waited %v, want %v; reported %q", l.waits, tt.waits, l.reports)
			}
		})
	}
}

func TestGivingUp(t *testing.T) {
	l := newLab(t, 1000, true)
	l.fault = func(r *http.Request) http.HandlerFunc {
		if l.bytes(r) {
			return l.cutAfter(50)
		}
		return nil
	}
	l.wantWhole() // a new byte is a new start
	if len(l.waits) != 19 || slices.Max(l.waits) > time.Second {
		t.Errorf("waited %v", l.waits)
	}
	l = newLab(t, 1000, true)
	l.fault = func(r *http.Request) http.HandlerFunc {
		switch {
		case l.bytes(r) && r.Header.Get("Range") != "":
			return status(416)
		case l.bytes(r):
			return l.cutAfter(500)
		}
		return nil
	}
	l.wantFault("6 attempts in a row without a new byte")
	if l.sent > 7*500 {
		t.Errorf("%d bytes were sent", l.sent)
	}
	l = newLab(t, 10, false)
	l.fault = func(*http.Request) http.HandlerFunc { return status(429, "Retry-After", "10800") }
	l.wantFault("429", "asks to come back in 3h0m0s")
	if len(l.requests) != 1 {
		t.Errorf("%d requests", len(l.requests))
	}
}

func TestCancelled(t *testing.T) {
	l := newLab(t, 4<<20, true)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := l.Fetch(ctx, file, l.path, func(done, _ int64) {
		if done > 1<<20 {
			cancel()
		}
	})
	kept := l.kept()
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), fmt.Sprint(kept, " bytes are kept")) || kept <= 1<<20 {
		t.Errorf("%d bytes are kept, error %v", kept, err)
	}
	l.wantWhole()
	if last := l.requests[len(l.requests)-1].Header.Get("Range"); last != fmt.Sprintf("bytes=%d-", kept) {
		t.Errorf("range %s, %d were kept", last, kept)
	}
}

func TestTwoAtOnce(t *testing.T) {
	l := newLab(t, 1<<20, true)
	once := true
	_, err := l.Fetch(t.Context(), file, l.path, func(done, _ int64) {
		if once {
			once = false
			l.wantFault("another process downloads to")
		}
	})
	if info, absent := os.Stat(l.path); err != nil || absent != nil || info.Size() != 1<<20 {
		t.Errorf("error %v, %v", err, absent)
	}
}

func TestNew(t *testing.T) {
	for _, tt := range []struct{ endpoint, token, want string }{
		{"", "", ""},
		{"https://mirror.example/hub/", " hf_x\n", ""},
		{"mirror.example", "", "HF_ENDPOINT: want an address like https://huggingface.co"},
		{"ftp://mirror.example", "", "HF_ENDPOINT"},
		{"https://me:hf_secret@mirror.example", "", "HF_ENDPOINT"},
		{"", "hf_secret x", "HF_TOKEN: has characters"},
		{"", "hf_secret\r\nX-Other: 1", "HF_TOKEN: has characters"},
		{"", "hf_secret\u00e9", "HF_TOKEN: has characters"},
	} {
		_, err := New(Options{Endpoint: tt.endpoint, Token: tt.token})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hf_secret")) {
			t.Errorf("%q with %q: error %v, want %q", tt.endpoint, tt.token, err, tt.want)
		}
	}
}

// network is a network of one function.
type network func(*http.Request) *http.Response

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r), nil }

// TestRedirects sends requests on to other addresses: the token goes to the endpoint's
// host alone, and no request from a secure address to another.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		to             string
		followed, with bool
	}{
		{"https://hub.example/else", true, true},
		{"/else", true, true},
		{"https://cdn.hub.example/else", true, false},
		{"https://hub.example:8443/else", true, false},
		{"https://hub.example@evil.example/else", true, false},
		{"//evil.example/else", true, false},
		{"http://hub.example/else", false, false},
		{"file:///etc/passwd", false, false},
		{"/datasets/again", false, false},
	} {
		l := newLab(t, 5, false)
		l.restart("https://hub.example", token)
		followed := false
		l.network = network(func(r *http.Request) *http.Response {
			answer := httptest.NewRecorder()
			answer.Header().Set("X-Repo-Commit", file.Revision)
			answer.Header().Set("X-Linked-Size", "5")
			answer.Header().Set("X-Linked-Etag", "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5")
			if r.URL.Path != "/else" {
				answer.Header().Set("Location", tt.to)
				answer.WriteHeader(http.StatusFound)
			} else if _, _, password := r.BasicAuth(); password || (r.Header.Get("Authorization") != "") != tt.with {
				t.Errorf("%s: sent %q", tt.to, r.Header)
			}
			followed = followed || r.URL.Path == "/else"
			io.WriteString(answer, "12345")
			response := answer.Result()
			response.Request = r
			return response
		})
		_, err := l.Fetch(t.Context(), file, l.path, func(int64, int64) {})
		if (err == nil) != tt.followed || followed != tt.followed || err != nil && !strings.Contains(err.Error(), "is not followed") {
			t.Errorf("%s: followed %v, %v", tt.to, followed, err)
		}
	}
}
