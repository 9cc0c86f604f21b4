package harness_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/harness"
)

// said is a log in one text: "a 1:1 2:0.5; b 1:0" is two tasks with the rewards of
// their rollouts.
func said(l harness.Log) string {
	var tasks []string
	for _, t := range l.Tasks {
		text := t.ID
		for _, r := range t.Rollouts {
			text += fmt.Sprintf(" %d:%v", r.Number, r.Reward)
		}
		tasks = append(tasks, text)
	}
	return strings.Join(tasks, "; ")
}

// one reads a path that must hold one log.
func one(t *testing.T, path string, c harness.Choice) harness.Log {
	t.Helper()
	logs, err := c.Read(path)
	if err != nil || len(logs) != 1 {
		t.Fatalf("%s: %d logs, %v", path, len(logs), err)
	}
	return logs[0]
}

// refuses checks that an error holds all of the texts.
func refuses(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %q, want one with %q", fmt.Sprint(err), text)
		}
	}
}

// The logs of testdata/inspect are inspect_ai's own. Of b the second epoch is not a
// number, and the third of 4 ended in an error.
func TestLogsOfInspect(t *testing.T) {
	const all = "a 1:1 2:0 3:0.5; b 1:1 3:0.5; 4 1:1 2:0"
	cases := []struct {
		file, want          string
		complete, allocated bool
		notes               []string
	}{
		{"zstd.eval", all, true, false, []string{"1 left out: the sample ended in an error", "1 left out: it is not scored"}},
		{"deflate.eval", all, true, false, []string{"1 left out: the sample ended in an error", "1 left out: it is not scored"}},
		{"crashed.eval", "a 1:1 2:0; b 1:1; 4 1:1 2:0", false, false, []string{"did not come to its end"}},
		{"crashed_allocated.eval", "a 1:1 2:0; b 1:1; 4 1:1 2:0", false, true, []string{"does not say which rollouts were selected"}},
		{"allocated.eval", "a 1:1 2:0 3:0.5; b 1:1; 4 1:1", true, true, []string{"1 left out: the allocation did not select them"}},
		{"stopped.eval", "a 1:1 2:0 3:0.5; b 1:1; 4 1:1 2:0", true, false, []string{`"other" stopped 3 of its epochs early`}},
		{"whole.json", "4 1:1; a 1:1", true, false, []string{"the rewards are by graded, of graded, parts/right, parts/style"}},
	}
	for _, c := range cases {
		l := one(t, "testdata/inspect/"+c.file, harness.Choice{})
		if got := said(l); got != c.want || l.Complete != c.complete || l.Allocated != c.allocated {
			t.Errorf("%s: %s, complete %t, allocated %t, want %s, %t, %t", c.file, got, l.Complete, l.Allocated, c.want, c.complete, c.allocated)
		}
		if l.Format != "inspect" || l.Benchmark != "org/quiz" || l.Model != "mockllm/model" || l.Scorer != "graded" || !strings.HasPrefix(l.Created, "20") {
			t.Errorf("%s: %+v", c.file, l)
		}
		if r := l.Tasks[0].Rollouts[0]; r.PromptTokens != 12 || r.CompletionTokens != 5 {
			t.Errorf("%s: tokens %+v", c.file, r)
		}
		for _, note := range c.notes {
			if !strings.Contains(strings.Join(l.Notes, "\n"), note) {
				t.Errorf("%s: notes %q, want %q", c.file, l.Notes, note)
			}
		}
	}
}

func TestAScoreIsChosenByName(t *testing.T) {
	for scorer, want := range map[string]string{"parts/right": "4 1:1; a 1:1", "style": "4 1:0.5; a 1:0.5", "graded": "4 1:1; a 1:1"} {
		if got := said(one(t, "testdata/inspect/whole.json", harness.Choice{Scorer: scorer})); got != want {
			t.Errorf("%s: %s", scorer, got)
		}
	}
	_, err := harness.Choice{Scorer: "parts"}.Read("testdata/inspect/whole.json")
	refuses(t, err, "testdata/inspect/whole.json", "--scorer parts is several: choose one of parts/right, parts/style")
	_, err = harness.Choice{Scorer: "absent"}.Read("testdata/inspect/whole.json")
	refuses(t, err, `no scores by "absent", but by graded, parts/right, parts/style`)
	_, err = harness.Read("testdata/inspect/parts.eval", "")
	refuses(t, err, "the score parts has several parts: choose one with --scorer, of parts/right, parts/style")
}

func TestAFolderOfLogs(t *testing.T) {
	logs, err := harness.Choice{Scorer: "graded"}.Read("testdata/inspect")
	refuses(t, err, "parts.eval", "no scores by")
	if logs != nil {
		t.Error("logs beside an error")
	}
	if logs, err = harness.Read("testdata/verifiers", ""); err != nil || len(logs) != 1 {
		t.Errorf("%d logs, %v", len(logs), err)
	}
	logs, err = harness.Read("testdata/terminal-bench", "") // the run's own file repeats its trials
	if err != nil || len(logs) != 1 || len(logs[0].Tasks) != 2 {
		t.Errorf("%d logs, %v", len(logs), err)
	}
}
