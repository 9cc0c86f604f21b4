package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/disagreement"
	"speceval/internal/golden"
	"speceval/internal/rollout"
)

// corpusLab is an output folder with scores, for tests.
type corpusLab struct {
	t   *testing.T
	out string
}

// write makes a file of the output folder.
func (l corpusLab) write(name string, write func(w io.Writer) error) {
	l.t.Helper()
	path := filepath.Join(l.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		l.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		l.t.Fatal(err)
	}
}

// rows is a sequence of n rows.
func rows[T any](n int, row func(i int) *T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range n {
			if !yield(row(i), nil) {
				return
			}
		}
	}
}

// scores writes verdicts on two rollouts of each of several tasks, "+" for right
// and "-" for wrong; tasks from 2 on have another scorer. A version that ends in
// an exclamation mark is of other rollouts.
func (l corpusLab) scores(name, pair, version, verdicts string) {
	l.t.Helper()
	version, other := strings.CutSuffix(version, "!")
	benchmark, model, _ := strings.Cut(pair, "/")
	l.write(name, func(w io.Writer) error {
		return rollout.WriteScores(w, rows(len(verdicts), func(i int) *rollout.Score {
			s := &rollout.Score{Benchmark: benchmark, Model: model, TaskIndex: int32(i / 2), TaskID: fmt.Sprint("t", i/2),
				Rollout: int32(i % 2), Correct: verdicts[i] == '+', Answer: "“½”\x1b[2J", Scorer: "math/" + version}
			if i >= 4 {
				s.Scorer, s.Note = "choice/1", "no box"
			}
			return s
		}), map[string]string{"speceval.schema": rollout.ScoreSchema, rollout.RolloutsKey: fmt.Sprint(other)})
	})
}

func (l corpusLab) current(pair, version, verdicts string) {
	l.scores("score/"+folderOf(pair)+"/scores.parquet", pair, version, verdicts)
}

func (l corpusLab) superseded(pair, hash, version, verdicts string, age time.Duration) {
	name := "superseded/score/" + folderOf(pair) + "/scores." + hash + ".parquet"
	l.scores(name, pair, version, verdicts)
	then := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(-age)
	if err := os.Chtimes(filepath.Join(l.out, filepath.FromSlash(name)), then, then); err != nil {
		l.t.Fatal(err)
	}
}

func folderOf(pair string) string {
	benchmark, model, _ := strings.Cut(pair, "/")
	return "benchmark=" + benchmark + "/model=" + model
}

// responses writes the responses of the first n rollouts, in two parts.
func (l corpusLab) responses(pair string, n int) {
	benchmark, model, _ := strings.Cut(pair, "/")
	for part, from := range []int{0, n / 2} {
		to := []int{n / 2, n}[part]
		l.write(fmt.Sprintf("generate/%s/part-%04d.parquet", folderOf(pair), part), func(w io.Writer) error {
			return rollout.WritePart(w, rows(to-from, func(i int) *rollout.Rollout {
				i += from
				text := fmt.Sprintf("rollout %d of task %d\n%s\nso \x1b[31mthe answer is\n\\boxed{½}\n\n", i%2, i/2, strings.Repeat("é", 400))
				if i%2 == 0 {
					text = strings.Repeat("a line\n", 30) + "the end"
				}
				return &rollout.Rollout{Benchmark: benchmark, Model: model, TaskIndex: int32(i / 2), TaskID: fmt.Sprint("t", i/2), Rollout: int32(i % 2), Text: text}
			}), map[string]string{"speceval.schema": rollout.Schema})
		})
	}
}

func TestDisagreementsWithThoseOfAnEarlierScorer(t *testing.T) {
	l := corpusLab{t, t.TempDir()}
	l.current("exam/m", "3", "+-+-++++")
	l.superseded("exam/m", "aa", "1", "--------", 2*time.Hour) // older
	l.superseded("exam/m", "bb", "2", "++++-++", time.Hour)
	l.superseded("exam/m", "cc", "2!", "--------", 0) // of other rollouts
	l.responses("exam/m", 6)
	l.current("quiz/m", "3", "+-+--+")
	l.superseded("quiz/m", "dd", "2", "+-++-+", time.Hour)
	l.current("solo/m", "3", "+-")

	code, stdout, stderr := onShell("disagreements", "--out", l.out)
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	want(t, "stderr", stderr, "benchmark=solo/model=m has no earlier scores of the same rollouts")
	golden.Check(t, "disagreements.txt", []byte(strings.ReplaceAll(stdout, l.out, "OUT")))

	code, stdout, stderr = onShell("disagreements", "quiz/m", "--out", l.out)
	if code != exitDone || stderr != "" || strings.Contains(stdout, "exam") || !strings.Contains(stdout, "quiz m, task t1, rollout 1: right → wrong") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	_, stdout, _ = onShell("disagreements", "exam/m", "--out", l.out, "-n", "1")
	if n := strings.Count(stdout, ", rollout "); n != 1 {
		t.Errorf("%d rollouts are listed, want 1:\n%s", n, stdout)
	}
	want(t, "the list", stdout, "Listed are 1 of 3: -n 0 lists all.")
}

