package harness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/harness"
)

// The logs are of the tools themselves or of their own writers (testdata/by_*.py), but
// for those of NeMo-Skills and of Verifiers 0.1, which are made by their descriptions.
func TestLogsOfOthers(t *testing.T) {
	cases := []struct {
		path, scorer                            string
		format, benchmark, model, by, want, say string
		prompt, completion                      int64 // of the first rollout
	}{
		{"lm-eval", "", "lm-eval", "quiz", "org/dummy", "exact_match/strict", "0 1:1; 1 1:0", "first of 2 repeats", -1, -1},
		{"lm-eval", "exact_match/flexible", "lm-eval", "quiz", "org/dummy", "exact_match/flexible", "0 1:1; 1 1:0", "", -1, -1},
		{"nemo-skills", "", "nemo-skills", "aime24", "", "symbolic_correct", "p0 1:1 2:1; p1 1:0 2:1", "", -1, 11},
		{"verifiers", "", "verifiers", "quiz", "org/model", "reward", "t0 1:1 2:0; t1 1:0.5 2:0.25", "1 left out: the episode ended in an error", 0, 0},
		{"verifiers", "style", "verifiers", "quiz", "org/model", "rewards/style", "t0 1:1 2:0; t1 1:0.5 2:0.25", "", 0, 0},
		{"verifiers-0.1", "", "verifiers", "quiz", "org/model", "reward", "0 1:1 2:0; 1 1:0.25", "1 left out: the rollout ended in an error", -1, -1},
		{"harbor", "", "harbor", "quiz", "org/model+terminus", "reward", "a 1:1 2:0; b 1:0.5", "1 left out: the trial ended in HealthcheckError", 100, 10},
		{"harbor", "speed", "harbor", "quiz", "org/model+terminus", "speed", "a 1:0.1 2:0.1; b 1:0.1", "", 100, 10},
		{"terminal-bench", "", "terminal-bench", "quiz", "org/model+terminus", "is_resolved", "a 1:1 2:0; b 1:1", "1 left out: it is not scored", 100, 10},
		{"terminal-bench/run/results.json", "", "terminal-bench", "quiz", "org/model+terminus", "is_resolved", "a 1:1 2:0; b 1:1", "", 100, 10},
		{"lighteval", "", "lighteval", "quiz", "org/model", "extractive_match", "0 1:1; 1 1:0", "--scorer chooses another", -1, -1},
		{"lighteval", "pass@k", "lighteval", "quiz", "org/model", "pass@k", "0 1:0.5; 1 1:0", "", -1, -1},
		{"every-eval-ever/one", "", "every-eval-ever", "org/quiz", "openai/gpt-4o-mini", "graded:mean", "4 1:1; a 1:1", "", 10, 5},
	}
	for _, c := range cases {
		l := one(t, filepath.Join("testdata", c.path), harness.Choice{Scorer: c.scorer})
		if l.Format != c.format || l.Benchmark != c.benchmark || l.Model != c.model || l.Scorer != c.by || said(l) != c.want || !l.Complete || l.Allocated || len(l.Digest) != 64 {
			t.Errorf("%s %s: %+v", c.path, c.scorer, l)
		}
		if r := l.Tasks[0].Rollouts[0]; r.PromptTokens != c.prompt || r.CompletionTokens != c.completion {
			t.Errorf("%s: tokens %d and %d, want %d and %d", c.path, r.PromptTokens, r.CompletionTokens, c.prompt, c.completion)
		}
		if !strings.Contains(strings.Join(l.Notes, "\n"), c.say) {
			t.Errorf("%s: notes %q, want %q", c.path, l.Notes, c.say)
		}
	}
}

// All epochs of a sample have their mean there.
func TestEpochsThatAConverterAveragedAreRefused(t *testing.T) {
	_, err := harness.Read("testdata/every-eval-ever/three", "")
	refuses(t, err, "_samples.jsonl", "import the log of Inspect itself")
}

