package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"github.com/spf13/cobra"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"speceval/internal/machine/version"
	"speceval/internal/results/agreement"
	"speceval/pipeline/config"
	"speceval/pipeline/dag"
	"speceval/pipeline/experiment"
	"speceval/stages/report"
	"speceval/stages/report/page"
)

// bench is a small experiment behind the command line: data stands in for
// generate, replay has three units, report one that needs them all.
type bench struct {
	t          *testing.T
	out        string
	hook       func(ctx context.Context, unit string) error // before a unit's own work
	agree      bool                                         // what verify finds
	page       func(w io.Writer, h page.History) error      // nil: there is none
	interrupts chan os.Signal
	terminal   bool

	environment []string

	mu    sync.Mutex // guards clock
	clock time.Time
}

func newBench(t *testing.T) *bench {
	return &bench{
		t: t, out: filepath.Join(t.TempDir(), "out"),
		interrupts: make(chan os.Signal, 2),
		clock:      time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
}

func (b *bench) load(file string, sets []string, o experiment.Outside) (*experiment.Experiment, error) {
	if file != "experiments.toml" {
		return nil, fmt.Errorf("%s: there is no such file", file)
	}
	draws := "8192"
	for _, set := range sets {
		value, ok := strings.CutPrefix(set, "replay.draws=")
		if !ok {
			return nil, fmt.Errorf("--set %s: unknown key", set)
		}
		draws = value
	}
	replay := dag.Stage{Name: "replay", About: "variance ratios", Version: 1}
	report := b.unit("report/table", "tables/table.csv", nil)
	for _, id := range []string{"a", "b", "c"} {
		replay.Units = append(replay.Units, b.unit("replay/"+id, "replay/"+id+".txt", map[string]string{"replay.draws": draws}))
		report.Needs = append(report.Needs, dag.Ref{Stage: "replay", Unit: id})
	}
	return &experiment.Experiment{
		Out: cmp.Or(o.Out, b.out), Executor: config.Executor{Workers: 1}, Page: b.page, Verify: b.verdicts,
		Stages: []dag.Stage{
			{Name: "generate", About: "rollouts", Satisfied: "published profiles stand in"},
			replay,
			{Name: "report", About: "tables", Version: 1, Units: []dag.Unit{report}},
		},
	}, nil
}

func (b *bench) unit(name, output string, config map[string]string) dag.Unit {
	_, id, _ := strings.Cut(name, "/")
	return dag.Unit{ID: id, Config: config, Outputs: []string{output}, Provenance: "computed",
		Run: func(ctx context.Context, job *dag.Job) error {
			b.pass()
			if b.hook != nil {
				if err := b.hook(ctx, name); err != nil {
					return err
				}
			}
			return job.Write(output, -1, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, name, config)
				return err
			})
		}}
}

// verdicts judges three numbers: the stage of two has not run, and one agrees, or differs.
func (b *bench) verdicts() (report.Verdicts, error) {
	one, two := 1.0, 2.0
	judged := agreement.Comparison{Table: "table", Class: agreement.Computed, Obtained: &one, Paper: &two, Verdict: agreement.Differs}
	if b.agree {
		judged.Verdict = agreement.Agrees
	}
	absent := agreement.Comparison{Table: "table", Class: agreement.Computed, Paper: &two, Verdict: agreement.NotRun}
	return report.Verdicts{Published: true, Cells: agreement.Comparisons{judged, absent, absent}}, nil
}

// do carries out a command line and returns its exit code, stdout and stderr.
func (b *bench) do(line string) (code int, stdout, stderr string) {
	return ranOn(b.load, func(s *shell) {
		s.terminal, s.pid, s.environment, s.now, s.interrupts = b.terminal, 7, b.environment, b.now, b.interrupts
		s.origin = dag.Origin{Commit: "abc", Host: "lab", GoVersion: "go1.26", Command: "speceval " + line}
	}, words(line)...)
}

// now is the time by the bench's clock.
func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock
}