func TestDisagreementsOfOtherRolloutsAreWarnedOf(t *testing.T) {
	l := corpusLab{t, t.TempDir()}
	l.scores("old.parquet", "exam/m", "1!", "++")
	l.scores("new.parquet", "exam/m", "2", "+-")
	code, _, stderr := onShell("disagreements", filepath.Join(l.out, "old.parquet"), filepath.Join(l.out, "new.parquet"), "--out", l.out)
	if code != exitDone || !strings.Contains(stderr, "new.parquet are of different rollouts") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestDisagreementsAsJSON(t *testing.T) {
	l := corpusLab{t, t.TempDir()}
	l.scores("old.parquet", "exam/m", "1", "++++-++")
	l.scores("new.parquet", "exam/m", "2", "+-+--+-+")
	l.responses("exam/m", 3)
	code, stdout, stderr := onShell("disagreements", filepath.Join(l.out, "old.parquet"), filepath.Join(l.out, "new.parquet"), "--json", "-n", "0", "--out", l.out)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	lines := strings.SplitAfter(strings.TrimSpace(stdout), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want three rollouts and a summary:\n%s", len(lines), stdout)
	}
	type verdict struct {
		Correct      bool
		Scorer, Note string
	}
	var first, last struct {
		TaskID   string `json:"task_id"`
		Rollout  int
		Old, New verdict
		Text     *string
	}
	var sum struct{ Summary json.RawMessage }
	for i, to := range map[int]any{0: &first, 2: &last, 3: &sum} {
		if err := json.Unmarshal([]byte(lines[i]), to); err != nil {
			t.Fatal(err)
		}
	}
	if first.TaskID != "t0" || first.Rollout != 1 || !first.Old.Correct || first.New.Correct || first.New.Scorer != "math/2" ||
		first.Text == nil || !strings.HasPrefix(*first.Text, "rollout 1 of task 0\n") {
		t.Errorf("the first is %s", lines[0])
	}
	if last.TaskID != "t3" || last.Text != nil || last.Old.Note != "no box" {
		t.Errorf("the last is %s, whose response is not there", lines[2])
	}
	const summary = `{"benchmark":"exam","model":"m","old":"OLD","new":"NEW","only_old":0,"only_new":1,"listed":3,"scorers":[` +
		`{"old":"choice/1","new":"choice/1","compared":3,"right_to_wrong":1,"wrong_to_right":0},` +
		`{"old":"math/1","new":"math/2","compared":4,"right_to_wrong":2,"wrong_to_right":0}]}`
	got := strings.NewReplacer(filepath.Join(l.out, "old.parquet"), "OLD", filepath.Join(l.out, "new.parquet"), "NEW").Replace(string(sum.Summary))
	if got != summary {
		t.Errorf("the summary is %s, want %s", got, summary)
	}
}

func TestDisagreementsRefusesBadInput(t *testing.T) {
	l := corpusLab{t, t.TempDir()}
	l.scores("a.parquet", "exam/m", "1", "+-")
	l.scores("b.parquet", "quiz/m", "1", "+-")
	l.write("c.parquet", func(w io.Writer) error { _, err := io.WriteString(w, "PAR1 and no more"); return err })
	l.current("exam/m", "1", "+-")
	at := func(name string) string { return filepath.Join(l.out, name) }
	for _, test := range []struct {
		line []string
		code int
		want string
	}{
		{[]string{"-n", "-1"}, exitUsage, "-n -1"},
		{[]string{"--out", t.TempDir()}, exitUsage, "has no scores: run `speceval run score` first"},
		{[]string{"exam"}, exitUsage, `"exam": want BENCHMARK/MODEL`},
		{[]string{"exam/x"}, exitUsage, "no scores of exam/x"},
		{[]string{"exam/x/y"}, exitUsage, "want BENCHMARK/MODEL"},
		{[]string{at("a.parquet")}, exitUsage, "want two files of scores"},
		{[]string{at("a.parquet"), "exam/m"}, exitUsage, "want two files of scores"},
		{[]string{at("a.parquet"), at("absent.parquet")}, exitUsage, "absent.parquet"},
		{[]string{at("a.parquet"), at("b.parquet")}, exitFailed, "they are of exam with m and of quiz with m"},
		{[]string{at("a.parquet"), at("c.parquet")}, exitFailed, at("c.parquet") + ": truncated"},
	} {
		code, stdout, stderr := onShell(append([]string{"disagreements", "--out", l.out}, test.line...)...)
		if code != test.code || stdout != "" {
			t.Errorf("%v: exit code %d, want %d\n%s", test.line, code, test.code, stdout)
		}
		want(t, "stderr", stderr, test.want)
	}
}

func TestDisagreementsCanBeInterrupted(t *testing.T) {
	l := corpusLab{t, t.TempDir()}
	l.scores("a.parquet", "exam/m", "1", "+-")
	path := filepath.Join(l.out, "a.parquet")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := disagreement.Write(ctx, disagreement.Files{Old: path, New: path}, 0, disagreement.JSON(io.Discard))
	if exitCode(err) != exitInterrupted {
		t.Errorf("error %v", err)
	}
}
