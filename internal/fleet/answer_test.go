package fleet_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/sandbox"
)

var tasks = []benchmark.Task{
	{Benchmark: "b", ID: "sum", UserPrompt: "What is 17+25?", Scorer: "math", Answer: "42"},
	{Benchmark: "b", ID: "root", UserPrompt: "Simplify.", Prompt: "bare", Scorer: "math", Answer: `2\sqrt{29}`},
	{Benchmark: "b", ID: "word", UserPrompt: "Which?", Scorer: "choice", Answer: "C", Options: 4},
	{Benchmark: "b", ID: "river", UserPrompt: "Which river?", Scorer: "judge", Answer: "The Danube"},
	{Benchmark: "b", ID: "hill", UserPrompt: "Which hill?", Scorer: "judge", Answer: "The Brocken"},
	{Benchmark: "b", ID: "add", UserPrompt: "Add.", Scorer: "code", Tests: []benchmark.Test{
		{Kind: "function", Function: "add", Input: "1\n2", Output: "3"},
		{Kind: "function", Function: "add", Input: "[\"é\"]\n[]", Output: "[\"é\"]"},
	}},
	{Benchmark: "b", ID: "echo", UserPrompt: "Echo.", Scorer: "code", Tests: []benchmark.Test{
		{Kind: "stdin", Input: "a\nb\n", Output: "a\n"}, {Kind: "stdin", Input: "c", Output: "YES"},
	}},
}

func author(pass float64) *fleet.Author {
	passes := map[fleet.TaskKey]float64{}
	for _, t := range tasks {
		passes[fleet.TaskKey{Benchmark: t.Benchmark, ID: t.ID}] = pass
	}
	return fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: tasks, Passes: passes})
}

// free are limits that limit nothing.
var free = fleet.Limits{Most: 1 << 20, Budget: -1}

func ask(a *fleet.Author, user string, seed int64) fleet.Answer {
	limits := free
	limits.Most = 1 << 14
	return a.Answer(fleet.Question{User: user, Prompt: user, Seed: seed, Limits: limits})
}

var box = regexp.MustCompile(`\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}`)

// result is what a scorer would read of an answer, "" if there is nothing.
func result(task benchmark.Task, text string) string {
	switch task.Scorer {
	case "judge":
		_, after, _ := strings.Cut(text, "\nAnswer: ")
		line, _, _ := strings.Cut(after, "\n")
		return line
	case "code":
		_, after, _ := strings.Cut(text, "```python\n")
		code, _, _ := strings.Cut(after, "```")
		return code
	case "math", "choice":
		if m := box.FindAllStringSubmatch(text, -1); len(m) == 1 {
			return m[0][1]
		}
	}
	return ""
}

func TestRightAndWrong(t *testing.T) {
	always, never := author(1), author(0)
	for _, task := range tasks {
		right := result(task, ask(always, task.UserPrompt, 0).Text)
		if task.Scorer != "code" && right != task.Answer {
			t.Errorf("%s: right is %q, want %q", task.ID, right, task.Answer)
		}
		var missing, rambling int
		others := map[string]bool{}
		for seed := range int64(200) {
			if got := result(task, ask(always, task.UserPrompt, seed).Text); got != right {
				t.Fatalf("%s: seed %d answers %q though it always knows %q", task.ID, seed, got, right)
			}
			a := ask(never, task.UserPrompt, seed)
			got := result(task, a.Text)
			switch {
			case got == right:
				t.Fatalf("%s: seed %d answers right though it never knows", task.ID, seed)
			case a.Finish == fleet.Length:
				rambling++
			case got == "":
				missing++
			}
			others[got] = true
		}
		if missing < 2 || missing > 30 || rambling > 12 || len(others) < 3 {
			t.Errorf("%s: of 200 wrong answers %d say nothing and %d never end; there are %d different ones", task.ID, missing, rambling, len(others))
		}
	}
}

func TestAnswersAreDetermined(t *testing.T) {
	a, other := author(0.5), fleet.MustAuthor(fleet.AuthorSettings{Model: "other", Tasks: tasks})
	texts := map[string]bool{}
	for seed := range int64(50) {
		for _, user := range []string{tasks[0].UserPrompt, "bare", "nobody knows this"} {
			first, again := ask(a, user, seed), ask(a, user, seed)
			if first != again {
				t.Fatalf("%q with seed %d gives two answers", user, seed)
			}
			foreign := ask(other, user, seed)
			texts[first.Raw()] = true
			texts[foreign.Raw()] = true
		}
	}
	if len(texts) != 300 {
		t.Errorf("%d texts of 300 are different", len(texts))
	}
}

func TestGreedyIsTheLikeliest(t *testing.T) {
	for pass, want := range map[float64]bool{0.45: false, 0.55: true} {
		a := author(pass)
		for _, task := range tasks[:5] {
			answer := a.Answer(fleet.Question{User: task.UserPrompt, Greedy: true, Limits: free})
			if answer != a.Answer(fleet.Question{User: task.UserPrompt, Greedy: true, Seed: 2, Limits: free}) {
				t.Error("at temperature 0 the seed counts")
			}
			if got := result(task, answer.Text) == task.Answer; got != want {
				t.Errorf("%s with probability %v is answered %q", task.ID, pass, result(task, answer.Text))
			}
		}
	}
}

