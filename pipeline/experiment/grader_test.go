package experiment

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/scorer/family"
	"speceval/pipeline/config"
	"speceval/stages/score"
)

// graderSettings are those of a benchmark that a program scores, in this folder.
func graderSettings(t *testing.T, sets ...string) (score.Settings, []string, error) {
	t.Helper()
	cfg, err := config.Parse([]byte("[[model]]\nid = \"m\"\n[[benchmark]]\nid = \"own\"\ntasks = \"own.jsonl\"\n"), "x.toml", sets)
	if err != nil {
		t.Fatal(err)
	}
	tasks := TaskFile{ID: "own", Path: "own.jsonl", Tasks: []benchmark.Task{
		{Benchmark: "own", ID: "a", Prompt: "p", Scorer: "command"}, {Benchmark: "own", ID: "b", Index: 1, Prompt: "q", Scorer: "command-graded"},
	}}
	return ScoreSettings(cfg, Outside{}, Judges(cfg, Outside{}), []TaskFile{tasks})
}

// What a grader is made of is part of the rules of its scores, and its name is not
// enough.
func TestAnotherGraderIsAnotherRule(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(text string) {
		if err := os.WriteFile("grade.py", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const named = `grader.command=["python3","grade.py"]`
	seen := map[string]string{}
	rules := func(what string, sets ...string) score.Settings {
		t.Helper()
		s, notes, err := graderSettings(t, append(sets, named)...)
		if err != nil || len(notes) != 0 {
			t.Fatalf("%s: %q, %v", what, notes, err)
		}
		r := s.Rules("own", "m")
		if !strings.HasPrefix(r["scorer.command"], "speceval_command_v1:") || !strings.HasPrefix(r["scorer.command-graded"], "speceval_command_graded_v1:") {
			t.Errorf("%s: %v", what, r)
		}
		if other, again := seen[fmt.Sprint(r)]; again {
			t.Errorf("%s has the rules of %s", what, other)
		}
		seen[fmt.Sprint(r)] = what
		return s
	}
	write("1")
	first := rules("the first")
	write("2")
	rules("another program")
	rules("another version", "grader.version=2")
	rules("another sandbox", "grader.sandbox=false")
	if _, err := first.Benchmarks[0].Grader(t.Context()); err == nil || !strings.Contains(err.Error(), "has changed since this command began") {
		t.Error(err)
	}
	if s, _, _ := graderSettings(t, named, "grader.timeout_seconds=7", "grader.processes=3"); seen[fmt.Sprint(s.Rules("own", "m"))] != "another program" {
		t.Error("how long a grader may take changes its rules")
	}
}

func TestWithoutAGrader(t *testing.T) {
	t.Chdir(t.TempDir())
	s, notes, err := graderSettings(t)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "name it in grader.command") {
		t.Errorf("%q, %v", notes, err)
	}
	if _, err := s.Benchmarks[0].Grader(t.Context()); err == nil || !strings.Contains(err.Error(), "no grader") {
		t.Error(err)
	}
	if _, _, err := graderSettings(t, `grader.command=["python3"]`, `grader.files=["nowhere"]`); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
}

// A program for all benchmarks is one grader, so that its processes are counted once.
func TestGradersAreShared(t *testing.T) {
	t.Chdir(t.TempDir())
	s, _, err := graderSettings(t, `grader.command=["sh"]`, "grader.sandbox=false", "grader.processes=3")
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.Benchmarks[0].Grader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	other, err := s.Benchmarks[0].Grader(t.Context())
	if err != nil || other != one || one.Places() != 3 {
		t.Errorf("%p and %p, %v", one, other, err)
	}
	other.Close()
}

func TestTheKeyIsKeptFromGraders(t *testing.T) {
	got := withoutKeys([]string{"PATH=/bin", KeyVariable + "=hush", "OURS=hush", "THEIRS=hush", "HOME=/"}, &config.Config{Workers: []config.Worker{{KeyEnv: "OURS"}}, Judge: config.Judge{KeyEnv: "THEIRS"}})
	if strings.Join(got, " ") != "PATH=/bin HOME=/" {
		t.Errorf("%q", got)
	}
}

// The simulated fleet says which tasks it never answers right.
func TestUnsimulatedTasksAreTold(t *testing.T) {
	var said []string
	f := Fleet{Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	f.sayUnsimulated([]benchmark.Task{
		{Benchmark: "own", ID: "a", Scorer: "command", Answer: "x"}, {Benchmark: "own", ID: "b", Scorer: "math", Answer: "1"}, {Benchmark: "own", ID: "c", Scorer: "regex", Answer: "a+"},
	})
	if len(said) != 0 {
		t.Errorf("%q", said)
	}
	f.sayUnsimulated([]benchmark.Task{{Benchmark: "own", ID: "a", Scorer: "command"}, {Benchmark: "own", ID: "b", Scorer: "regex", Answer: `a\Bb\bc`}})
	if len(said) != 1 || said[0] != "note: 2 of 2 tasks are never answered right, own/a the first: it has no answer that could be said to its grader" {
		t.Errorf("%q", said)
	}
	if family.Count([]benchmark.Task{{Scorer: "command"}, {Scorer: "math"}}, family.Grader) != 1 {
		t.Error("one task needs a grader")
	}
}