// pass lets a second pass: as long as a unit works.
func (b *bench) pass() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock = b.clock.Add(time.Second)
}

// ok is do for a command line that must succeed.
func (b *bench) ok(line string) (stdout, stderr string) {
	b.t.Helper()
	code, stdout, stderr := b.do(line)
	if code != exitDone {
		b.t.Fatalf("speceval %s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	return stdout, stderr
}

// wants does a command line, which has to end with a code and print every part, and returns stdout with stderr.
func (b *bench) wants(line string, code int, parts ...string) string {
	b.t.Helper()
	ended, stdout, stderr := b.do(line)
	if ended != code {
		b.t.Errorf("%s: exit code %d, want %d", line, ended, code)
	}
	want(b.t, line, stdout+stderr, parts...)
	return stdout + stderr
}

// ran carries out a command line of the program, in a shell that change changes;
// nil: in none of its own.
func ran(change func(*shell), args ...string) (code int, stdout, stderr string) {
	return ranOn(experiment.Load, change, args...)
}

// ranOn is ran on the experiments of a loader.
func ranOn(load loader, change func(*shell), args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	s := &shell{stdin: strings.NewReader(""), stdout: &o, stderr: &e, now: time.Now, pid: os.Getpid(), interrupts: make(chan os.Signal), release: func() {}}
	if change != nil {
		change(s)
	}
	code = run(args, s, load)
	return code, o.String(), e.String()
}

// outcome is a command line, the exit code that it ends with, and part of what it says.
type outcome struct {
	words []string
	code  int
	says  string
}

// words are the words of a line.
func words(line string) []string { return strings.Fields(line) }

// outcomes carries out command lines. A usage error writes nothing on stdout.
func outcomes(t *testing.T, do func(words ...string) (code int, stdout, stderr string), all []outcome) {
	t.Helper()
	for _, o := range all {
		code, stdout, stderr := do(o.words...)
		if code != o.code || !strings.Contains(stdout+stderr, o.says) || code == exitUsage && stdout != "" {
			t.Errorf("%q: exit code %d, want %d and %q\nstdout: %s\nstderr: %s", o.words, code, o.code, o.says, stdout, stderr)
		}
	}
}

// said carries out a command line on the shipped configuration that ends with a code, and is what
// it says.
func said(t *testing.T, code int, words ...string) string {
	t.Helper()
	ended, stdout, stderr := onShell(words...)
	if ended != code || code == exitUsage && stdout != "" {
		t.Errorf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", words, ended, code, stdout, stderr)
	}
	return stdout + stderr
}

// same fails where a value is not the wanted one.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// lacks checks that a text does not have a part.
func lacks(t *testing.T, what, text, part string) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%s has %q:\n%s", what, part, text)
	}
}

// want checks that a text has every part.
func want(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

var errBroken = errors.New("broken")

// fails makes a unit fail by an error, and no other.
func (b *bench) fails(failing string, by error) {
	b.hook = func(_ context.Context, unit string) error {
		if unit == failing {
			return by
		}
		return nil
	}
}

// write writes a file, and the folders above it; read reads one.
func write(path, text string) {
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		panic(err)
	}
}

func read(path string) string { return string(must(os.ReadFile(path))) }

