package code_test

import (
	"fmt"
	"strings"
	"testing"

	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
)

func TestExtract(t *testing.T) {
	const none, open, empty = "no code block", "the last code block is not closed", "the last code block is empty"
	for _, test := range []struct{ text, program, why string }{
		{"```python\nprint(1)\n```", "print(1)\n", ""},
		{"Text\n```\na\n\nb\n```\nmore", "a\n\nb\n", ""},
		{"```py\na\n```\nthen\n```py\nb\n```", "b\n", ""},
		{"```python\r\na\r\nb\r\n```\r\n", "a\nb\n", ""},
		{"Here it is: ```python\na\n```", "a\n", ""},
		{"```python\nprint(1)```", "print(1)\n", ""},
		{"1. So:\n\n   ```python\n   if a:\n       b\n   ```\n", "if a:\n    b\n", ""},
		{"1. ```python\n   if a:\n       b\n   ```\n", "if a:\n    b\n", ""},
		{"10) So: ```python\n\n    if a:\n        b\n  c\n    ```\n", "\nif a:\n    b\nc\n", ""},
		{"1. ```python\nif a:\n    b\n```\n", "if a:\n    b\n", ""},
		{"- ```python\n\tif a:\n\t\tb\n\t```\n", "if a:\n\tb\n", ""},
		{"````\n```\nnot a fence\n```\n````", "```\nnot a fence\n```\n", ""},
		{"```python\na\n```python\nb\n```", "b\n", ""},
		{"```python\na\n``` That is all.", "a\n", ""},
		{"```python\na\n```\nWrap it in ``` as usual.", "a\n", ""},
		{"```python\na\n```\nor ```inline``` code", "a\n", ""},
		{"```python\na\n```\n```b```", "a\n", ""},
		{"```python title=\"x\"\na\n```", "a\n", ""},
		{"print(1)", "", none},
		{"", "", none},
		{"```inline```", "", none},
		{"```python\nprint(1)\n", "", open},
		{"```python\na\n```\n```python\nb", "", open},
		{"```python\n```", "", empty},
		{"```python\na\n```\n```\n \n```", "", empty},
	} {
		if program, why := code.Extract(test.text); program != test.program || why != test.why {
			t.Errorf("%q: %q, %q; want %q, %q", test.text, program, why, test.program, test.why)
		}
	}
}

// FuzzExtract holds what is extracted to its text: lines of it, no others.
func FuzzExtract(f *testing.F) {
	f.Add("x\n```python\nprint(1)\n```\n")
	f.Add("a ```py\n  b```\n````\n```")
	f.Fuzz(func(t *testing.T, text string) {
		program, why := code.Extract(text)
		if (why == "") == (strings.TrimSpace(program) == "") {
			t.Fatalf("%q, %q", program, why)
		}
		if len(program) > len(text)+1 {
			t.Fatal("it is longer than the response")
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(program, "\n"), "\n") {
			if !strings.Contains(text, line) {
				t.Fatalf("%q is not in the response", line)
			}
		}
		fenced := "```python\n" + program + "```"
		if again, why := code.Extract(text + "\n" + fenced); strings.Count(program, "```") == 0 && program != "" && again != program {
			t.Fatalf("%q, %q; is %q at the end", again, why, program)
		}
	})
}

