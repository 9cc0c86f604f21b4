package data_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/store/profile"
)

// problemsProgram makes the primer and the training texts of the small model.
const problemsProgram = "smallmodel/problems.py"

// primer is the benchmark that ships.
func primer(t *testing.T) []benchmark.Task {
	t.Helper()
	tasks := must(benchmark.Reader{}.Parse(data.BuiltIn("primer")))
	return tasks
}

// problems runs the program that makes problems. The test is skipped without
// python3, except under SPECEVAL_CI=1.
func problems(t *testing.T, words ...string) []byte {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip("python3 is not installed")
	}
	command := exec.Command(python, append([]string{"-B", problemsProgram}, words...)...)
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return output
}

func TestPrimerIsWhatTheProgramMakes(t *testing.T) {
	made := problems(t, "tasks")
	if primer, _ := data.BuiltIn("primer"); !bytes.Equal(made, primer) {
		t.Errorf("%s is not up to date: run python3 data/%s tasks", data.PrimerName, problemsProgram)
	}
	tasks := primer(t)
	if len(tasks) < 64 {
		t.Errorf("%d tasks, at least 64 are promised", len(tasks))
	}
	// What is built in is written as all task files are.
	var again bytes.Buffer
	if err := benchmark.WriteTasks(&again, tasks); err != nil || !bytes.Equal(again.Bytes(), made) {
		t.Errorf("the file is not in the form that WriteTasks gives it (%v)", err)
	}
	count := map[string]int{}
	for _, task := range tasks {
		count[task.Scorer]++
		if len(task.UserPrompt) > 70 {
			t.Errorf("%s: the prompt has %d bytes, at most 70 are promised", task.ID, len(task.UserPrompt))
		}
	}
	for _, scorer := range []string{"math", "choice", "code"} {
		if count[scorer] < 8 {
			t.Errorf("%d tasks for %s", count[scorer], scorer)
		}
	}
}

var (
	question = regexp.MustCompile(`^What is (\d+)(\+|-|\*| mod )(\d+)(?:\*(\d+))?\?$`)
	numbers  = regexp.MustCompile(`\d+`)
	label    = regexp.MustCompile(` [B-Z]\) `)
)

// form is the same for prompts that ask the same: addends, factors and options
// may stand in any order.
func form(prompt string) string {
	var parts []string
	m := question.FindStringSubmatch(prompt)
	switch kind, options, isChoice := strings.Cut(prompt, "? A) "); {
	case isChoice:
		parts = append(label.Split(options, -1), kind)
	case strings.HasPrefix(prompt, "Add "):
		parts = append(numbers.FindAllString(prompt, -1), "Add")
	case m != nil && m[4] == "" && (m[2] == "+" || m[2] == "*"):
		parts = m[1:]
	default:
		return prompt
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// asked finds the tasks of the benchmark among training texts, and counts the
// texts.
func asked(t *testing.T, tasks []benchmark.Task, texts io.Reader) (found []string, count int) {
	t.Helper()
	known := map[string]string{}
	for _, task := range tasks {
		known[form(task.Prompt)] = task.ID
	}
	if len(known) != len(tasks) {
		t.Errorf("%d tasks ask %d different things", len(tasks), len(known))
	}
	lines := bufio.NewScanner(texts)
	for lines.Scan() {
		var text struct{ Prompt, Response string }
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil || text.Prompt == "" || text.Response == "" {
			t.Fatalf("%q is no training text (%v)", lines.Text(), err)
		}
		if id := known[form(text.Prompt)]; id != "" {
			found = append(found, id)
		}
		count++
	}
	ok(t, lines.Err())
	return found, count
}

// TestPrimerIsKeptOutOfTraining reads texts of the two seeds by which the small
// model was trained.
func TestPrimerIsKeptOutOfTraining(t *testing.T) {
	const each = 20_000
	tasks := primer(t)
	var trained []byte
	for _, seed := range []string{"8", "9"} {
		trained = append(trained, problems(t, "texts", seed, strconv.Itoa(each))...)
	}
	found, count := asked(t, tasks, bytes.NewReader(trained))
	if len(found) > 0 || count != 2*each {
		t.Errorf("%d training texts, among them the tasks %v", count, found)
	}

	planted := `{"prompt":"What is 88+86?","response":"174"}
{"prompt":"Add 8, 4, 8, 5, 3, 1.","response":"29"}
{"prompt":"Largest? A) 0.34 B) 0.3 C) 0.183","response":"Answer: A"}
{"prompt":"Python f(x): add 68.","response":"x+68"}
`
	found, _ = asked(t, tasks, io.MultiReader(bytes.NewReader(trained[:1+bytes.LastIndexByte(trained[:1<<20], '\n')]), strings.NewReader(planted)))
	if want := []string{"sum-1a", "list-1a", "decimals-2a", "program-1a"}; !slices.Equal(found, want) {
		t.Errorf("planted tasks: found %v, want %v", found, want)
	}
}

// TestSmallModelIsWhole compares the folders of both checkpoints with their sums. They
// differ in the weights alone.
func TestSmallModelIsWhole(t *testing.T) {
	described := must(os.ReadFile("smallmodel/README.md"))
	last, early := whole(t, "smallmodel", string(described)), whole(t, "smallmodel/early", string(described))
	for name := range last {
		if same := last[name] == early[name]; same != (name != "model.safetensors") {
			t.Errorf("%s of both checkpoints the same: %v", name, same)
		}
	}
}

// whole compares a folder with its sums, which it returns.
func whole(t *testing.T, folder, described string) (sums map[string]string) {
	t.Helper()
	list := must(os.ReadFile(folder + "/SHA256SUMS"))
	sums = map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		content := must(os.ReadFile(folder + "/" + name))
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("%s/%s has the SHA-256 %s, SHA256SUMS says %s", folder, name, got, sum)
		}
		if name == "model.safetensors" && (len(content) >= 2_000_000 || !strings.Contains(described, sum)) {
			t.Errorf("%s/%s has %d bytes, at most 2 MB are promised, and README.md must have its SHA-256", folder, name, len(content))
		}
		sums[name] = sum
	}
	names := slices.Sorted(maps.Keys(sums))
	if want := "config.json generation_config.json model.safetensors tokenizer.json tokenizer_config.json"; strings.Join(names, " ") != want {
		t.Errorf("SHA256SUMS has %v, want %s", names, want)
	}
	return sums
}

