package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"speceval/drills/lab"
	"speceval/pipeline/config"
)

// names is the repository with its program, which is built.
func names(t *testing.T) known {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "speceval")
	if output, err := exec.Command("go", "build", "-trimpath", "-o", binary, "speceval/pipeline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return known{root, binary}
}

// TestPagesNameWhatThereIs compares the README and the pages of docs/ with the program,
// without running their commands; the drill does that.
func TestPagesNameWhatThereIs(t *testing.T) {
	k := names(t)
	pages, err := readPages(k.root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 5 {
		t.Fatalf("%d pages", len(pages))
	}
	for _, err := range k.pageFaults(pages, exceptions) {
		t.Error(err)
	}
}

// TestLinksLeadSomewhere finds links of the pages to files that do not exist.
func TestLinksLeadSomewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)[)#]`).FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s: the link %s: %v", page, link[1], err)
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links were found", links)
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
	commands, err := p.blocks[0].commands()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := p.blocks[1].commands(); err != nil || len(other) > 0 {
		t.Errorf("a block of toml has commands: %v, %v", other, err)
	}
	var got []string
	for _, c := range commands {
		got = append(got, c.at()+" "+c.text)
	}
	want := []string{"docs/made.md:4 make build", "docs/made.md:6 duckdb -c \"select 1\n  from 'x'\" > y", "docs/made.md:10 X=1 bin/speceval run a | cat"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if name, args := commands[2].program(); name != "bin/speceval" || !slices.Equal(args, []string{"run", "a"}) {
		t.Errorf("%q %q", name, args)
	}
	for _, text := range []string{"```sh\necho 'open\n```\n", "```sh\nmake\n"} {
		if p, err := parsePage("x", text); err == nil {
			if _, err := p.blocks[0].commands(); err == nil {
				t.Errorf("%q is taken", text)
			}
		}
	}
}

