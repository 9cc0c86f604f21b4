package upstream_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/data"
	"speceval/drills/made"
	"speceval/internal/benchmark"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/store/profile"
)

// files are made files of the sources whose names begin so, and how to prepare
// them.
func files(t *testing.T, sources string) ([]upstream.Group, upstream.Options) {
	t.Helper()
	groups := slices.DeleteFunc(upstream.Groups(), func(g upstream.Group) bool { return !strings.HasPrefix(g.Source.ID, sources) })
	profiles := must(profile.Parse(data.Profiles(), data.ProfilesName))
	ids := map[string][]string{}
	for _, p := range profiles {
		ids[p.Benchmark] = p.TaskIDs
	}
	prompts := must(benchmark.ParsePrompts(data.Prompts()))
	o := upstream.Options{From: t.TempDir(), To: t.TempDir(), Prompts: prompts, Published: ids}
	ok(t, made.Write(o.From, made.Options{Groups: groups, IDs: ids, Seed: 1, Tests: 1 << 20, Images: 3000}))
	return groups, o
}

// read gives the tasks of a group that was prepared.
func read(o upstream.Options, g upstream.Group) []benchmark.Task {
	return must(benchmark.Reader{}.Read(filepath.Join(o.To, g.ID+".jsonl")))
}

// TestEveryGroup prepares all groups. Those of MMLU have ids that are hashes of the
// real texts.
func TestEveryGroup(t *testing.T) {
	groups, o := files(t, "")
	done := map[string]upstream.Prepared{}
	o.Done = func(p upstream.Prepared) { done[p.ID] = p }
	err := upstream.Prepare(t.Context(), groups, o)
	if !errors.Is(err, upstream.ErrOther) || len(strings.Split(err.Error(), "\n")) != 3 || strings.Count(err.Error(), "0 of 100 published tasks are in the files: these are of another revision") != 3 {
		t.Fatalf("want a fault of each group of MMLU: %v", err)
	}
	for _, g := range groups {
		if g.Source.ID == "mmlu" {
			continue
		}
		tasks := read(o, g)
		for i, task := range tasks {
			if task.ID != o.Published[g.ID][i] || task.Benchmark != g.ID {
				t.Errorf("%s, task %d: %+v", g.ID, i, task)
			}
			checkTask(t, task)
		}
		p := done[g.ID]
		if p.Tasks != len(tasks) || p.PromptsSHA256 != benchmark.PromptDigest(tasks) || (p.Tests > 0) != (g.Source.ID == "livecodebench") {
			t.Errorf("%s: done is %+v", g.ID, p)
		}
	}
}

// checkTask finds the sum in a made problem, and holds the answer against it.
func checkTask(t *testing.T, task benchmark.Task) {
	t.Helper()
	if task.Scorer == "code" {
		return
	}
	var a, b int
	at := strings.Index(task.Prompt, "Add ")
	if _, err := fmt.Sscanf(task.Prompt[max(at, 0):], "Add %d and %d", &a, &b); err != nil {
		t.Fatalf("%s: %q: %v", task.ID, task.Prompt, err)
	}
	answer := task.Answer
	if task.Scorer == "choice" {
		answer = task.OptionTexts[task.Answer[0]-'A']
	}
	if n, err := strconv.Atoi(answer); err != nil || n != a+b {
		t.Errorf("%s: the answer to %q is %q", task.ID, task.Prompt, answer)
	}
	if !strings.Contains(task.UserPrompt, task.Prompt) || (task.SystemPrompt != "") != (task.Scorer == "judge") {
		t.Errorf("%s is asked %q, system %q", task.ID, task.UserPrompt, task.SystemPrompt)
	}
}

