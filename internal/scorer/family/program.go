package family

import (
	"encoding/json"
	"strconv"
	"strings"

	"speceval/internal/scorer"
	"speceval/internal/seed"
)

// program is a Python program, ended by a line feed, that passes all tests but those
// that are spoilt. It looks its results up, since nothing here can program, and has
// another one for those. Without tests it prints nothing of use.
func program(s *seed.Stream, tests []scorer.Test, spoilt map[int]bool) string {
	if len(tests) == 0 {
		return "import sys\n\n\ndef main():\n    data = sys.stdin.read().split()\n    print(len(data))\n\n\nmain()\n"
	}
	if tests[0].Kind == "function" {
		return function(s, tests, spoilt)
	}
	var b strings.Builder
	b.WriteString("import sys\n\n\ndef solve(data):\n    known = {\n")
	for i, t := range tests {
		output := t.Output
		if spoilt[i] {
			output = offText(s, output)
		}
		b.WriteString("        " + python(t.Input) + ".strip(): " + python(output) + ",\n")
	}
	b.WriteString("    }\n    return known.get(data.strip(), \"0\")\n\n\ndef main():\n    print(solve(sys.stdin.read()).rstrip(\"\\n\"))\n\n\nmain()\n")
	return b.String()
}

// function is a program that defines the function that the tests call, plain
// and as a method of Solution, the two ways in which scorers call it.
func function(s *seed.Stream, tests []scorer.Test, spoilt map[int]bool) string {
	name := tests[0].Function
	var b strings.Builder
	b.WriteString("import json\n\nCASES = [\n")
	for i, t := range tests {
		output := t.Output
		if spoilt[i] {
			output = offJSON(s, output)
		}
		b.WriteString("    (" + python(t.Input) + ", " + python(output) + "),\n")
	}
	b.WriteString("]\n\n\ndef " + name + "(*values):\n" +
		"    for given, result in CASES:\n" +
		"        if [json.loads(line) for line in given.split(\"\\n\") if line.strip()] == list(values):\n" +
		"            return json.loads(result)\n" +
		"    return None\n\n\n" +
		"class Solution:\n    def " + name + "(self, *values):\n        return globals()[\"" + name + "\"](*values)\n")
	return b.String()
}

// python is a Python string literal: Go's quoting, which Python reads alike.
func python(text string) string { return strconv.QuoteToASCII(text) }

// swaps are answers that programs confuse.
var swaps = [][2]string{{"YES", "NO"}, {"Yes", "No"}, {"yes", "no"}, {"true", "false"}, {"True", "False"}}

// offText is another output than the right one.
func offText(s *seed.Stream, right string) string {
	for _, pair := range swaps {
		for i, word := range pair {
			if strings.TrimSpace(right) == word {
				return pair[1-i]
			}
		}
	}
	if digits.MatchString(right) {
		return near(s, right)
	}
	return strings.TrimSpace(right) + "x"
}

// offJSON is another result than the right one, and JSON again.
func offJSON(s *seed.Stream, right string) string {
	if off := offText(s, right); json.Valid([]byte(off)) {
		return off
	}
	if strings.TrimSpace(right) == "null" {
		return "0"
	}
	return "null"
}
