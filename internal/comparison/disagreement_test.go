package comparison

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/golden"
	"speceval/internal/profile"
	"speceval/internal/rollout"
)

// file is a file of profiles, each "benchmark model tested_k passes…".
func file(t *testing.T, name string, lines ...string) File {
	t.Helper()
	text := "benchmark,model,task_index,task_id,pass_count,tested_k\n"
	for _, line := range lines {
		f := strings.Fields(line)
		for i, passes := range f[3:] {
			text += fmt.Sprintf("%s,%s,%d,t%d,%s,%s\n", f[0], f[1], i, i, passes, f[2])
		}
	}
	profiles, err := profile.Parse([]byte(text), "profiles.csv")
	if err != nil {
		t.Fatal(err)
	}
	return File{name, profiles}
}

func TestWhatDiffers(t *testing.T) {
	mine := file(t, "MINE",
		"quiz small 64 3 30 64 0", "quiz large 64 0 30 64 60",
		"exam small 64 40 50 31 44 20 60 38 40 41 39", "exam large 4 1 2", "mine small 8 1 2")
	other := file(t, "OTHER",
		"quiz small 1024 51 470 1019 9", "quiz large 1024 600 470 1019 1000",
		"exam small 1024 460 610 300 520 150 790 460 450 460 490", "exam large 1024 300 500 700")
	c, err := Of(mine, other)
	if err != nil || c.Differing() != 2 || len(c.Profiles) != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	for name, all := range map[string]bool{"compare.txt": false, "compare-all.txt": true} {
		var b strings.Builder
		if err := c.Text(&b, all); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, name, []byte(b.String()))
	}
}

// The more is compared, the more it takes to differ: 9 of 10 against 1 of 10 has
// p = 0.0011, which is held against 0.01/2 over the number of tasks, here 2, and
// of profiles.
func TestProfilesShareTheFalseAlarms(t *testing.T) {
	mine, other := []string{"quiz a 10 9 5"}, []string{"quiz a 10 1 5"}
	for _, want := range []int{1, 1, 0} {
		c, err := Of(file(t, "a", mine...), file(t, "b", other...))
		if err != nil || c.Differing() != want {
			t.Errorf("%d profiles: %v, %+v, want %d to differ", len(mine), err, c, want)
		}
		same := fmt.Sprintf("quiz b%d 10 5 5", len(mine))
		mine, other = append(mine, same), append(other, same)
	}
}

