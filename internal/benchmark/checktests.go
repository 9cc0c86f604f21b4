package benchmark

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// What the tests of a task may come to: they are all in memory while it is scored.
const (
	maxTests     = 1 << 16
	maxTestsSize = 1 << 30 // bytes of inputs and outputs
)

// testCheck holds the tests of a task to the rules, one by one.
type testCheck struct {
	faults *faults
	place  string // of the task; "" for a file of tests
	first  Test   // without its texts
	count  int
	size   int // bytes of inputs and outputs
}

// checkTests holds all tests of a task to the rules.
func checkTests(tests []Test, place string, faults *faults) {
	check := testCheck{faults: faults, place: place}
	for _, test := range tests {
		check.test(test)
	}
}

// next is where the next test stands.
func (c *testCheck) next() string { return fmt.Sprintf("%stests[%d]", prefix(c.place), c.count) }

// test checks the next one.
func (c *testCheck) test(test Test) {
	at := c.next()
	fault := func(key, format string, args ...any) { c.faults.add(at, key, format, args...) }
	if c.count == 0 {
		c.first = Test{Kind: test.Kind, Function: test.Function}
	}
	c.count++
	c.size += len(test.Input) + len(test.Output)
	switch {
	case !utf8.ValidString(test.Function) || !utf8.ValidString(test.Input) || !utf8.ValidString(test.Output):
		fault("", "is not valid UTF-8")
	case test.Kind != "stdin" && test.Kind != "function":
		fault("kind", "is %q, must be stdin or function", test.Kind)
	case test.Kind != c.first.Kind:
		fault("kind", "is %q, but %q in the first test", test.Kind, c.first.Kind)
	case test.Function != c.first.Function:
		fault("function", "is %q, but %q in the first test", test.Function, c.first.Function)
	case test.Kind == "stdin" && test.Function != "":
		fault("function", "is there, but the kind is stdin")
	case test.Kind == "function" && !identifier.MatchString(test.Function):
		fault("function", "is %q, must be the name of a function", test.Function)
	case test.Kind == "function":
		checkCall(test, fault)
	}
}

// room is an error if the tests so far are more than a task may have.
func (c *testCheck) room() error {
	switch {
	case c.count > maxTests:
		return fmt.Errorf("has more than %d tests", maxTests)
	case c.size > maxTestsSize:
		return fmt.Errorf("has tests of more than %d MiB", maxTestsSize>>20)
	}
	return nil
}

// checkCall checks that arguments and result of a call are JSON values.
func checkCall(test Test, fault func(key, format string, args ...any)) {
	if !json.Valid([]byte(test.Output)) {
		fault("output", "is %.40q, must be a JSON value", test.Output)
	}
	if test.Input == "" {
		return // no arguments
	}
	for argument := range strings.SplitSeq(strings.TrimSuffix(test.Input, "\n"), "\n") {
		if !json.Valid([]byte(argument)) {
			fault("input", "has the line %.40q, must be a JSON value a line", argument)
		}
	}
}
