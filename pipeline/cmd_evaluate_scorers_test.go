package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
)

// scoredBenchmark is a benchmark with a scorer of every kind that a user may bring.
const scoredBenchmark = `{"id":"capital","prompt":"What is the capital of France?","answer":"Paris","scorer":"exact"}
{"id":"code","prompt":"Which code has the error \"not found\"?","answer":"(?i)(http )?404","scorer":"regex"}
{"id":"pi","prompt":"What is pi?","answer":"3.14","tolerance":"1%","scorer":"number"}
{"id":"poem","prompt":"Write a line on roses.","answer":"Roses are red.","scorer":"command"}
{"id":"haiku","prompt":"Write a line on frogs.","answer":"An old silent pond.","scorer":"command"}
`

// gradingScript is a grader of lines that must be the last of a response.
const gradingScript = `import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    last = asked["response"].strip().split("\n")[-1]
    print(json.dumps({"reward": int(last == asked["task"]["answer"]), "answer": last}), flush=True)
`

// scorersLab is a lab whose server answers the benchmark, right at all tasks at a rate.
func scorersLab(t *testing.T, pass float64) *evaluationLab {
	t.Helper()
	l := newEvaluationLab(t)
	write("own.jsonl", scoredBenchmark)
	write("grade.py", gradingScript)
	tasks, passes := tasksIn("own.jsonl"), map[fleet.TaskKey]float64{}
	for _, task := range tasks {
		passes[fleet.TaskKey{Benchmark: task.Benchmark, ID: task.ID}] = pass
	}
	l.url = serves(t, imitation.Settings{Model: "mine"}, fleet.AuthorSettings{Model: "mine", Tasks: tasks, Passes: passes})
	return l
}

// withPython is the flags that name a grader in Python, without a sandbox.
func withPython(t *testing.T) []string {
	t.Helper()
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		if os.Getenv("SPECEVAL_CI") != "" {
			t.Fatal(err)
		}
		t.Skip("python3 is not installed")
	}
	return []string{"--set", fmt.Sprintf("grader.command=[%q, \"grade.py\"]", strings.TrimSpace(string(path))), "--set", "grader.sandbox=false"}
}

// Every scorer takes all right answers of the simulated fleet, and no wrong one.
func TestScorersOfOnesOwn(t *testing.T) {
	python := withPython(t)
	for pass := range 2 {
		l := scorersLab(t, float64(pass))
		r := l.evaluate(append(python, "--budget", "6", "--policy", "uniform")...)
		same(t, "the share of right answers", r.Estimate, float64(pass))
		if pass == 1 && len(r.Scored) != 4 {
			t.Errorf("scored by %q", r.Scored)
		}
	}
}

// A grader that is edited makes verdicts stale, and rescore scores by the new one.
func TestAnotherGraderScoresAgain(t *testing.T) {
	python := append(withPython(t), words("--budget 6 --policy uniform")...)
	l := scorersLab(t, 1)
	first := l.evaluate(python...)
	stale := "answers or scorers have changed since"
	if again := l.evaluate(python...); again.Rules != first.Rules || strings.Contains(l.stderr, stale) {
		t.Errorf("rules %s, then %s\n%s", first.Rules, again.Rules, l.stderr)
	}
	write("grade.py", strings.Replace(gradingScript, "int(last", "1 - int(last", 1))
	l.says(exitDone, append(l.mine(""), python...), stale)
	l.says(exitDone, append(words("rescore own/mine/uniform-b6-seed42 --benchmark own.jsonl"), python[:4]...))
	again := l.evaluate(python...)
	if again.Estimate != 0.6 || again.Rules == first.Rules || slices.Equal(again.Scored, first.Scored) || strings.Contains(l.stderr, stale) {
		t.Errorf("%v, scored by %q, rules %s\n%s", again.Estimate, again.Scored, again.Rules, l.stderr)
	}
	l.says(exitDone, append(l.mine("--set grader.version=2"), python...), stale)
}

// A grader that gives no verdict pauses an evaluation, which goes on with one that
// does, and asks for nothing again.
func TestAGraderThatFailsPausesTheEvaluation(t *testing.T) {
	python := append(withPython(t), words("--budget 6 --policy uniform")...)
	l := scorersLab(t, 1)
	write("grade.py", "import sys\nfor line in sys.stdin:\n    sys.exit('I give up')\n")
	l.says(exitFailed, append(l.mine(""), python...), "gave no verdict, asked twice: it died: exit status 1", "I give up")
	write("grade.py", gradingScript)
	if r := l.evaluate(python...); r.Estimate != 1 || r.Rollouts != 30 {
		t.Errorf("%+v", r)
	}
}

func TestGradersBehindBubblewrap(t *testing.T) {
	withPython(t)
	if _, err := exec.LookPath("bwrap"); err != nil && os.Getenv("SPECEVAL_CI") == "" {
		t.Skip("bwrap is not installed")
	}
	l := scorersLab(t, 1)
	write("grade.py", strings.Replace(gradingScript, "for line", "open('seen.txt')\ntry:\n    open('own.jsonl')\n    sys.exit('it is seen')\nexcept OSError:\n    pass\nfor line", 1))
	write("seen.txt", "")
	write("mine.toml", "[grader]\ncommand = [\"nothing\"]\nfiles = [\"seen.txt\"]\n[[benchmark]]\nid = \"own\"\ntasks = \"own.jsonl\"\ngrader = [\"python3\", \"grade.py\"]\n")
	r := l.evaluate("--config", "mine.toml", "--budget", "4", "--policy", "uniform")
	same(t, "the share of right answers", r.Estimate, 1)
	t.Setenv("PATH", filepath.Join(t.TempDir(), "empty"))
	l.says(exitFailed, l.mine("--config mine.toml --budget 6"), "answers on own cannot be scored", "install it", "sandbox = false")
}

func TestAGraderMustBeNamed(t *testing.T) {
	l := scorersLab(t, 1)
	l.says(exitFailed, l.mine("--budget 6"), "answers on own cannot be scored: no grader: name your program in grader.command")
	l.says(exitUsage, l.mine(`--budget 6 --set grader.command=["python3"] --set grader.files=["nowhere"]`), "the grader's files", "nowhere")
}
