package fleet_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/policy/seed"
)

// questions are open ones, one of which is part of another.
var questions = []benchmark.Task{
	{Benchmark: "b", ID: "hill", Prompt: "Which hill is it?", UserPrompt: "Which hill is it?", Scorer: "judge", Answer: "The Brocken"},
	{Benchmark: "b", ID: "high", Prompt: "Which hill is it? And how high?", UserPrompt: "Which hill is it? And how high?", Scorer: "judge", Answer: "1141 m"},
	{Benchmark: "c", ID: "two", Prompt: "Name two rivers.", UserPrompt: "Name two rivers.", Scorer: "judge", Answer: "Elbe\nand Oder"},
	{Benchmark: "b", ID: "sum", Prompt: "What is 1+1?", UserPrompt: "What is 1+1?", Scorer: "math", Answer: "2"},
}

// wordings are ways to ask a judge: what counts is that they hold everything.
var wordings = []string{
	"Judge.\n\nQuestion: %[1]s\n\nResponse: %[2]s\n\nAnswer: %[3]s\n\ncorrect: yes or no\n\nconfidence: from 0%% to 100%%",
	"[right]: %[3]s\n[response]: %[2]s\n[question]: %[1]s",
	"%[1]s\n%[3]s\n%[2]s\nAnswer: yes or no?\nConfidence: as given",
}

func judging(t *testing.T, judge *fleet.Author, turn string, q fleet.Question) string {
	t.Helper()
	q.User, q.Prompt, q.Limits = turn, turn, free
	answer := judge.Answer(q)
	if answer.Finish != fleet.Stop || !answer.Ended || (answer.Thinking != "") != q.Thinking {
		t.Errorf("%q: %+v", turn, answer)
	}
	return answer.Text
}

// field is a line of a verdict.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, name+": "); is {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

func TestJudgesItsOwnAnswers(t *testing.T) {
	judge := fleet.MustAuthor(fleet.AuthorSettings{Model: "j", Tasks: questions})
	for _, pass := range []float64{0, 1} {
		passes := map[fleet.TaskKey]float64{}
		for _, task := range questions {
			passes[fleet.TaskKey{Benchmark: task.Benchmark, ID: task.ID}] = pass
		}
		author := fleet.MustAuthor(fleet.AuthorSettings{Model: "m", Tasks: questions, Passes: passes})
		for seed := range int64(60) {
			for _, task := range questions[:3] {
				response := ask(author, task.UserPrompt, seed).Text
				for _, wording := range wordings {
					text := judging(t, judge, fmt.Sprintf(wording, task.Prompt, response, task.Answer), fleet.Question{Seed: seed})
					if got, want := field(text, "correct"), map[float64]string{0: "no", 1: "yes"}[pass]; got != want {
						t.Fatalf("%s with seed %d: %s, want %s:\n%s\n%s", task.ID, seed, got, want, response, text)
					}
				}
			}
		}
	}
}

// TestVerdictFields has responses to a question, and turns that ask for no verdict. Of two
// questions in a turn the longest is judged.
func TestVerdictFields(t *testing.T) {
	const hill, high = "Which hill is it?\nThe Brocken\n", "Which hill is it? And how high?\n1141 m\nThe Brocken."
	reversed := slices.Clone(questions)
	slices.Reverse(reversed)
	for _, test := range []struct{ turn, answer, correct, confidence string }{
		{hill + "So.\n\nExplanation: e\nAnswer:  the BROCKEN \nConfidence: 70%", "the BROCKEN", "yes", "70"},
		{hill + "\nAnswer: The Harz\nConfidence: 9%\nAnswer: The Brocken\nConfidence: 80%", "The Brocken", "yes", "80"},
		{hill + "\nAnswer: The Brocken, or not\nConfidence: 80%", "The Brocken, or not", "no", "80"},
		{hill + "\nAnswer: The\nBrocken\nConfidence: 80%", "The Brocken", "no", "80"},
		{hill + "\nAnswer: The Brocken\nConfidence: high%", "None", "no", "100"},
		{hill + "\nAnswer: The Brocken\nConfidence: 1000%", "None", "no", "100"},
		{hill + "I could not settle this one.", "None", "no", "100"},
		{hill, "None", "no", "100"},
		{high + "\nAnswer: 1141 m\nConfidence: 70%", "1141 m", "yes", "70"},
		{"Which hill is it?", "", "", ""}, // the question itself
		{"Which hill is it? It is not told.", "", "", ""},
		{"What is 1+1? 2\nAnswer: 2\nConfidence: 70%", "", "", ""},
		{"What else?\nThe Brocken\nAnswer: The Brocken\nConfidence: 70%", "", "", ""},
	} {
		for _, tasks := range [][]benchmark.Task{questions, reversed} {
			judge := fleet.MustAuthor(fleet.AuthorSettings{Model: "j", Tasks: tasks})
			for _, q := range []fleet.Question{{}, {Seed: 5}, {Greedy: true, Seed: 9}, {Thinking: true}} {
				text := judging(t, judge, test.turn, q)
				if a, c, n := field(strings.TrimLeft(text, "\n"), "extracted_final_answer"), field(text, "correct"), field(text, "confidence"); a != test.answer || c != test.correct || n != test.confidence {
					t.Errorf("%q: %q", test.turn, text)
				}
			}
			if one, other := judging(t, judge, test.turn, fleet.Question{Greedy: true, Seed: 1}), judging(t, judge, test.turn, fleet.Question{Greedy: true, Seed: 2}); one != other {
				t.Errorf("at temperature 0 the seed counts: %q, %q", one, other)
			}
		}
	}
}