// TestDataThatWasNeverPublished has ids that name rows. Chemistry keeps the order of the files.
func TestDataThatWasNeverPublished(t *testing.T) {
	groups, o := files(t, "mmlu")
	o.Unpublished, o.Published = true, nil
	ok(t, upstream.Prepare(t.Context(), groups, o))
	for _, g := range groups {
		tasks := read(o, g)
		for _, task := range tasks {
			checkTask(t, task)
			if !strings.HasPrefix(task.ID, "source-row:") || task.Options != 4 {
				t.Errorf("%s: %+v", g.ID, task)
			}
		}
		row := 0
		fmt.Sscanf(tasks[0].ID, "source-row:%d", &row)
		if g.Part == "college_chemistry" && row != 102 || g.Part == "college_biology" && (row < 202 || row > 345) {
			t.Errorf("the first of %s is row %d", g.ID, row)
		}
	}
}

// TestSameBytes prepares twice.
func TestSameBytes(t *testing.T) {
	groups, o := files(t, "livecodebench")
	ok(t, upstream.Prepare(t.Context(), groups[:1], o))
	first := o.To
	o.To = t.TempDir()
	ok(t, upstream.Prepare(t.Context(), groups[:1], o))
	if said, err := exec.Command("diff", "-rq", first, o.To).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestBadFiles spoils the file of a source.
func TestBadFiles(t *testing.T) {
	tests := []struct {
		name, source string
		spoil        func(text string) string
		want         []string
	}{
		{"no file", "aime24", nil, []string{"is not there", "--download", "HuggingFaceH4/aime_2024", "2fe88a2f"}},
		{"a truncated table", "aime24", func(s string) string { return s[:len(s)/2] }, []string{"train-00000-of-00001.parquet"}},
		{"a truncated line", "aime25", func(s string) string { return s[:len(s)-10] }, []string{"test.jsonl", "30"}},
		{"another column", "aime25", func(s string) string { return strings.ReplaceAll(s, `"problem"`, `"question"`) }, []string{"problem"}},
		{"fewer rows", "aime25", func(s string) string { return s[strings.Index(s, "\n")+1:] }, []string{`task 0 is "1", published is "0"`, "29 of 30", "another revision"}},
		{"another order", "aime25", func(s string) string { at := strings.Index(s, "\n") + 1; return s[at:] + s[:at] }, []string{`task 0 is "1"`, "published tasks are there"}},
		{"the same id twice", "aime25", func(s string) string { return strings.Replace(s, `"id":1,`, `"id":0,`, 1) }, []string{"row 2", `id "0"`, "row 1"}},
		{"no id", "aime25", func(s string) string { return strings.Replace(s, `"id":1,`, `"id":null,`, 1) }, []string{"row 2"}},
		{"fewer rows to draw from", "math", func(s string) string { return s[strings.Index(s, "\n")+1:] }, []string{"499 rows, want 500"}},
		{"another option", "supergpqa", func(s string) string { return strings.Replace(s, `"answer_letter":"B"`, `"answer_letter":"K"`, 1) }, []string{"option 10 of"}},
		{"an empty option", "gpqa", func(s string) string { return strings.Replace(s, "or more", "or \xff", 1) }, []string{"UTF-8"}},
		{"a quote without an end", "gpqa", func(s string) string { return s + `"` }, []string{"gpqa_diamond.csv"}},
		{"no date", "livecodebench", func(s string) string { return strings.ReplaceAll(s, "2024-03-31T", "March T") }, []string{"contest_date", "March"}},
		{"fewer contests", "livecodebench", func(s string) string { return strings.Replace(s, "2024-03-31", "2024-03-30", 1) }, []string{"440 rows, want 441"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			groups, o := files(t, test.source)
			path := groups[0].Source.Path(o.From, groups[0].Source.Files[0])
			text := must(os.ReadFile(path))
			if test.spoil == nil {
				ok(t, os.Remove(path))
			} else {
				ok(t, os.WriteFile(path, []byte(test.spoil(string(text))), 0o666))
			}
			err := upstream.Prepare(t.Context(), groups, o)
			if err == nil {
				t.Fatal("it is prepared")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if left, err := os.ReadDir(o.To); err != nil || test.source != "gpqa" && len(left) > 0 {
				t.Errorf("%v: %d files are left", err, len(left))
			}
		})
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
