package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"speceval/data"
	"speceval/drills/lab"
)

// change is one to a configuration: the first text that a pattern fits becomes
// another, or with all every one.
type change struct{ pattern, to string }

// key is the change of every value that a key has, in lines of its own.
func key(name, value string) change {
	return change{`(?ms)^` + name + ` = (\[.*?\]|[^\n#]*)`, name + " = " + value + " "}
}

// small are the changes that make experiments.toml a matter of seconds: two models
// on two benchmarks, and few draws.
var small = []change{
	{`(?ms)^\[\[model\]\]\nid = "(qwen2_5_7b|qwen2_5_32b|qwen3_5_9b|qwen3_5_27b)".*?\n\n`, ""},
	{`(?m)^\[\[benchmark\]\]\nid = "(aime25|aime26|gpqa|hle|livecode|math|mmlu|supergpqa)[a-z0-9_]*"\n`, ""},
	key("draws", "64"), key("replicates", "2"), key("resamples", "2"), key("resample_draws", "2"), key("repetitions", "200"),
	key("ibn_alphas", "[0.05, 0.1]"), key("alphas", "[0.05, 0.1]"), key("warm_starts", "[2]"),
	key("race_draws", "2"), key("final_draws", "4"), key("repeats", "2"), key("pdf", `"never"`),
}

// smaller are the changes to experiments-small.toml: few tasks, and a second
// generation to agree with.
var smaller = []change{
	{`id = "smallbench"`, "id = \"smallbench\"\ntasks = \"few.jsonl\""},
	key("rollouts_per_task", "8"), key("draws", "64"), key("replicates", "2"), key("alphas", "[0.05]"),
	key("race_draws", "2"), key("final_draws", "4"), key("scored_repeats", "[1, 0]"),
	{`\z`, "\n[report]\npdf = \"never\"\nsecond = \"out-second/score/profiles.parquet\"\n"},
}

// changed applies changes, each of which must fit.
func changed(text string, changes []change) (string, error) {
	for _, c := range changes {
		pattern := regexp.MustCompile(c.pattern)
		if !pattern.MatchString(text) {
			return "", fmt.Errorf("the configuration has nothing that fits %s", c.pattern)
		}
		text = pattern.ReplaceAllLiteralString(text, c.to)
	}
	return text, nil
}

