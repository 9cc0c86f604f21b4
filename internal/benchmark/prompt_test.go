package benchmark_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"speceval/internal/benchmark"
	"speceval/internal/scoring/family"
)

// templates is a folder of small templates, with some files replaced.
func templates(replaced map[string]string) fs.FS {
	folder := fstest.MapFS{}
	texts := map[string]string{
		"math.txt": "P: {{.Problem}}\n\n", "code.txt": "{{if .Function}}call {{.Function}}{{else}}read{{end}}: {{.Problem}}",
		"choice.txt": "{{.First}}-{{.Last}}|{{.Problem}}|{{.Options}}\n", "judge.txt": "{{define \"system\" -}}\nBrief.\n{{- end}}{{.Problem}}\n",
	}
	for _, f := range family.All() {
		if name := f.Prompt + ".txt"; texts[name] == "" {
			texts[name] = "{{.Problem}} {{.Options}}"
		}
	}
	for name, text := range replaced {
		texts[name] = text
	}
	for name, text := range texts {
		if text != "" {
			folder[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return folder
}

// reader asks by small templates.
func reader(t testing.TB) benchmark.Reader {
	t.Helper()
	prompts := must(benchmark.ParsePrompts(templates(nil)))
	return benchmark.Reader{Prompts: prompts}
}

func TestProblemsAreInsertedAsTheyAre(t *testing.T) {
	prompts := must(benchmark.ParsePrompts(templates(nil)))
	const problem = " {{.Problem}} <&> \u2028\r\n"
	call := []benchmark.Test{{Kind: "function", Function: "f"}}
	for _, c := range []struct {
		task         benchmark.Task
		user, system string
	}{
		{benchmark.Task{Scorer: "math"}, "P: " + problem + "\n", ""},
		{benchmark.Task{Scorer: "choice", OptionTexts: []string{"x, y", " {{", "z"}}, "A-C|" + problem + "|A) x, y, B)  {{, C) z", ""},
		{benchmark.Task{Scorer: "code", Tests: call}, "call f: " + problem, ""},
		{benchmark.Task{Scorer: "code", Tests: []benchmark.Test{{Kind: "stdin"}}}, "read: " + problem, ""},
		{benchmark.Task{Scorer: "judge"}, problem, "Brief."},
	} {
		c.task.Prompt = problem
		got, err := prompts.Ask(c.task)
		if err != nil || got.UserPrompt != c.user || got.SystemPrompt != c.system || got.Prompt != problem {
			t.Errorf("%s: got %+v, %v", c.task.Scorer, got, err)
		}
	}
	if _, err := prompts.Ask(benchmark.Task{ID: "x", Scorer: "essay"}); !strings.Contains(fmt.Sprint(err), `task x: no prompt for scorer "essay"`) {
		t.Errorf("unknown scorer: %v", err)
	}
}

func TestUselessTemplatesAreRefused(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"math.txt", "", "prompt math.txt: "},
		{"math.txt", "Problem: {{.problem}}", "prompt math.txt: "},
		{"math.txt", "{{.Problem", "prompt math.txt: "},
		{"math.txt", "Solve it.", `prompt math.txt: the user turn lacks "<the problem>"`},
		{"judge.txt", `{{define "system"}}{{.Problem}}{{end}}`, `prompt judge.txt: the user turn lacks`},
		{"judge.txt", `{{define "system"}}{{.Nothing}}{{end}}{{.Problem}}`, "prompt judge.txt: "},
		{"choice.txt", "{{.Problem}}", `prompt choice.txt: the user turn lacks "A) <one>, B) <two>"`},
	} {
		if _, err := benchmark.ParsePrompts(templates(map[string]string{c.file: c.text})); !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s %q: error %v, want %q", c.file, c.text, err, c.want)
		}
	}
	_, err := benchmark.ParsePrompts(fstest.MapFS{})
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) < 4 {
		t.Errorf("an empty folder has the faults %q", lines)
	}
}

func sha256hex(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// FuzzParseTasks reads anything as JSONL and as CSV, and writes what could be read: it must
// come back as it was, and be written as the same bytes again.
func FuzzParseTasks(f *testing.F) {
	f.Add([]byte(wide))
	f.Add([]byte(ownLines))
	f.Add([]byte(ownRows))
	f.Add([]byte("id,prompt,answer,scorer,tests_file\n\"a\r\nb\",\"\"\"\",A,choice,t\n\"\n,\"\"x\"y\n"))
	f.Add([]byte("task_id,user_prompt,prompt,scorer,options,option_texts,answer\nx,u,p,choice,2,\"[\"\"\\u0000\"\",\"\"\\ud83d\\ude42\"\"]\",A\n"))
	f.Add([]byte(`{"task_id":"x","prompt":"\u2028\ud83d\ude42\b<","answer":"2","scorer":"math"}`))
	f.Add([]byte("{\"task_id\":\"x\"]\n[{\n{\"tests\":[{},{\"kind\":1}],\"options\":1e2}"))
	r := reader(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"b.jsonl", "b.csv"} {
			tasks, err := r.Parse(text, name)
			if err != nil {
				continue
			}
			first := written(t, tasks)
			again, err := benchmark.Reader{}.Parse([]byte(first), "other.jsonl")
			if err != nil || !reflect.DeepEqual(again, tasks) {
				t.Fatalf("read back as %+v, %v\nwas %+v", again, err, tasks)
			}
			if second := written(t, again); first != second {
				t.Fatalf("written as %q, then as %q", first, second)
			}
		}
	})
}

// FuzzReadTests reads anything as a file of tests, compressed or not. What could be
// read comes back from a file that is written of it.
func FuzzReadTests(f *testing.F) {
	file, _ := zipped(f, echo...)
	f.Add([]byte(file))
	f.Add([]byte(file + "x"))
	for _, seed := range []string{"", "[]", `[{"kind":"stdin","input":"","output":"\ud83d\ude42"} ]`, `[{"kind":"function","function":"f","input":"1\n[]","output":"{}"},`, `[{"kind":1}`} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"t.json", "t.json.gz"} {
			save(t, filepath.Join(dir, name), string(content))
			tests, err := benchmark.ReadTests(filepath.Join(dir, "b.jsonl"), benchmark.Task{TestsFile: name}, "")
			if err != nil {
				continue
			}
			plain := listOf(t, tests)
			again, digest := zipped(t, tests...)
			if digest != sha256hex(plain) {
				t.Fatalf("digest %s, want that of %q", digest, plain)
			}
			for name, content := range map[string]string{"u.json": plain, "u.json.gz": again} {
				save(t, filepath.Join(dir, name), content)
				got, err := benchmark.ReadTests(filepath.Join(dir, "b.jsonl"), benchmark.Task{TestsFile: name, TestsSHA256: digest}, "")
				if err != nil || !reflect.DeepEqual(got, tests) {
					t.Fatalf("read back as %+v, %v\nwas %+v", got, err, tests)
				}
			}
		}
	})
}
