package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPagesNameWhatThereIs holds the README and the pages of docs/ to the program,
// without running their commands; the drill does that.
func TestPagesNameWhatThereIs(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "speceval")
	if output, err := exec.Command("go", "build", "-trimpath", "-o", binary, "speceval/pipeline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	known, err := gather(root, binary)
	if err != nil {
		t.Fatal(err)
	}
	if known.help["evaluate plan"] == "" || known.help["benchmarks check"] == "" {
		t.Error("subcommands were not asked for help")
	}
	pages, err := readPages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, err := range known.staticFaults(pages, exceptions) {
		t.Error(err)
	}
}

func parsed(t *testing.T, text string) page {
	t.Helper()
	p, err := parsePage("docs/made.md", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommandsAreThoseOfAShell(t *testing.T) {
	p := parsed(t, "# Made\n\n```sh\nmake  build   # and what it is\n\nduckdb -c \"select 1\n  from 'x'\" \\\n  > y\n# nothing\nX=1 bin/speceval run a | cat\n```\n\n```toml\nmake nothing\n```\n")
	commands, err := p.commands()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range commands {
		got = append(got, c.at()+" "+c.text)
	}
	want := []string{"docs/made.md:4 make build", "docs/made.md:6 duckdb -c \"select 1\n  from 'x'\" > y", "docs/made.md:10 X=1 bin/speceval run a | cat"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if sub, args, ours := commands[2].ours(); sub != "run" || !slices.Equal(args, []string{"a"}) || !ours {
		t.Errorf("%q %q %v", sub, args, ours)
	}
	for _, text := range []string{"```sh\necho 'open\n```\n", "```sh\nmake\n"} {
		if p, err := parsePage("x", text); err == nil {
			if _, err := p.commands(); err == nil {
				t.Errorf("%q is taken", text)
			}
		}
	}
}

// TestFaultsAreFound breaks every rule once.
func TestFaultsAreFound(t *testing.T) {
	known := &facts{root: filepath.Join("..", ".."), targets: []string{"build", "live"}, help: map[string]string{
		"run":           "Flags:\n  --config FILE  read\n  --set KEY=VALUE  override\n  -j N  at a time\n",
		"evaluate":      "Flags:\n  --budget b  spend\n",
		"evaluate list": "Flags:\n  --json  print\n",
	}}
	listed := func(text string) []exception { return []exception{{text: text, reason: "made"}} }
	for _, test := range []struct {
		text string
		list []exception
		want string // "": no fault
	}{
		{"`make build` and `speceval run -j 4`, `--set`, `[systems] window`, `replay.draws`, `lengths = \"drawn\"`, `pipeline/dag`, [x](../README.md#layout)", nil, ""},
		{"`make nothing`", nil, "no such target"},
		{"`make\nnothing`", nil, "no such target"},
		{"`speceval walk it`", nil, "no such command"},
		{"`bin/speceval run --fast`", nil, "no flag --fast"},
		{"`speceval evaluate --budget 8` and `speceval evaluate list --json`", nil, ""},
		{"`speceval evaluate list --budget 8`", nil, "speceval evaluate list has no flag --budget"},
		{"`speceval evaluate --json`", nil, "speceval evaluate has no flag --json"},
		{"`--fast`", nil, "no command has the flag --fast"},
		{"`[system]`", nil, "no section system"},
		{"`[[worker]] speed`", nil, "no key worker.speed"},
		{"`replay.drawings`", nil, "no key replay.drawings"},
		{"`drawings = 3`", nil, "has a key drawings"},
		{"`stages/nothing`", nil, "has no stages/nothing"},
		{"[x](nothing.md)", nil, "leads nowhere"},
		{"```toml\n[replay]\ndraws = 3\n```\n", nil, ""},
		{"```toml\n[replay]\ndrawings = 3\n```\n", nil, "unknown key"},
		{"```json\n{\"id\":\"a\",\"prompt\":\"x\",\"scorer\":\"math\"}\n```\n", nil, "answer: is missing"},
		{"```csv\nbenchmark,model,task_index,task_id,pass_count\n```\n", nil, "tested_k"},
		{"```go\nfunc nothingOfTheKind() {}\n```\n", nil, "these lines of Go"},
		{"```ruby\n```\n", nil, "nothing checks a block"},
		{"```sh\nmake live\n```\n", listed("make live"), ""},
		{"```sh\nmake lively\n```\n", listed("make lively"), "no such target"},
		{"```sh\nspeceval run --set replay.drawings=3\n```\n", listed("speceval run --set replay.drawings=3"), "replay.drawings"},
		{"```sh\ngo test ./nothing\n```\n", listed("go test ./nothing"), "no package ./nothing"},
		{"nothing", listed("make live"), "no page has the command"},
		{"```sh\nmake live\n```\n", append(listed("make live"), listed("make live")...), "twice"},
	} {
		var said []string
		readme := page{name: "README.md", prose: "## Layout\n"}
		for _, err := range known.staticFaults([]page{parsed(t, test.text), readme}, test.list) {
			said = append(said, err.Error())
		}
		all := strings.Join(said, "\n")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) {
			t.Errorf("%q: %q, want %q", test.text, all, test.want)
		}
	}
}

const madeOutputs = "## Other\n\n| file | what |\n|---|---|\n| `a/…`, `*.tex` | x |\n\n### In many files\n\n| column | what |\n|---|---|\n| `n`, `*_se` | x |\n\n### `t.csv`, `u/*/v.parquet`\n\n| column | what |\n|---|---|\n| `x` | x |\n"

func TestOutputsAreComparedBothWays(t *testing.T) {
	whole := map[string][]string{"a/b/c.json": {"k"}, "r.tex": nil, "t.csv": {"n", "x"}, "u/1/v.parquet": {"x", "x_se"}}
	for _, test := range []struct {
		name    string
		columns []string
		want    string
	}{
		{"t.csv", []string{"n", "x"}, ""},
		{"t.csv", []string{"n", "x", "y"}, "nothing of the column y of t.csv"},
		{"u/1/v.parquet", []string{"x"}, "no file that was made is or has *_se"},
		{"w.csv", []string{"x"}, "says nothing of w.csv"},
		{"u/v.parquet", []string{"x"}, "says nothing of u/v.parquet"},
	} {
		made := map[string][]string{}
		for name, columns := range whole {
			made[name] = columns
		}
		made[test.name] = test.columns
		var said []string
		for _, err := range compareOutputs(parseOutputs(madeOutputs), made, nil) {
			said = append(said, err.Error())
		}
		all := strings.Join(said, "\n")
		if test.want == "" && all != "" || !strings.Contains(all, test.want) {
			t.Errorf("%s %q: %q, want %q", test.name, test.columns, all, test.want)
		}
	}
	delete(whole, "r.tex")
	if faults := compareOutputs(parseOutputs(madeOutputs), whole, nil); len(faults) != 1 {
		t.Errorf("without a file that the page has: %v", faults)
	}
}

func TestTheSmallExperimentsAreOfTheShippedFiles(t *testing.T) {
	if _, err := changed("draws = 8192 # panels\n", []change{key("draws", "64")}); err != nil {
		t.Error(err)
	}
	if _, err := changed("draw = 8192\n", []change{key("draws", "64")}); err == nil {
		t.Error("a key that is not there is changed")
	}
	if n := strings.Count(fewTasks(), "\n"); n != 16 {
		t.Errorf("%d tasks, want 5 of three scorers and 1 of code", n)
	}
}

func TestThePictureNamesWhatThereIs(t *testing.T) {
	root := filepath.Join("..", "..")
	var text [2]string
	for i, name := range []string{picture, outputsPage} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(content)
	}
	for _, err := range pictureFaults(root, text[0], text[1]) {
		t.Error(err)
	}
	for _, svg := range []string{"", `<text class="package" x="1">nothing</text>`, `<text class="file" y="2">nothing/x.parquet</text>`} {
		if len(pictureFaults(root, svg, text[1])) != 1 {
			t.Errorf("%q has no fault", svg)
		}
	}
}