// TestFaultsAreFound breaks every rule once.
func TestFaultsAreFound(t *testing.T) {
	k := names(t)
	listed := func(text string) []exception { return []exception{{text: text, reason: "made"}} }
	for _, test := range []struct {
		text string
		list []exception
		want string // "": no fault
	}{
		{"```toml\n[replay]\ndraws = 3\n```\n", nil, ""},
		{"```toml\n[replay]\ndrawings = 3\n```\n", nil, "unknown key"},
		{"```json\n{\"id\":\"a\",\"prompt\":\"x\",\"scorer\":\"math\"}\n```\n", nil, "answer: is missing"},
		{"```csv\nbenchmark,model,task_index,task_id,pass_count\n```\n", nil, "tested_k"},
		{"```go\nfunc nothingOfTheKind() {}\n```\n", nil, "these lines of Go"},
		{"```ruby\n```\n", nil, "nothing checks a block"},
		{"```sh\nmake live\n```\n", listed("make live"), ""},
		{"```sh\nmake lively\n```\n", listed("make lively"), "No rule to make target"},
		{"```sh\nspeceval walk it\n```\n", listed("speceval walk it"), "no such command"},
		{"```sh\nbin/speceval run --fast\n```\n", listed("bin/speceval run --fast"), "no flag --fast"},
		{"```sh\nspeceval evaluate --budget 8\nspeceval evaluate list --json\n```\n", append(listed("speceval evaluate --budget 8"), listed("speceval evaluate list --json")...), ""},
		{"```sh\nspeceval evaluate list --budget 8\n```\n", listed("speceval evaluate list --budget 8"), "speceval evaluate list has no flag --budget"},
		{"```sh\nspeceval run --config nothing.toml\n```\n", listed("speceval run --config nothing.toml"), "nothing.toml"},
		{"```sh\nspeceval run --set replay.drawings=3\n```\n", listed("speceval run --set replay.drawings=3"), "replay.drawings"},
		{"```sh\ngo test ./nothing\n```\n", listed("go test ./nothing"), "no package ./nothing"},
		{"nothing", listed("make live"), "no page has the command"},
		{"```sh\nmake live\n```\n", append(listed("make live"), listed("make live")...), "twice"},
	} {
		var said []string
		for _, err := range k.pageFaults([]page{parsed(t, test.text)}, test.list) {
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

func TestTheExperimentOnSlurmIsTheSmallOne(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"experiments-slurm.toml", "experiments.toml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	made, err := changed(texts[1], small)
	if err != nil {
		t.Fatal(err)
	}
	text, err := inJobs(texts[0], made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse([]byte(text), "made", nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Executor; e.Kind != config.ExecutorSlurm || e.PollSeconds != 0.5 || e.SettleSeconds != 2 || e.ElementMinutes != 1 {
		t.Errorf("its executor is %+v", e)
	}
	if got.Experiment.Out != "out-slurm" || got.Replay.Draws != 64 || len(got.Models) != 2 {
		t.Errorf("out %q, %d draws, %d models", got.Experiment.Out, got.Replay.Draws, len(got.Models))
	}
	if _, err := inJobs("[executor]\n", made); err == nil {
		t.Error("an experiment that is on no Slurm is taken")
	}
}

func TestUnitsOfPagesAreThere(t *testing.T) {
	dir := t.TempDir()
	const shown = "bin/speceval unit replay 2f39e31d75e99329"
	if _, err := withKey(dir, shown); err == nil {
		t.Error("a unit is found where there is none")
	}
	folder := filepath.Join(dir, "out", "manifests", "replay", "profile")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.json"), []byte(`{"key":"abc123"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		shown:                                "bin/speceval unit replay abc123",
		"bin/speceval unit --element x":      "bin/speceval unit --element x",
		"bin/speceval why replay":            "bin/speceval why replay",
		"bin/speceval unit score 0123456789": "",
	} {
		got, err := withKey(dir, text)
		if (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q becomes %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestWithoutSlurmItsFilesNeedNotBeThere leaves out what only jobs leave, and
// nothing else.
func TestWithoutSlurmItsFilesNeedNotBeThere(t *testing.T) {
	said := parseOutputs(`| file | what |
|---|---|
| ` + "`other.txt`, `slurm/*/job.sh`" + ` | x |

### ` + "`run.jsonl`, `slurm/*/element-*.jsonl`" + `

| column | what |
|---|---|
| ` + "`time`, `ran_on`" + ` | x |

### ` + "`slurm/*/batch.json`" + `

| column | what |
|---|---|
| ` + "`name`" + ` | x |
`)
	made := map[string][]string{"other.txt": nil, "run.jsonl": {"time"}}
	if n := len(compareOutputs(said, made, (&scratch{}).unmadeHere(said))); n != 5 {
		t.Errorf("%d faults where Slurm is, want those of three files and two columns", n)
	}
	without := &scratch{noSlurm: errors.New("sbatch is missing")}
	if faults := compareOutputs(said, made, without.unmadeHere(said)); len(faults) != 0 {
		t.Error(faults)
	}
	for name := range made {
		left := map[string][]string{name: made[name]}
		if len(compareOutputs(said, left, without.unmadeHere(said))) == 0 {
			t.Errorf("with nothing but %s there is no fault", name)
		}
	}
}

func TestThePageOnSlurmIsNeverLeftOutUnderCI(t *testing.T) {
	p := parsed(t, "```sh\nmake nothing\n```\n")
	k := names(t)
	var said strings.Builder
	l := &scratch{Lab: &lab.Lab{Stdout: &said}, noSlurm: errors.New("sbatch is missing")}
	if faults := l.without(k, p); len(faults) != 1 || !strings.Contains(faults[0].Error(), "No rule to make target") {
		t.Errorf("faults %v, want that of the command", faults)
	}
	if !strings.Contains(said.String(), "not run: sbatch is missing") {
		t.Errorf("it says %q", said.String())
	}
	l.Strict = true
	if faults := l.without(k, parsed(t, "")); len(faults) != 1 {
		t.Errorf("faults %v, want one", faults)
	}
}

func TestPatternsFitPaths(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/…", "a/b/c", true}, {"a/…", "a", false}, {"a/…", "ab/c", false},
		{"a/*/b-*/…", "a/x/b-1/c/d", true}, {"a/*/b-*/…", "a/x/b-1", false}, {"a/*/b-*/…", "a/x/c/d", false},
		{"a/*.json", "a/b.json", true}, {"a/*.json", "a/b/c.json", false},
	} {
		if fits(test.pattern, test.name) != test.want {
			t.Errorf("%s and %s: %v", test.pattern, test.name, !test.want)
		}
	}
}