// TestContinuationsHaveTheLaw goes on from every beginning that leaves a part of
// the number open, each time at another seed: as many are right, and they are as
// long, as answers in one piece.
func TestContinuationsHaveTheLaw(t *testing.T) {
	const n = 3000
	a, task := author(0.3), tasks[0]
	for name, budget := range map[string]int{"text": -1, "thinking": -1, "budget within the number": 9} {
		limits := fleet.Limits{Most: 1 << 14, Budget: budget}
		q := fleet.Question{User: task.UserPrompt, Prompt: "p", Thinking: name != "text", Limits: limits}
		most := 16
		if budget >= 0 {
			most = 9 + 1 + 2 + 4 + 7
		}
		right, logs, squares := 0, 0.0, 0.0
		var wholeRight int
		var wholeLogs float64
		random := seed.Root(3).Child(name).Stream()
		numbers := map[string]bool{}
		for i := range int64(n) {
			q.Seed = i
			whole := a.Answer(q)
			said := int(random.Float64() * float64(most+1))
			on := q
			on.Begun, on.Seed = whole.Part(0, said).IDs(), i+n
			on.Limits.Most -= said
			more := a.Answer(on)
			all := whole.Raw()
			if result(task, all) == task.Answer {
				wholeRight++
			}
			log := math.Log(float64(whole.Tokens()))
			wholeLogs, squares = wholeLogs+log, squares+log*log
			if result(task, more.Text) == task.Answer {
				right++
			}
			logs += math.Log(float64(said + more.Tokens()))
			numbers[more.Raw()] = true
		}
		sd := math.Sqrt(0.3 * 0.7 * n)
		if math.Abs(float64(right)-0.3*n) > 4*sd || math.Abs(float64(wholeRight)-0.3*n) > 4*sd {
			t.Errorf("%s: %d of %d continued and %d whole answers are right, want 30%%", name, right, n, wholeRight)
		}
		mean := wholeLogs / n
		spread := math.Sqrt(squares/n - mean*mean)
		if math.Abs(logs/n-mean) > 5*spread*math.Sqrt(2.0/n) {
			t.Errorf("%s: mean log of length %.3f, whole %.3f ± %.3f", name, logs/n, mean, spread)
		}
		if len(numbers) < n*9/10 {
			t.Errorf("%s: %d different ends of %d", name, len(numbers), n)
		}
	}
}

// TestForeignBeginnings are of no answer of this author: noise follows, and ends.
func TestForeignBeginnings(t *testing.T) {
	a := author(1)
	for i, begun := range [][]int32{fleet.Tokenize("The answer is 7."), {fleet.ThinkEnd, fleet.ThinkEnd}, {fleet.TurnEnd}, {200, 300}, fleet.Tokenize("Try bcdfghjklmnp. And now something else.")} {
		for _, thinking := range []bool{false, true} {
			q := fleet.Question{User: tasks[0].UserPrompt, Prompt: "p", Begun: begun, Thinking: thinking, Limits: fleet.Limits{Most: 1 << 14, Budget: -1}}
			answer := a.Answer(q)
			if answer.Finish != fleet.Stop || result(tasks[0], answer.Text) != "" || answer != a.Answer(q) {
				t.Errorf("%d, thinking %t: %s", i, thinking, fmt.Sprintf("%+v", answer))
			}
		}
	}
}