func TestEverythingIsRecognised(t *testing.T) {
	names := harness.Formats()
	for _, name := range names {
		path := filepath.Join("testdata", name)
		if name == "inspect" {
			path += "/zstd.eval"
		}
		if name == "every-eval-ever" {
			path += "/one"
		}
		logs, err := harness.Read(path, "")
		if err != nil || len(logs) == 0 || logs[0].Format != name {
			t.Errorf("%s: %v, %v", name, logs, err)
		}
		again, err := harness.Read(path, name)
		if err != nil || len(again) != len(logs) {
			t.Errorf("%s, asked for: %v", name, err)
		}
	}
	_, err := harness.Read("testdata", "absent")
	refuses(t, err, `there is no format "absent": want one of inspect, lm-eval`)
	_, err = harness.Read("harness.go", "")
	refuses(t, err, "harness.go: no log of inspect")
	_, err = harness.Read("testdata/nowhere", "")
	refuses(t, err, "testdata/nowhere")
}

func TestWhatIsWrongIsToldWithFileAndRow(t *testing.T) {
	lm := func(row string) string {
		return `{"doc_id": 0, "filter": "none", "filtered_resps": ["a"], ` + row + "}\n"
	}
	const good = `"exact_match": 1.0`
	cases := []struct{ name, text, format, want string }{
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": 1.5`), "", `row 2: task "0", rollout 1: the reward 1.5 is outside 0 to 1`},
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": -1`), "", `row 2: task "0", rollout 1: the reward -1 is outside`},
		{"samples_q_1.jsonl", lm(good) + `{"doc_id": 1, "filter": "no`, "", "the text is cut short"},
		{"samples_q_1.jsonl", lm(good) + lm(`"exact_match": 1e999`), "", "row 2: byte"},
		{"samples_q_1.jsonl", lm(good) + "]", "", "row 2: "},
		{"samples_q_1.jsonl", lm(good) + "{\"doc_id\": \"\xff\"}", "", `is not UTF-8`},
		{"samples_q_1.jsonl", lm(`"exact_match": NaN`), "", "no rollout in it is scored: 1 left out: it is not scored"},
		{"samples_q_1.jsonl", lm(good) + strings.Repeat("[", 1e6), "", "row 2: byte"},
		{"samples_q_1.jsonl", lm(good) + `{"doc": ` + strings.Repeat(`{"a":`, 1e5), "", "nested more than 200 deep"},
		{"results.jsonl", `{"prompt":"p","completion":"c","reward":1}`, "", "row 1: it has no example_id"},
		{"output-rs1.jsonl", `{"id":"x","generation":"g","is_correct":"perhaps"}`, "", "no rollout in it is scored"},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":0,"scores":{"s":{"value":1}}}]}`, "",
			`sample 1: task "x": the rollout's number 0 is outside`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":1,"scores":{"s":{"value":"Q"}}}]}`, "",
			`the score s is "Q": want a number, C, P, I or N`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":"x","epoch":1,"scores":{"s":{"value":[1]}}}]}`, "",
			`the score s is a list or an object`},
		{"log.json", `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"results":{"early_stopping":{"metadata":{"speceval":{"protocol":2}}}}}`, "",
			`its allocation is of protocol "2", this speceval reads 1`},
		{"any", "PK\x03\x04 and no more", "inspect", "the zip is cut short or broken"},
		{"any", "", "lm-eval", "no rollout in it is scored"},
		{"any", "PAR1", "lighteval", "truncated Parquet"},
	}
	for _, c := range cases {
		path := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := harness.Read(path, c.format)
		refuses(t, err, path, c.want)
	}
}

// A rollout that is there again counts once, as it was last.
func TestTheLastOfARepeatedEpochCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.json")
	text := `{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[
		{"id":"x","epoch":2,"scores":{"s":{"value":"I"}}}, {"id":"x","epoch":1,"scores":{"s":{"value":true}}},
		{"id":7,"epoch":1,"scores":{"s":{"value":"N"}}}, {"id":"x","epoch":2,"scores":{"s":{"value":"P"}}}]}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := one(t, path, harness.Choice{})
	if said(l) != "x 1:1 2:0.5; 7 1:0" || !strings.Contains(strings.Join(l.Notes, ""), "1 of the rollouts are there again") {
		t.Errorf("got %s, %q", said(l), l.Notes)
	}
}

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