// TestScore has programs scored by the share of their tests that pass, whatever ended the ones
// before, and by whether all do.
func TestScore(t *testing.T) {
	r := runner(t)
	sum := stdin("1 2\n", "3\n", "5 6\n", "11\n", "-1 1\n", "0\n", "7 7\n", "14\n")
	call := []scoring.Test{
		{Kind: "function", Function: "add", Input: "1\n2", Output: "3"},
		{Kind: "function", Function: "add", Input: "[1]\n[2]", Output: "[1, 2]"},
		{Kind: "function", Function: "add", Input: "\"a\"\n\"b\"", Output: "\"ab\""},
	}
	const given = "a, b = map(int, input().split())\n"
	for _, test := range []struct {
		name, program string
		tests         []scoring.Test
		passed        int
		note          string // "" where all tests pass
	}{
		{"all", given + "print(a + b)", sum, 4, ""},
		{"right in another form", "print(' ', float(sum(map(int, input().split()))), end='\\n\\n')", sum, 4, ""},
		{"right by exit", "print(sum(map(int, input().split())))\nexit(1)", sum, 4, ""},
		{"none", "print('x')", sum, 0, "test 1: wrong output"},
		{"silent", "pass", sum, 0, "test 1: wrong output"},
		{"right but fails", "print(3)\n1/0", sum, 0, "test 1: ZeroDivisionError: division by zero"},
		{"an address", "raise ValueError(object())", sum, 0, "test 1: ValueError: <object object at 0x…>"},
		{"asleep", "import time\ntime.sleep(99)", sum[:1], 0, "test 1: time limit of 0.5 s"},
		{"talkative", "while True: print('x' * 10**6)", sum[:1], 0, "test 1: output limit"},
		{"crashed", "import os\nos.abort()", sum, 0, "test 1: crashed by signal 6"},
		{"all but the first", given + "print(a + b if b != 2 else 0)", sum, 3, "test 1: wrong output"},
		{"all but the last", given + "print(a + b if b != 7 else 0)", sum, 3, "test 4: wrong output"},
		{"one alone", given + "print(a + b if a < 0 else 'x')", sum, 1, "test 1: wrong output"},
		{"a fault in the midst", given + "print(a + b, 1 // b if a == 5 else '')\nif a < 0: 1 // (a + b)", sum, 2, "test 2: wrong output"},
		{"endless on one", given + "while a == 5: pass\nprint(a + b)", sum, 3, "test 2: time limit of 0.5 s"},
		{"greedy on one", given + "x = 'x' * (10**9 if a == 5 else 1)\nprint(a + b)", sum, 3, "test 2: memory limit"},
		{"ends its sandbox on one", "import os\n" + given + "if a == 5: os.kill(0, 9)\nprint(a + b)", sum, 3, "test 2: killed"},
		{"a function", "def add(a, b): return a + b", call, 3, ""},
		{"a method", "class Solution:\n    def sum(self, a, b):\n        return (*a, *b) if a == [1] else a + b", call, 3, ""},
		{"a function that is wrong once", "def add(a, b): return a + b if a != 1 else [a]", call, 2, "test 1: wrong result"},
		{"no result", "def add(a, b): exit()", call, 0, "test 1: no result"},
		{"no function", "x = 1", call, 0, "test 1: NameError: there is no function to call"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := of(true, r, test.tests)
			want := scoring.Verdict{Reward: float64(test.passed) / float64(len(test.tests)), Answer: test.program + "\n"}
			whole := scoring.Verdict{Reward: scoring.PassFail(test.note == ""), Answer: want.Answer, Note: test.note}
			if test.note != "" {
				want.Note = fmt.Sprintf("%d of %d tests passed; %s", test.passed, len(test.tests), test.note)
			}
			for range 2 { // the second time it may be known
				if got, err := s.Score(t.Context(), fenced(test.program)); err != nil || got != want {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
			}
			if got, err := of(false, r, test.tests).Score(t.Context(), fenced(test.program)); err != nil || got != whole {
				t.Errorf("by pass or fail: %+v, %v; want %+v", got, err, whole)
			}
		})
	}
	for _, graded := range []bool{false, true} {
		for text, note := range map[string]string{"print(3)": "no code block", "```\nx": "the last code block is not closed"} {
			if got, err := of(graded, r, sum).Score(t.Context(), scoring.Response{Text: text}); err != nil || got != (scoring.Verdict{Note: note}) {
				t.Errorf("%q: %+v, %v", text, got, err)
			}
		}
		if _, err := of(graded, r, nil).Score(t.Context(), fenced("x")); err == nil {
			t.Error("a task without tests is scored")
		}
	}
}