func TestNothingInCommon(t *testing.T) {
	_, err := Of(file(t, "a", "quiz m 8 1 2"), file(t, "b", "exam m 8 1 2", "exam n 8 1 2"))
	const want = "no benchmark and model is in both files:\na has 1 profile: quiz__model=m\nb has 2 profiles: exam__model=m, exam__model=n"
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// lab is an output folder with scores, for tests.
type lab struct {
	t   *testing.T
	out string
}

// write makes a file of the output folder.
func (l lab) write(name string, write func(w io.Writer) error) {
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

// at is the path of a file of the output folder.
func (l lab) at(name string) string { return filepath.Join(l.out, name) }

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
func (l lab) scores(name, pair, version, verdicts string) {
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

func (l lab) current(pair, version, verdicts string) {
	l.scores("score/"+folderOf(pair)+"/scores.parquet", pair, version, verdicts)
}

func (l lab) superseded(pair, hash, version, verdicts string, age time.Duration) {
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
func (l lab) responses(pair string, n int) {
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

// printed is what is written about files of scores.
func printed(t *testing.T, files []ScoreFiles, most int) string {
	t.Helper()
	var b strings.Builder
	for _, f := range files {
		if err := WriteDisagreements(t.Context(), f, most, Text(&b)); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestScoresAndThoseOfAnEarlierScorer(t *testing.T) {
	l := lab{t, t.TempDir()}
	l.current("exam/m", "3", "+-+-++++")
	l.superseded("exam/m", "aa", "1", "--------", 2*time.Hour) // older
	l.superseded("exam/m", "bb", "2", "++++-++", time.Hour)
	l.superseded("exam/m", "cc", "2!", "--------", 0) // of other rollouts
	l.responses("exam/m", 6)
	l.current("quiz/m", "3", "+-+--+")
	l.superseded("quiz/m", "dd", "2", "+-++-+", time.Hour)
	l.current("solo/m", "3", "+-")

	files, first, err := StoredScores(l.out, nil)
	if err != nil || strings.Join(first, " ") != "benchmark=solo/model=m" {
		t.Fatalf("scored for the first time are %q, %v", first, err)
	}
	golden.Check(t, "disagreements.txt", []byte(strings.ReplaceAll(printed(t, files, 20), l.out, "OUT")))

	files, first, err = StoredScores(l.out, []string{"quiz/m"})
	if got := printed(t, files, 20); err != nil || first != nil || strings.Contains(got, "exam") || !strings.Contains(got, "quiz m, task t1, rollout 1: right → wrong") {
		t.Errorf("of one corpus: %q, %v\n%s", first, err, got)
	}
	files, _, err = StoredScores(l.out, []string{"exam/m"})
	if got := printed(t, files, 1); err != nil || strings.Count(got, ", rollout ") != 1 || !strings.Contains(got, "Listed are 1 of 3: -n 0 lists all.") {
		t.Errorf("one rollout at most: %v\n%s", err, got)
	}
}

func TestScoresOfOtherRollouts(t *testing.T) {
	l := lab{t, t.TempDir()}
	l.scores("old.parquet", "exam/m", "1!", "++")
	l.scores("new.parquet", "exam/m", "2", "+-")
	old, new := l.at("old.parquet"), l.at("new.parquet")
	for files, want := range map[ScoreFiles]bool{{Old: old, New: new}: true, {Old: new, New: new}: false, {Old: old, New: l.at("none")}: false} {
		if got := files.OtherRollouts(); got != want {
			t.Errorf("%+v: of other rollouts: %t", files, got)
		}
	}
}

func TestDocuments(t *testing.T) {
	l := lab{t, t.TempDir()}
	l.scores("old.parquet", "exam/m", "1", "++++-++")
	l.scores("new.parquet", "exam/m", "2", "+-+--+-+")
	l.responses("exam/m", 3)
	var b strings.Builder
	if err := WriteDisagreements(t.Context(), ScoreFiles{l.at("old.parquet"), l.at("new.parquet"), l.out}, 0, JSON(&b)); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want three rollouts and a summary:\n%s", len(lines), &b)
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

// Graded verdicts are not the same where their rewards are not.
func TestRewardsThatDiffer(t *testing.T) {
	l := lab{t, t.TempDir()}
	for name, rewards := range map[string][]float64{"old.parquet": {0, 0.5, 1, 0.25, 1}, "new.parquet": {0, 0.5, 0.75, 0.5, 1}} {
		l.write(name, func(w io.Writer) error {
			return rollout.WriteGraded(w, rows(len(rewards), func(i int) *rollout.Score {
				s := &rollout.Score{Benchmark: "exam", Model: "m", TaskID: "t0", Rollout: int32(i), Scorer: name}
				if err := s.Grade(rewards[i]); err != nil {
					t.Error(err)
				}
				return s
			}), map[string]string{"speceval.schema": rollout.ScoreSchema})
		})
	}
	files := ScoreFiles{Old: l.at("old.parquet"), New: l.at("new.parquet"), Out: l.out}
	got := printed(t, []ScoreFiles{files}, 0)
	for _, want := range []string{"rollout 2: right → 0.75\n", "rollout 3: 0.25 → 0.5\n", "less reward  more reward"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, ", rollout ") != 2 {
		t.Errorf("lists other rollouts:\n%s", got)
	}
	var b strings.Builder
	if err := WriteDisagreements(t.Context(), files, 0, JSON(&b)); err != nil || !strings.Contains(b.String(), `"correct":false,"answer":"","scorer":"new.parquet","note":"","reward":0.75}`) ||
		!strings.Contains(b.String(), `"compared":5,"right_to_wrong":1,"wrong_to_right":1`) {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestFaults(t *testing.T) {
	l := lab{t, t.TempDir()}
	if _, _, err := StoredScores(l.out, nil); err == nil || !strings.Contains(err.Error(), "has no scores: run `speceval run score` first") {
		t.Errorf("an empty folder: %v", err)
	}
	l.scores("a.parquet", "exam/m", "1", "+-")
	l.scores("b.parquet", "quiz/m", "1", "+-")
	l.write("c.parquet", func(w io.Writer) error { _, err := io.WriteString(w, "PAR1 and no more"); return err })
	l.current("exam/m", "1", "+-")
	for pair, want := range map[string]string{"exam": `"exam": want BENCHMARK/MODEL`, "exam/x": "no scores of exam/x", "exam/x/y": "want BENCHMARK/MODEL"} {
		if _, _, err := StoredScores(l.out, []string{pair}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", pair, err, want)
		}
	}
	for new, want := range map[string]string{"b.parquet": "they are of exam with m and of quiz with m", "c.parquet": l.at("c.parquet") + ": truncated"} {
		err := WriteDisagreements(t.Context(), ScoreFiles{l.at("a.parquet"), l.at(new), l.out}, 0, Text(io.Discard))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", new, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteDisagreements(ctx, ScoreFiles{l.at("a.parquet"), l.at("a.parquet"), l.out}, 0, JSON(io.Discard)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