// TestSmallProfiles wants the profiles of both checkpoints to be of the primer as it is,
// by the scorers as they are, and the earlier checkpoint to be the weaker one and yet
// alike.
func TestSmallProfiles(t *testing.T) {
	all, err := profile.Read("smallmodel/profiles.csv")
	if err != nil || len(all) != 2 || all[0].Model != "small" || all[1].Model != "small_early" {
		t.Fatalf("%v, %v", all, err)
	}
	last, early := all[0], all[1]
	tasks := primer(t)
	for _, p := range all {
		if p.Benchmark != "primer" || p.TestedK != 1024 || p.N() != len(tasks) {
			t.Fatalf("%s: %d rollouts of %d tasks", p.Name(), p.TestedK, p.N())
		}
		for i, task := range tasks {
			if p.TaskIDs[i] != task.ID {
				t.Errorf("%s: task %d is %s, in the primer %s", p.Name(), i, p.TaskIDs[i], task.ID)
			}
		}
		if p.Scorer != last.Scorer || !strings.Contains(p.Scorer, "math") {
			t.Errorf("%s: scored by %q, %s by %q", p.Name(), p.Scorer, last.Name(), last.Scorer)
		}
	}
	if r := correlation(last, early); early.Mean() > last.Mean()-0.1 || r < 0.7 {
		t.Errorf("means %.3f and %.3f, correlation %.2f: want an earlier checkpoint that is weaker by 0.1 at least, and a correlation of 0.7", early.Mean(), last.Mean(), r)
	}
}

// correlation is that of the pass rates of two profiles.
func correlation(a, b profile.Profile) float64 {
	var ab, aa, bb float64
	for i := range a.PassCounts {
		x, y := a.P(i)-a.Mean(), b.P(i)-b.Mean()
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

func TestBenchmarksThatAreBuiltIn(t *testing.T) {
	prompts := must(benchmark.ParsePrompts(data.Prompts()))
	for _, id := range []string{"smallbench", "primer"} {
		content, name := data.BuiltIn(id)
		tasks, err := benchmark.Reader{Prompts: prompts}.Parse(content, name)
		if err != nil || tasks[0].Benchmark != id {
			t.Errorf("%s: %v", id, err)
		}
		if file, err := os.ReadFile(strings.TrimPrefix(name, "data/")); err != nil || !bytes.Equal(file, content) {
			t.Errorf("%s is not %s (%v)", id, name, err)
		}
	}
	if content, _ := data.BuiltIn("aime24"); content != nil {
		t.Error("aime24 is built in")
	}
}
