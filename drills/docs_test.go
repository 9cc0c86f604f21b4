//go:build drill

package drills_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/drill"
	"speceval/pipeline/config"
)

// small makes a copy of the repository whose experiments take seconds. Their servers get
// other ports than those of a user.
const small = `set -eo pipefail; mkdir "$SCRATCH"; git ls-files -z -co --exclude-standard | tar --null --ignore-failed-read -cT - | tar -xC "$SCRATCH"; cd "$SCRATCH"
sed -i s/127.0.0.1:8/127.0.0.1:30/g experiments*.toml
sed -zi -E 's/\[\[model\]\]\nid = "(qwen2_5_.?.b|qwen3_5_.?[79]b)"[^[]*//g
s/\[\[benchmark\]\]\nid = "(aime2[56]|gpqa|hle|livecode|math|mmlu|supergpqa)[a-z0-9_]*"\n//g
s/(ibn_alphas|\nalphas) = \[[^]]*\]/\1 = [0.05, 0.1]/g
s/warm_starts = \[[^]]*\]/warm_starts = [2]/' experiments.toml
sed -i -E 's/^(draws|repetitions|final_draws) = [0-9]+/\1 = 64/
s/^(replicates|resamples|resample_draws|race_draws|repeats) = [0-9]+/\1 = 2/; s/^(rollouts_per_task) = [0-9]+/\1 = 8/; s/^scored_repeats = \[2/scored_repeats = [1/; s/^pdf = .*/pdf = "never"/' experiments.toml experiments-small.toml
sed -i -E '/^kind = /r /dev/stdin' experiments-slurm.toml <<<'poll_seconds = 0.5
settle_seconds = 2
element_minutes = 1'
sed -E '/^\[executor\]/,/^\[report\]/{/^\[report\]/!d}; s/^out = .*/out = "out-slurm"/' experiments.toml >>experiments-slurm.toml
make build
`

// begin begins the shell of a page: a command that fails ends it, and servers end with
// it. The models of pages have a server each, and no evaluations of other pages.
const begin = `set -eEo pipefail
trap 'echo "exit code $?: $BASH_COMMAND"' ERR
trap 'kill $(jobs -p) 2>/dev/null || true; wait; for c in ../*cluster; do [ ! -d $c ] || { drills/drill/cluster.sh stop $c; rm -rf $c; }; done' EXIT
duckdb() { python3 -c 'import duckdb, sys; duckdb.sql(sys.argv[1]).show()' "$2"; }
serve() { local log; log=$(mktemp -p .); "$@" >"$log" 2>&1 & until grep -q "interrupt to stop" "$log"; do kill -0 $! || { cat "$log"; exit 1; }; sleep 0.1; done; }
rm -rf out/evaluate/benchmark=mine/model=my-model
grep -E '"scorer":"(math|choice)"' data/smallbench/smallbench.jsonl >mine.jsonl
printf '[[model]]\nid = "%s"\n' my-model model-a model-b >stand-in.toml
printf '[[benchmark]]\nid = "mine"\ntasks = "mine.jsonl"\n[[worker]]\nname = "w"\nurls = ["%s:30000", "%s:30001", "%s:30002"]\n' http://127.0.0.1{,,} >>stand-in.toml
serve speceval fleet --config stand-in.toml --tasks mine.jsonl --speed 0
`

// results makes the files whose columns docs/outputs.md must have. On a busy machine a
// replica at 100 times its speed makes many tokens of a request before its end is noticed, which
// voids a timed run: running again makes those alone.
const results = "```sh server" + `
speceval fleet --config experiments-small.toml --speed 100
` + "```\n```sh" + `
speceval run -q
small() { speceval run -q --config experiments-small.toml; }
small || small || small
speceval evaluate -q --benchmark mine.jsonl --model model-a --budget 16 --worker http://127.0.0.1:8001
speceval evaluate -q --benchmark mine.jsonl --model model-b --budget 16 --worker http://127.0.0.1:8002
` + "```\n```python" + `
import csv, fnmatch, glob, re, pyarrow.parquet as pq
known = re.findall("\x60([^\x60\n]+)\x60", open("docs/outputs.md").read())
tables = {f: pq.read_schema(f).names for f in glob.glob("out*/**/*.parquet", recursive=True) if "/parts/" not in f}
tables |= {f: next(csv.reader(open(f))) for f in glob.glob("out*/**/*.csv", recursive=True) if "/parts/" not in f}
missing = [(f, c) for f, all in tables.items() for c in all if not any(fnmatch.fnmatch(c, k) for k in known)]
assert len(tables) > 20 and not missing, (len(tables), missing)
` + "```\n"

var (
	fenced = regexp.MustCompile("(?ms)^```([a-z]+) ?([a-z-]*)\n(.*?)^```$")
	link   = regexp.MustCompile(`\]\(([^)#:]+)[)#]`)
)

// TestDocuments is `make drill-docs`: it runs the blocks of shell and Python in README.md
// and docs/, a page after the other, in a copy of the repository with small experiments.
// Blocks marked "no-run" are read alone; those marked "server" run until their page ends.
func TestDocuments(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "copy")
	runScript(t, "..", dir, small)
	runScript(t, dir, dir, begin+script(t, dir, "results", results))
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, path := range append([]string{"../README.md"}, pages...) {
		t.Run(strings.TrimPrefix(path, "../"), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, to := range link.FindAllStringSubmatch(string(content), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), to[1])); err != nil {
					t.Error(err)
				}
			}
			start := begin
			if path == "../docs/slurm.md" {
				if err := drill.ClusterInstalled(); err != nil && os.Getenv("SPECEVAL_CI") != "1" {
					t.Skip(err)
				}
				start += "drills/drill/cluster.sh start ../cluster\neval \"$(drills/drill/cluster.sh env ../cluster)\"\n"
			}
			runScript(t, dir, dir, start+script(t, dir, path, string(content)))
		})
	}
}

// script runs the blocks of a page. The first block of a file's kind is the user's file.
func script(t *testing.T, dir, path, text string) (all string) {
	files := map[string]string{"toml": "mine.toml", "json": "mine.jsonl", "csv": "mine.csv", "tsv": "mine.tsv"}
	text = strings.NewReplacer("127.0.0.1:8", "127.0.0.1:30", "/tmp/slurm", filepath.Join(dir, "../pages-cluster")).Replace(text)
	for _, at := range fenced.FindAllStringSubmatchIndex(text, -1) {
		kind, mark, code := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		all += fmt.Sprintf("echo '== %s:%d'\n", path, 2+strings.Count(text[:at[0]], "\n"))
		if _, err := config.Parse([]byte(code), path, nil); kind == "toml" && err != nil {
			t.Error(err)
		}
		switch {
		case files[kind] != "":
			all = fmt.Sprintf("cat >%s <<'END'\n%sEND\n", files[kind], code) + all
			delete(files, kind)
		case mark == "no-run":
			for line := range strings.Lines(code) {
				if rest, ok := strings.CutPrefix(line, "make "); ok {
					all += "make -n >/dev/null " + rest
				}
			}
		case mark == "server":
			all += "serve " + code
		case kind == "sh":
			all += code
		case kind == "python":
			all += fmt.Sprintf("python3 - <<'END'\n%sEND\n", code)
		}
	}
	return all
}

// runScript runs a script in a folder, which must succeed within minutes.
func runScript(t *testing.T, in, scratch, script string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", script)
	c.Dir, c.Env = in, append(os.Environ(), "SCRATCH="+scratch, "NO_COLOR=1", "PATH="+scratch+"/bin:"+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-4000):])
	}
}
