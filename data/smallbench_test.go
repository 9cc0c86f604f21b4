package data_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
)

// smallTasks is the tasks of the small benchmark.
func smallTasks(t *testing.T) []benchmark.Task {
	t.Helper()
	prompts := must(benchmark.ParsePrompts(data.Prompts()))
	tasks := must(benchmark.Reader{Prompts: prompts}.Parse(data.BuiltIn("smallbench")))
	return tasks
}

// TestWhatIsAskedStays: a change of a problem or of a template sets aside the rollouts that
// people have, and answers were worked out once in another way than the problems were made. If
// it is meant, change the digest.
func TestWhatIsAskedStays(t *testing.T) {
	const want = "2b58cb80ff93babca495030b3d75145931b433481b480e0cd76213ec9245126e"
	if got := benchmark.PromptDigest(smallTasks(t)); got != want {
		t.Errorf("what is asked has the digest %s, was %s", got, want)
	}
}

func TestEveryKindOfScorerHasItsTasks(t *testing.T) {
	count, options := map[string]int{}, map[int]bool{}
	kinds := map[string]int{}
	for _, task := range smallTasks(t) {
		count[task.Scorer]++
		options[task.Options] = true
		if !strings.HasPrefix(task.ID, task.Scorer+"-") || task.Benchmark != "smallbench" {
			t.Errorf("%s is a task of %s in %s", task.ID, task.Scorer, task.Benchmark)
		}
		if task.Options != len(task.OptionTexts) {
			t.Errorf("%s: %d options, %d texts", task.ID, task.Options, len(task.OptionTexts))
		}
		if task.Scorer != "code" {
			continue
		}
		kinds[task.Tests[0].Kind]++
		if len(task.Tests) < 3 {
			t.Errorf("%s has %d tests", task.ID, len(task.Tests))
		}
		if name := task.Tests[0].Function; !strings.Contains(task.Prompt, name+"(") && name != "" {
			t.Errorf("%s does not tell the name of %s", task.ID, name)
		}
	}
	for _, scorer := range []string{"math", "choice", "code", "judge"} {
		if count[scorer] < 8 {
			t.Errorf("%d tasks for %s", count[scorer], scorer)
		}
	}
	for n := 4; n <= 10; n++ {
		if !options[n] {
			t.Errorf("no choice has %d options", n)
		}
	}
	if kinds["stdin"] == 0 || kinds["function"] == 0 {
		t.Errorf("kinds of tests: %v", kinds)
	}
}

// TestReferenceSolutionsPass runs a Python solution of every program on its
// tests. It is skipped without python3, except under SPECEVAL_CI=1.
func TestReferenceSolutionsPass(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip("python3 is not installed")
	}
	var programs []benchmark.Task
	for _, task := range smallTasks(t) {
		if task.Scorer == "code" {
			programs = append(programs, task)
		}
	}
	if said := runSolutions(t, python, programs); said != "" {
		t.Error(said)
	}
	for i := range programs {
		programs[i].Tests = withWrongEnd(programs[i].Tests)
	}
	if said := runSolutions(t, python, programs); strings.Count(said, "\n") != len(programs) {
		t.Errorf("wrong outputs of %d programs were not all noticed:\n%s", len(programs), said)
	}
}

// withWrongEnd gives the tests with a wrong output in the last one.
func withWrongEnd(tests []benchmark.Test) []benchmark.Test {
	wrong := append([]benchmark.Test(nil), tests...)
	last := &wrong[len(wrong)-1]
	if last.Output = "[[0]]"; last.Kind == "stdin" {
		last.Output = "wrong\n"
	}
	return wrong
}

func runSolutions(t *testing.T, python string, tasks []benchmark.Task) string {
	t.Helper()
	input := must(json.Marshal(tasks))
	command := exec.Command(python, "testdata/smallbench/run.py")
	command.Stdin = bytes.NewReader(input)
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return string(output)
}