// fewTasks are some of the small benchmark, at least one for every scorer.
func fewTasks() string {
	var kept []string
	seen := map[string]int{}
	for line := range strings.Lines(string(data.SmallBenchmark())) {
		scorer := regexp.MustCompile(`"scorer":"[a-z]+"`).FindString(line)
		if most := map[bool]int{true: 1, false: 5}[scorer == `"scorer":"code"`]; seen[scorer] < most {
			seen[scorer]++
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// standIn is an experiment whose simulated servers stand in for those of a user:
// each serves another model.
const standIn = `[[model]]
id = "my-model"
[[model]]
id = "model-a"
[[model]]
id = "model-b"
[[benchmark]]
id = "mine"
tasks = "mine.jsonl"
[[worker]]
name = "w"
urls = ["http://127.0.0.1:8000", "http://127.0.0.1:8001", "http://127.0.0.1:8002"]
`

// mine is a benchmark of a user, with the two tasks that the README shows: so many
// others that a small error does not take hundreds of rollouts of each.
func mine() string {
	text := shownTasks
	for line := range strings.Lines(string(data.SmallBenchmark())) {
		if strings.Contains(line, `"scorer":"math"`) || strings.Contains(line, `"scorer":"choice"`) {
			text += line
		}
	}
	return text
}

// Files that users have, where a page shows none.
const (
	shownTasks = `{"id":"primes","prompt":"How many primes are below 100?","answer":"25","scorer":"math"}
{"id":"rose","prompt":"Which is red?","answer":"B","scorer":"choice","options":["sky","rose"]}
`
	mineCSV = "id,prompt,answer,scorer,options\nprimes,How many primes are below 100?,25,math,\n"
	mineTSV = "1/2\t0.5\ttrue\n25\t26\tfalse\n"
)

// lay writes the files of a scratch copy that the repository does not have.
func (s *scratch) lay() error {
	for _, f := range []struct {
		name    string
		changes []change
	}{{"experiments.toml", small}, {"experiments-small.toml", smaller}} {
		text, err := os.ReadFile(filepath.Join(s.whole, f.name))
		if err != nil {
			return err
		}
		done, err := changed(string(text), f.changes)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := os.WriteFile(filepath.Join(s.whole, f.name), []byte(s.addressed(done)), 0o666); err != nil {
			return err
		}
	}
	if err := s.layInJobs(); err != nil {
		return err
	}
	files := map[string]string{"few.jsonl": fewTasks(), "stand-in.toml": s.addressed(standIn), "mine.jsonl": mine(), "mine.csv": mineCSV, "mine.tsv": mineTSV}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.whole, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// layInJobs makes experiments-slurm.toml as small as experiments.toml is already.
func (s *scratch) layInJobs() error {
	shipped, err := os.ReadFile(filepath.Join(s.whole, "experiments-slurm.toml"))
	if err != nil {
		return err
	}
	small, err := os.ReadFile(filepath.Join(s.whole, "experiments.toml"))
	if err != nil {
		return err
	}
	text, err := inJobs(string(shipped), string(small))
	if err != nil {
		return fmt.Errorf("experiments-slurm.toml: %w", err)
	}
	return os.WriteFile(filepath.Join(s.whole, "experiments-slurm.toml"), []byte(text), 0o666)
}

// own writes the files that a page itself shows.
func (s *scratch) own(p page, dir string) error {
	for _, f := range []struct{ lang, name string }{{"toml", "mine.toml"}, {"json", "mine.jsonl"}, {"csv", "mine.csv"}, {"tsv", "mine.tsv"}} {
		if text, ok := p.first(f.lang); ok {
			if err := os.WriteFile(filepath.Join(dir, f.name), []byte(s.addressed(text)), 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// slurmPage is the page whose commands take a Slurm cluster, and slurmFolder is
// where it starts one of its own.
const (
	slurmPage   = "docs/slurm.md"
	slurmFolder = "/tmp/slurm"
)

// quick are the changes that make experiments-slurm.toml wait for less.
var quick = []change{{`kind = "slurm"`, "kind = \"slurm\"\npoll_seconds = 0.5\nsettle_seconds = 2\nelement_minutes = 1"}}

// inJobs is the shipped experiment on Slurm, made as small as another one is. It
// has an output folder of its own, so that nothing is fresh there.
func inJobs(shipped, small string) (string, error) {
	executor, err := changed(shipped, quick)
	if err != nil {
		return "", err
	}
	return changed(small, []change{
		{`(?ms)^\[executor\]$.*?^\[report\]$`, executor + "\n[report]"},
		key("out", `"out-slurm"`),
	})
}

// startSlurm starts a cluster that the outputs are made on, and the commands of
// pages run on. Without Slurm on this machine there is none.
func (s *scratch) startSlurm(ctx context.Context) (stop func(), err error) {
	if s.noSlurm = lab.ClusterInstalled(s.whole); s.noSlurm != nil {
		return func() {}, nil
	}
	if s.short, err = os.MkdirTemp("", "speceval-slurm-"); err != nil { // names of sockets must be short
		return nil, err
	}
	if s.slurm, err = lab.StartCluster(ctx, s.whole, filepath.Join(s.short, "own")); err != nil {
		return nil, err
	}
	return func() {
		s.slurm.Stop()
		os.RemoveAll(s.short)
	}, nil
}

// without checks the page on Slurm where there is none: its commands must name what
// exists all the same.
func (s *scratch) without(names known, p page) (faults []error) {
	s.Printf("%s: not run: %v", p.name, s.noSlurm)
	if s.Strict {
		return []error{fmt.Errorf("%s: not run: %w", p.name, s.noSlurm)}
	}
	for _, b := range p.blocks {
		commands, err := b.commands()
		if err != nil {
			return []error{err}
		}
		for _, c := range commands {
			faults = append(faults, names.faults(c)...)
		}
	}
	return faults
}

// pageCluster is the folder of the cluster that a page starts.
func (s *scratch) pageCluster() string { return filepath.Join(s.short, "page") }

// leaveCluster ends what a page has started and, after a fault, not stopped.
func (s *scratch) leaveCluster(dir string) error {
	if _, err := os.Stat(s.pageCluster()); s.slurm == nil || err != nil {
		return nil
	}
	return s.must(context.Background(), dir, "drills/lab/cluster.sh stop "+slurmFolder)
}

// runsUnit finds a unit that a command runs by its key.
var runsUnit = regexp.MustCompile(`\b(unit ([a-z]+)) [0-9a-f]{8,64}\b`)

// withKey is a command with a key that is there, in the place of one that a page
// shows: keys change with the versions of stages.
func withKey(dir, text string) (string, error) {
	match := runsUnit.FindStringSubmatch(text)
	if match == nil {
		return text, nil
	}
	key, err := someUnit(filepath.Join(dir, "out", "manifests", match[2]))
	return runsUnit.ReplaceAllString(text, "$1 "+key), err
}

// someUnit is the key of a unit that has a manifest in a folder.
func someUnit(folder string) (key string, err error) {
	var manifest struct{ Key string }
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || manifest.Key != "" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &manifest)
	})
	if err == nil && manifest.Key == "" {
		err = fmt.Errorf("%s has no manifest", folder)
	}
	return manifest.Key, err
}

// unmadeHere is what the page on outputs says of files that the drill does not
// make on this machine.
func (s *scratch) unmadeHere(said []documented) map[string]string {
	all := maps.Clone(unmade)
	if s.noSlurm == nil {
		return all
	}
	inJobs := func(pattern string) bool { return strings.HasPrefix(pattern, "slurm/") }
	for _, d := range said {
		alone := len(d.patterns) > 0 && !slices.ContainsFunc(d.patterns, func(p string) bool { return !inJobs(p) })
		for _, what := range slices.Concat(d.patterns, d.columns) {
			if alone || inJobs(what) || slices.Contains(ofJobs, what) {
				all[what] = s.noSlurm.Error()
			}
		}
	}
	return all
}
