package benchmark_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"speceval/internal/benchmark"
	"speceval/internal/scorer/family"
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
	prompts, err := benchmark.ParsePrompts(templates(nil))
	if err != nil {
		t.Fatal(err)
	}
	return benchmark.Reader{Prompts: prompts}
}

func TestProblemsAreInsertedAsTheyAre(t *testing.T) {
	prompts, err := benchmark.ParsePrompts(templates(nil))
	if err != nil {
		t.Fatal(err)
	}
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
