package conformance_test

import (
	"os"
	"path/filepath"
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
