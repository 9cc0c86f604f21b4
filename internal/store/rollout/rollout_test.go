package rollout_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
)

func some(task, k int) *rollout.Rollout {
	r := &rollout.Rollout{
		Benchmark: "b", Model: "m", TaskIndex: int32(task), TaskID: fmt.Sprint("t", task), Rollout: int32(k),
		Seed: int64(task*1000 + k), PromptTokens: 12, CompletionTokens: 34, FinishReason: "stop",
		Text: "line\nbreak “quoted” <&> \u2028 \x00 \\boxed{1}", Reasoning: "because", LatencySeconds: 0.25, Server: "http://a:1",
	}
	if k%2 == 0 {
		n := int32(7)
		r.ReasoningTokens = &n
	}
	return r
}

// A corpus takes weeks: what an earlier version of the program has journaled
// must be found again.
func TestLinesOfAJournalStayAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a"+rollout.JournalSuffix)
	j, _, err := rollout.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	ok(t, j.Append(some(3, 1)))
	if back, err := j.Read(rollout.ID{Task: 3, Rollout: 1}); err != nil || !reflect.DeepEqual(back, some(3, 1)) {
		t.Errorf("read %+v, %v", back, err)
	}
	got, err := os.ReadFile(path)
	const want = `e7fd6387 {"benchmark":"b","model":"m","task_index":3,"task_id":"t3","rollout":1,"seed":3001,"prompt_tokens":12,"completion_tokens":34,"reasoning_tokens":null,"finish_reason":"stop","text":"line\nbreak “quoted” \u003c\u0026\u003e \u2028 \u0000 \\boxed{1}","reasoning":"because","latency_seconds":0.25,"server":"http://a:1"}`
	if err != nil || string(got) != want+"\n" {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
}

func sequence(all []*rollout.Rollout, end error) iter.Seq2[*rollout.Rollout, error] {
	return func(yield func(*rollout.Rollout, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

func TestAPartHasItsRowsInOrder(t *testing.T) {
	var all []*rollout.Rollout
	for k := range 90 {
		r := some(k/30, k%30)
		r.Text = strings.Repeat(fmt.Sprintf("%d ", k), 300_000) // so that several row groups are needed
		all = append(all, r)
	}
	path := filepath.Join(t.TempDir(), "part-0000.parquet")
	var b bytes.Buffer
	footer := map[string]string{"speceval.schema": rollout.Schema, "speceval.key": "k"}
	ok(t, rollout.WritePart(&b, sequence(all, nil), footer))
	ok(t, os.WriteFile(path, b.Bytes(), 0o666))
	got, keys, err := rowfile.ReadFile[rollout.Rollout](path)
	if err != nil || len(got) != 90 || !reflect.DeepEqual(keys, footer) {
		t.Fatalf("%d rows, %v, %v", len(got), keys, err)
	}
	for i := range got {
		if !reflect.DeepEqual(&got[i], all[i]) {
			t.Fatalf("row %d: %+v", i, got[i].ID())
		}
	}
	if footer, err := rollout.CheckPart(path, "k", 90); err != nil || footer["speceval.schema"] != rollout.Schema {
		t.Errorf("footer %v, %v", footer, err)
	}
	if _, err := rollout.CheckPart(path, "k", 91); err == nil || !strings.Contains(err.Error(), "has 90 rows, want 91") {
		t.Errorf("error %v", err)
	}
	if _, err := rollout.CheckPart(path, "other", 90); err == nil {
		t.Error("another key is accepted")
	}
}

func TestAPartEndsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	if err := rollout.WritePart(new(bytes.Buffer), sequence([]*rollout.Rollout{some(0, 0)}, broken), nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
