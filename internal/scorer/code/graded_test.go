package code_test

import (
	"fmt"
	"testing"

	"speceval/internal/scorer"
	"speceval/internal/scorer/code"
)

// A graded scorer runs every test, whatever ended the ones before it.
func TestGradedIsTheShareOfTests(t *testing.T) {
	r := runner(t)
	sum := stdin("1 2\n", "3\n", "5 6\n", "11\n", "-1 1\n", "0\n", "7 7\n", "14\n")
	call := []scorer.Test{
		{Kind: "function", Function: "add", Input: "1\n2", Output: "3"},
		{Kind: "function", Function: "add", Input: "[1]\n[2]", Output: "[1, 2]"},
		{Kind: "function", Function: "add", Input: "\"a\"\n\"b\"", Output: "\"ab\""},
	}
	const given = "a, b = map(int, input().split())\n"
	for _, test := range []struct {
		name, program string
		tests         []scorer.Test
		passed        int
		note          string // after the count; "" for those that pass all
	}{
		{"all", given + "print(a + b)", sum, 4, ""},
		{"none", "print('x')", sum, 0, "test 1: wrong output"},
		{"all but the first", given + "print(a + b if b != 2 else 0)", sum, 3, "test 1: wrong output"},
		{"all but the last", given + "print(a + b if b != 7 else 0)", sum, 3, "test 4: wrong output"},
		{"one alone", given + "print(a + b if a < 0 else 'x')", sum, 1, "test 1: wrong output"},
		{"a fault in the midst", given + "print(a + b, 1 // b if a == 5 else '')\nif a < 0: 1 // (a + b)", sum, 2, "test 2: wrong output"},
		{"endless on one", given + "while a == 5: pass\nprint(a + b)", sum, 3, "test 2: time limit of 0.5 s"},
		{"greedy on one", given + "x = 'x' * (10**9 if a == 5 else 1)\nprint(a + b)", sum, 3, "test 2: memory limit"},
		{"ends its sandbox on one", "import os\n" + given + "if a == 5: os.kill(0, 9)\nprint(a + b)", sum, 3, "test 2: killed"},
		{"a function", "def add(a, b): return a + b if a != 1 else [a]", call, 2, "test 1: wrong result"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := code.New(r, test.tests).Graded()
			want := scorer.Verdict{Reward: float64(test.passed) / float64(len(test.tests)), Answer: test.program + "\n"}
			if test.note != "" {
				want.Note = fmt.Sprintf("%d of %d tests passed; %s", test.passed, len(test.tests), test.note)
			}
			for range 2 { // the second time it may be known
				if got, err := s.Score(t.Context(), fenced(test.program)); err != nil || got != want {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
			}
			if got, err := code.New(r, test.tests).Score(t.Context(), fenced(test.program)); err != nil || got.Correct() != (test.note == "") || got.Reward != scorer.PassFail(got.Correct()) {
				t.Errorf("by pass or fail: %+v, %v", got, err)
			}
		})
	}
	if got, err := code.New(r, sum).Graded().Score(t.Context(), scorer.Response{Text: "no program"}); err != nil || got != (scorer.Verdict{Note: "no code block"}) {
		t.Errorf("no program: %+v, %v", got, err)
	}
	if _, err := code.New(r, nil).Graded().Score(t.Context(), fenced("x")); err == nil {
		t.Error("a task without tests is scored")
	}
}