func TestBareProblemIsKnown(t *testing.T) {
	if got := result(tasks[1], ask(author(1), "bare", 3).Text); got != tasks[1].Answer {
		t.Errorf("the bare problem is answered %q", got)
	}
}

// TestTokensAgree checks that pieces, ids and counts are of the same answer,
// however it is bounded and cut into chunks.
func TestTokensAgree(t *testing.T) {
	a := author(0.5)
	limits := []fleet.Limits{
		free, {Most: 1, Budget: -1}, {Most: 7, Budget: 3}, {Most: 500, Budget: 20}, {Most: 300, Budget: -1, Endless: true},
		{Most: 900, Budget: 0}, {Most: 5000, Budget: 100},
	}
	for _, thinking := range []bool{true, false} {
		for i, l := range limits {
			for seed := range int64(20) {
				q := fleet.Question{User: tasks[seed%7].UserPrompt, Seed: seed, Thinking: thinking, Limits: l}
				checkAnswer(t, fmt.Sprintf("limits %d, thinking %t, seed %d", i, thinking, seed), a.Answer(q), q)
			}
		}
	}
}

func checkAnswer(t *testing.T, what string, a fleet.Answer, q fleet.Question) {
	t.Helper()
	n := a.Tokens()
	if n < 1 || n > q.Limits.Most {
		t.Fatalf("%s: %d tokens, at most %d", what, n, q.Limits.Most)
	}
	var thinking, text string
	var ids []int32
	for from := 0; from < n; {
		to := min(n, from+1+from%5)
		p := a.Part(from, to)
		part := p.IDs()
		if len(part) != to-from || p.Tokens() != to-from || p.Closed != slices.Contains(part, fleet.ThinkEnd) {
			t.Fatalf("%s: tokens %d to %d are %v, part %+v", what, from, to, part, p)
		}
		thinking, text, ids, from = thinking+p.Thinking, text+p.Text, append(ids, part...), to
	}
	if thinking != a.Thinking || text != a.Text || !slices.Equal(ids, a.IDs()) {
		t.Fatalf("%s: the parts do not make up the answer", what)
	}
	switch l := q.Limits; {
	case q.Thinking && l.Budget >= 0 && len(a.Thinking) > l.Budget:
		t.Errorf("%s: %d tokens of thinking, budget %d", what, len(a.Thinking), l.Budget)
	case a.Finish == fleet.Length && n != l.Most:
		t.Errorf("%s: cut at %d of %d tokens", what, n, l.Most)
	case a.Finish == fleet.Stop && !a.Ended:
		t.Errorf("%s: stops for no reason", what)
	case l.Endless && n != l.Most:
		t.Errorf("%s: %d tokens without an end, want %d", what, n, l.Most)
	}
}

func TestTokens(t *testing.T) {
	// Checked against the tokenizer of the real servers of the drills.
	text := "é<think>a</think><|im_end|>"
	want := []int32{195, 169, 259, 97, 260, 258}
	if got := fleet.Tokenize(text); !slices.Equal(got, want) {
		t.Errorf("Tokenize = %v, want %v", got, want)
	}
	if got := fleet.Valid(fleet.Detokenize([]int32{257, 104, 259, 10, 260, 195, 258, 256, 400, -1})); got != "<|im_start|>h<think>\n</think>\uFFFD<|im_end|><|endoftext|>" {
		t.Errorf("Detokenize = %q", got)
	}
	if got := fleet.Valid("\xa8\x19\xa4\xb6ȏ"); got != "\uFFFD\x19\uFFFD\uFFFDȏ" {
		t.Errorf("Valid = %q", got)
	}
	if got := fleet.Valid(fleet.Detokenize([]int32{0xe4, 0xbd, 0xa0, 258, 0xe4, 0xff, 65, 0xe4, 0xbd})); got != "你<|im_end|>\uFFFD\uFFFDA\uFFFD" {
		t.Errorf("Detokenize = %q", got)
	}
	for text, want := range map[string]int{"": 0, "ab": 2, "aé": 3, "a\xc3": 1, "\xe2\x89": 0, "\xa8\xa8": 0, "x\xff": 1, "\xffx": 2, "x\uFFFD\xff": 1} {
		if got := fleet.Complete(text); got != want {
			t.Errorf("Complete(%q) = %d, want %d", text, got, want)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range []string{"", "a", "<", "<<|im_end|><think", "</think></think>x<|im_start|>", "é\xff<think>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := fleet.Tokenize(text)
		if back := fleet.Detokenize(tokens); back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	})
}

// TestProgramsDoWhatWasDrawn runs programs on their tests.
func TestProgramsDoWhatWasDrawn(t *testing.T) {
	runner, err := code.NewRunner(t.Context(), sandbox.Settings{Python: "python3", CPU: 10 * time.Second, Memory: 256 << 20, AtATime: 2})
	if err != nil {
		if os.Getenv("SPECEVAL_CI") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, task := range tasks[5:] {
		scorer := code.New(runner, false, func() ([]scoring.Test, error) { return task.Tests, nil })
		for pass := range 2 {
			for seed := range int64(5) {
				answer := ask(author(float64(pass)), task.UserPrompt, seed).Text
				if v, err := scorer.Score(t.Context(), scoring.Response{Text: answer}); err != nil || v.Correct() != (pass == 1) {
					t.Errorf("passes: %+v, %v, was to: %d\n%s", v, err, pass, answer)
				}
			}
		}
	}
}
