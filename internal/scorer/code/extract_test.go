package code_test

import (
	"strings"
	"testing"

	"speceval/internal/scorer/code"
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

// BenchmarkExtract reads a response that is all fences.
func BenchmarkExtract(b *testing.B) {
	text := strings.Repeat("```python\nprint(1)\n", 1<<12)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		code.Extract(text)
	}
}
