package conformance_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/clock"
	"speceval/internal/conformance"
	"speceval/internal/fleet/imitation"
)

// The imitation may be quicker to close and have a longer context than the
// recorded servers, which no observation shows.
const (
	keepAlive     = 200 * time.Millisecond
	contextTokens = 32768
)

// imitated is a server like one of those whose behaviour testdata records.
func imitated(t *testing.T, kind string) *conformance.Target {
	t.Helper()
	settings := imitation.Settings{
		Model: kind, MaxModelLen: contextTokens, MaxSequences: 32, Key: "drill", KeepAlive: keepAlive, Speed: 4,
	}
	if kind == "thinking" {
		settings.Thinking, settings.ReasoningParser = true, "qwen3"
	}
	r := imitation.New(settings)
	t.Cleanup(r.Close)
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return &conformance.Target{
		URL: r.URL(), Model: kind, Context: contextTokens, Sequences: 32, Thinking: settings.Thinking,
		Key: "drill", KeepAlive: keepAlive, Clock: clock.Wall{},
		Kill: func() error { r.Crash(); return nil },
	}
}

// The imitation does what real servers did when drill-vllm recorded them.
func TestImitationKeepsTheRecord(t *testing.T) {
	for _, kind := range []string{"dense", "thinking"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", kind+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			record, err := conformance.Recorded(text)
			if err != nil {
				t.Fatal(err)
			}
			results := conformance.RunAll(t.Context(), imitated(t, kind))
			if len(results) != len(record) {
				t.Errorf("%d checks, %d in the record", len(results), len(record))
			}
			for _, r := range results {
				want, there := record[r.Check.Name]
				switch {
				case !there:
					t.Errorf("%s is not in the record: run drill-vllm with -record", r.Check.Name)
				case r.Text() != want && conformance.Accepted(r.Check.Name) == "":
					t.Errorf("%s (%s)\nimitation:\n%s\nreal:\n%s", r.Check.Name, r.Check.About, r.Text(), want)
				}
			}
		})
	}
}

// filter passes a server's answers through a change.
type filter struct {
	http.ResponseWriter
	change func([]byte) []byte
}

func (f filter) WriteHeader(status int) {
	f.Header().Del("Content-Length") // the change may make it wrong
	f.ResponseWriter.WriteHeader(status)
}

func (f filter) Write(b []byte) (int, error) {
	f.Header().Del("Content-Length")
	_, err := f.ResponseWriter.Write(f.change(b))
	return len(b), err
}

func (f filter) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f filter) Flush() { f.ResponseWriter.(http.Flusher).Flush() }

// talker writes on whether anybody listens or not.
type talker struct{ http.ResponseWriter }

func (w talker) Write(b []byte) (int, error) {
	w.ResponseWriter.Write(b)
	return len(b), nil
}

func (w talker) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// lastID is the last of a list of ids.
var lastID = regexp.MustCompile(`,\d+\]`)

// Each change makes a server one that our client could not work with.
func TestChecksCatch(t *testing.T) {
	replace := func(old, new string) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(filter{w, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(old), []byte(new)) }}, r)
			})
		}
	}
	deaf := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(talker{w}, r.WithContext(context.WithoutCancel(r.Context())))
		})
	}
	forgetful := func(h http.Handler) http.Handler { // a server that reads another last token than it is sent
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			if r.URL.Path == "/v1/completions" {
				body = lastID.ReplaceAll(body, []byte(",33]"))
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			h.ServeHTTP(w, r)
		})
	}
	mute := func(field string) func(http.Handler) http.Handler { // a server that does not know it
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				body = bytes.ReplaceAll(body, []byte(field), []byte("unknown"))
				r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				h.ServeHTTP(w, r)
			})
		}
	}
	tests := []struct {
		check string
		wrap  func(http.Handler) http.Handler
		want  string
	}{
		{"stream/form", replace("data: [DONE]\n\n", ""), "without [DONE]"},
		{"stream/usage", replace(`"completion_tokens":12`, `"completion_tokens":11`), "usage of 12 tokens"},
		{"stream/continuous usage", replace(`"usage":`, `"used":`), "no usage in"},
		{"answer/usage", replace(`"prompt_tokens":`, `"prompt_tokens":1`), "prompt and"},
		{"server/models", replace("dense", "dance"), "does not list dense"},
		{"server/metrics", replace("vllm:num_requests_running", "vllm:running"), "no vllm:num_requests_running"},
		{"abort/stream", deaf, "counted by the server"},
		{"length/ignore_eos", mute("ignore_eos"), "800 tokens asked for"},
		{"continuation/greedy", forgetful, "after 1 tokens"},
	}
	for _, test := range tests {
		t.Run(test.check, func(t *testing.T) {
			t.Parallel()
			r := imitation.New(imitation.Settings{Model: "dense", MaxModelLen: 4096, MaxSequences: 4, Speed: 100})
			t.Cleanup(r.Close)
			server := httptest.NewServer(test.wrap(r))
			t.Cleanup(server.Close)
			target := &conformance.Target{URL: server.URL, Model: "dense", Context: 4096, Sequences: 4, Clock: clock.Wall{}}
			checks := conformance.Checks()
			at := slices.IndexFunc(checks, func(c conformance.Check) bool { return c.Name == test.check })
			if seen, err := checks[at].Run(t.Context(), target); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("saw\n%s\nand says %v, want an error with %q", seen, err, test.want)
			}
		})
	}
}

func TestRecordsAreReadBack(t *testing.T) {
	checks := conformance.Checks()
	results := []conformance.Result{
		{Check: checks[0], Seen: "one line"},
		{Check: checks[1], Seen: "two\nlines"},
		{Check: checks[2], Err: conformance.ErrSkipped},
		{Check: checks[3], Seen: "half", Err: context.Canceled},
	}
	got, err := conformance.Recorded(conformance.Record(results))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		checks[0].Name: "one line", checks[1].Name: "two\nlines",
		checks[2].Name: "skipped", checks[3].Name: "half\nfailed: context canceled",
	}
	if !maps.Equal(got, want) {
		t.Errorf("read back %q", got)
	}
	for _, wrong := range []string{"no head\ntext", "[half\ntext", "half]\ntext"} {
		if _, err := conformance.Recorded([]byte(wrong)); err == nil {
			t.Errorf("%q was read", wrong)
		}
	}
}

func TestCheckNamesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range conformance.Checks() {
		if seen[c.Name] || c.About == "" {
			t.Errorf("%q is there twice, or says nothing of itself", c.Name)
		}
		seen[c.Name] = true
	}
}