// TestExitCodes is the contract with scripts.
func TestExitCodes(t *testing.T) {
	fail := func(b *bench) { b.hook = func(context.Context, string) error { return errBroken } }
	interrupt := func(b *bench) {
		b.hook = func(context.Context, string) error { b.interrupts <- os.Interrupt; return nil }
	}
	held := func(b *bench) {
		lock := must(dag.Acquire(b.out, "pid 1 on alpha"))
		b.t.Cleanup(func() { lock.Release() })
	}
	done := func(b *bench) { b.ok("run") }
	for _, test := range []struct {
		line   string
		setup  func(b *bench)
		code   int
		stdout string // part of it
		stderr string
	}{
		{"run", nil, 0, "", "4 units done"},
		{"run", done, 0, "", "replay: nothing to run: 3 units fresh"},
		{"plan", nil, 0, "never run", ""},
		{"status", nil, 0, "missing", ""},
		{"why replay", nil, 0, "never run", ""},
		{"why", nil, 0, "report: 1 of 1 unit to run", ""},
		{"tables", done, 0, "", "1 file written from stored results"},
		{"verify", func(b *bench) { b.agree = true }, 0, "computed 1 of 1 agree", "replay is not fresh"},
		{"verify --strict", func(b *bench) { b.agree = true }, 4, "computed 1 of 1 agree", "2 numbers of stages that have not run"},
		{"version", nil, 0, "speceval " + version.Tag + " (abc, go1.26", ""},
		{"version --json", nil, 0, `"version": "` + version.Tag + `"`, ""},
		{"--version", nil, 0, "speceval " + version.Tag + " (abc, go1.26", ""},
		{"help", nil, 0, "Look closer:\n  explain ", ""},
		{"--help", nil, 0, "Reproduce the paper:\n  run ", ""},

		{"run", fail, 1, "", "1 unit failed, 3 not run\n  replay/a: broken"},
		{"run --keep-going", fail, 1, "", "3 units failed, 1 not run"},
		{"run report", nil, 1, "", "run `speceval run replay` first"},
		{"plan report", nil, 1, "", "run `speceval run replay` first"},
		{"tables", nil, 1, "", "run `speceval run replay` first"},
		{"run", held, 1, "", "another run is writing in"},
		{"unit replay 0123456789", nil, 1, "", "no unit of replay has the key"},
		{"plan", held, 0, "never run", ""},
		{"status", held, 0, "missing", ""},

		{"", nil, 2, "", "no command given"},
		{"rnu", nil, 2, "", "unknown command \"rnu\" for \"speceval\"\n\nDid you mean this?\n\trun\n"},
		{"run --froce", nil, 2, "", "unknown flag: --froce, did you mean --force?\nusage: speceval run [STAGE…] [flags]"},
		{"run -j many", nil, 2, "", "invalid argument \"many\" for \"-j, --jobs\" flag"},
		{"run -j 0", nil, 2, "", "want a number of units at a time"},
		{"run --version", nil, 2, "", "unknown flag: --version"},
		{"run reply", nil, 2, "", `there is no stage "reply": stages are generate, replay, report, did you mean replay?`},
		{"run replay --from report", nil, 2, "", "not both"},
		{"run --from report --until replay", nil, 2, "", "comes before"},
		{"why report replay", nil, 2, "", "accepts at most 1 arg(s), received 2\nusage: speceval why [STAGE]"},
		{"why reply", nil, 2, "", "did you mean replay?"},
		{"unit replay", nil, 2, "", "accepts 2 arg(s), received 1\nusage: speceval unit STAGE KEY"},
		{"status now", nil, 2, "", `unknown command "now" for "speceval status"`},
		{"run --config other.toml", nil, 2, "", "other.toml: there is no such file"},
		{"plan --set replay.drawz=1", nil, 2, "", "unknown key"},
		{"help rnu", nil, 2, "", `there is no command "rnu"`},
		{"help evaluate lits", nil, 2, "", `there is no command "evaluate lits"`},
		{"--force run", nil, 2, "", "unknown flag: --force"},
		{"run --config", nil, 2, "", "flag needs an argument: --config\nusage: "},
		{"evaluate list --budget 7 --policy nonsense", nil, 2, "", "unknown flag: --budget"},
		{"evaluate show --resolve 0.1 x", nil, 2, "", "unknown flag: --resolve"},
		{"benchmarks list --download", nil, 2, "", "unknown flag: --download"},
		{"verify -n 3", nil, 2, "", "unknown shorthand flag: 'n' in -n"},
		{"import logs --to p.csv --reward acc --scorer math", nil, 2, "", "give one of them"},
		{"completion tcsh", nil, 2, "", `unknown command "tcsh" for "speceval completion"`},

		{"status --check", done, 0, "fresh", ""},
		{"status --check --set replay.draws=1024", nil, 3, "missing", "stale: `speceval plan --set replay.draws=1024` says why"},
		{"verify", func(b *bench) { b.agree = false }, 4, "computed 0 of 1 agree", "outside tolerance"},
		{"run", interrupt, 130, "", "interrupted: 3 units not run"},
	} {
		t.Run(test.line, func(t *testing.T) {
			b := newBench(t)
			if test.setup != nil {
				test.setup(b)
			}
			code, stdout, stderr := b.do(test.line)
			if code != test.code {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, test.code, stdout, stderr)
			}
			want(t, "stdout", stdout, test.stdout)
			want(t, "stderr", stderr, test.stderr)
			if code == exitUsage && stdout != "" {
				t.Errorf("a usage error wrote data: %s", stdout)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	b := newBench(t)
	for shell, part := range map[string]string{"bash": "complete -o default", "zsh": "#compdef speceval", "fish": "complete -c speceval"} {
		stdout, stderr := b.ok("completion " + shell)
		if want(t, shell, stdout, part); stderr != "" {
			t.Errorf("%s: %s", shell, stderr)
		}
	}
	b.ok("run")
	for line, parts := range map[string][]string{
		"hel":          {"help\t"},
		"ru":           {"run\trun what is stale"},
		"run re":       {"replay\n", "report\n"},
		"run --keep":   {"--keep-going"},
		"evaluate li":  {"list\tlist the evaluations"},
		"completion z": {"zsh\t"},
	} {
		code, stdout, _ := b.do("__complete " + line)
		if want(t, line, stdout, parts...); code != exitDone || strings.Contains(stdout, "usage") || strings.Count(stdout, parts[0]) != 1 {
			t.Errorf("%s: exit code %d\n%s", line, code, stdout)
		}
	}
}

// TestManualPages has a page for every command, the same whenever they are made.
func TestManualPages(t *testing.T) {
	b := newBench(t)
	var made [2]map[string]string
	for i := range made {
		dir := t.TempDir()
		b.ok("man " + dir)
		made[i] = folderFiles(t, dir)
	}
	if !maps.Equal(made[0], made[1]) {
		t.Error("the pages are not the same twice")
	}
	want(t, "speceval.1", made[0]["speceval.1"], ".TH SPECEVAL 1\n", `\-\-config FILE`, `evaluate`)
	want(t, "speceval-run.1", made[0]["speceval-run.1"], "Examples:\n\\&  speceval run  ", `\-\-force`)
	if _, there := made[0]["speceval-man.1"]; there || len(made[0]) < 20 {
		t.Errorf("%d pages", len(made[0]))
	}
}

// TestHelpOfEveryCommand has examples for all, in lines that fit a terminal, and a line a flag.
func TestHelpOfEveryCommand(t *testing.T) {
	b := newBench(t)
	overview, _ := b.ok("help")
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		words := strings.TrimPrefix(c.CommandPath(), "speceval")
		text, _ := b.ok(words + " --help")
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("help of%s has a line of %d columns: %s", words, n, line)
			}
			if strings.HasPrefix(line, strings.Repeat(" ", 20)) {
				t.Errorf("help of%s has a flag in two lines: %s", words, line)
			}
		}
		if again, _ := b.ok("help" + words); again != text {
			t.Errorf("help%s is not its --help:\n%s", words, again)
		}
		ours := !strings.HasPrefix(words, " completion") && words != "" && words != " help" && !c.Hidden
		if ours && !strings.Contains(text, "Examples:\n  speceval"+words) {
			t.Errorf("help of%s has no example:\n%s", words, text)
		}
		if top := c.Parent() == c.Root(); top && strings.Contains(overview, "\n  "+c.Name()+" ") == c.Hidden {
			t.Errorf("in the list of commands is%s: %t", words, !c.Hidden)
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	root := (&session{shell: &shell{}}).tree()
	if check(root); len(root.Commands()) < 20 {
		t.Errorf("%d commands", len(root.Commands()))
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
