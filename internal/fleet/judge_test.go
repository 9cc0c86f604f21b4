package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/fleettest"
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
	judge := fleettest.Author(fleet.AuthorSettings{Model: "j", Tasks: questions})
	for _, pass := range []float64{0, 1} {
		passes := map[fleet.TaskKey]float64{}
		for _, task := range questions {
			passes[fleet.TaskKey{Benchmark: task.Benchmark, ID: task.ID}] = pass
		}
		author := fleettest.Author(fleet.AuthorSettings{Model: "m", Tasks: questions, Passes: passes})
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

func TestVerdictFields(t *testing.T) {
	judge := fleettest.Author(fleet.AuthorSettings{Model: "j", Tasks: questions})
	for _, test := range []struct{ response, answer, correct, confidence string }{
		{"So.\n\nExplanation: e\nAnswer:  the BROCKEN \nConfidence: 70%", "the BROCKEN", "yes", "70"},
		{"Answer: The Brocken\nConfidence: 5%", "The Brocken", "yes", "5"},
		{"\nAnswer: The Brocken\nConfidence: 100% and more", "The Brocken", "yes", "100"},
		{"\nAnswer: The Harz\nConfidence: 9%\nAnswer: The Brocken\nConfidence: 80%", "The Brocken", "yes", "80"},
		{"\nAnswer: The Brocken, or not\nConfidence: 80%", "The Brocken, or not", "no", "80"},
		{"\nAnswer: The\nBrocken\nConfidence: 80%", "The Brocken", "no", "80"},
		{"\nAnswer: The Brocken\nConfidence: high%", "None", "no", "100"},
		{"\nAnswer: The Brocken\nConfidence: 1000%", "None", "no", "100"},
		{"\nAnswer: The Brocken\nConfidence: %", "None", "no", "100"},
		{"\nAnswer: The Brocken", "None", "no", "100"},
		{"I could not settle this one.", "None", "no", "100"},
		{"correct: yes", "None", "no", "100"},
		{"", "None", "no", "100"},
	} {
		turn := "Which hill is it?\nThe Brocken\n" + test.response
		for _, q := range []fleet.Question{{}, {Seed: 5}, {Greedy: true, Seed: 9}, {Thinking: true}} {
			text := judging(t, judge, turn, q)
			if a, c, n := field(strings.TrimLeft(text, "\n"), "extracted_final_answer"), field(text, "correct"), field(text, "confidence"); a != test.answer || c != test.correct || n != test.confidence {
				t.Errorf("%q: %q", test.response, text)
			}
		}
		if one, other := judging(t, judge, turn, fleet.Question{Greedy: true, Seed: 1}), judging(t, judge, turn, fleet.Question{Greedy: true, Seed: 2}); one != other {
			t.Errorf("at temperature 0 the seed counts: %q, %q", one, other)
		}
	}
}

// TestLongestQuestionIsJudged has a turn that holds two questions and the answers
// to both.
func TestLongestQuestionIsJudged(t *testing.T) {
	for _, tasks := range [][]benchmark.Task{questions, {questions[1], questions[0]}} {
		judge := fleettest.Author(fleet.AuthorSettings{Model: "j", Tasks: tasks})
		text := judging(t, judge, "Which hill is it? And how high?\n1141 m\nThe Brocken.\nAnswer: 1141 m\nConfidence: 70%", fleet.Question{})
		if field(text, "correct") != "yes" {
			t.Errorf("%q", text)
		}
	}
}

func TestJudgesNothingElse(t *testing.T) {
	judge := fleettest.Author(fleet.AuthorSettings{Model: "j", Tasks: questions})
	for _, turn := range []string{
		"Which hill is it?", // the question itself
		"Which hill is it? It is not told.",
		"What is 1+1? 2\nAnswer: 2\nConfidence: 70%",
		"What else?\nThe Brocken\nAnswer: The Brocken\nConfidence: 70%",
	} {
		if text := judging(t, judge, turn, fleet.Question{}); field(text, "correct") != "" {
			t.Errorf("%q: %q", turn, text)
		}
	}
}
