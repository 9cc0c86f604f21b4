package servers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/internal/fleet/imitation"
)

// observed is a server whose behaviour is looked at. It must have nothing else to do.
type observed struct {
	url, model string
	context    int  // tokens of prompt and answer together
	sequences  int  // running at once, at most
	thinking   bool // the prompt ends inside the thinking, and a parser takes it apart
	key        string
	kill       func() error // makes the engine die behind the server
}

// behaviour is one thing that a vLLM server does. What is noted of it has no times and no
// random values, so that two servers can be compared line by line. Its test fails where
// the server does something that our client does not expect.
type behaviour struct {
	name  string // area/what
	about string // its use, in one line
	see   func(*session)
}

// patience is the longest time of one behaviour.
const patience = time.Minute

// behave looks at every behaviour of a server, and returns a record of them. Each is held
// to an earlier record, unless that is nil.
func (v *observed) behave(t *testing.T, record map[string]string) []byte {
	var all strings.Builder
	// The last one leaves a dead server.
	for _, b := range slices.Concat(ofSurfaces, ofWholes, ofStreams, ofThinking, ofContinuations, ofLengths, v.ofRefusals(), ofAborts, ofCrowds) {
		want, there := record[b.name]
		delete(record, b.name)
		t.Run(b.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s := &session{T: t, observed: v, ctx: ctx}
			b.see(s)
			seen := strings.TrimRight(s.notes.String(), "\n")
			t.Log(seen)
			fmt.Fprintf(&all, "[%s]\n%s\n\n", b.name, seen)
			switch {
			case record == nil:
			case !there:
				t.Errorf("%s: it is not in the record of a real server", b.about)
			case seen != want:
				t.Errorf("%s: the real server that was recorded differs:\n%s", b.about, want)
			}
		})
	}
	for name := range record {
		t.Errorf("no behaviour is named %s, as one in the record is", name)
	}
	return []byte(all.String())
}

// recorded is the behaviour of a real server, noted by drill-vllm with -record.
func recorded(t *testing.T, kind string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(drill.FromRoot(filepath.Join("drills/servers/testdata", kind+".txt")))
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]string{}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		head, notes, _ := strings.Cut(part, "\n")
		record[strings.Trim(head, "[]")] = notes
	}
	return record
}

// The imitation does what real servers did when drill-vllm recorded them. It may have a longer
// context, which no note shows.
func TestImitationKeepsTheRecord(t *testing.T) {
	for _, kind := range []string{"dense", "thinking"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			settings := imitation.Settings{
				Model: kind, MaxModelLen: 32768, MaxSequences: 32, Key: "drill", Speed: 4,
			}
			if kind == "thinking" {
				settings.Thinking, settings.ReasoningParser = true, "qwen3"
			}
			r := imitation.New(settings)
			defer r.Close()
			if err := r.Listen("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			v := observed{
				url: r.URL(), model: kind, context: settings.MaxModelLen, sequences: settings.MaxSequences,
				thinking: settings.Thinking, key: settings.Key,
				kill: func() error { r.Crash(); return nil },
			}
			v.behave(t, recorded(t, kind))
		})
	}
}
