package benchmark

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
)

var (
	// plainName matches the names of benchmarks, which become parts of file names.
	plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	// identifier matches the names of functions.
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// hexDigest is a SHA-256.
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check holds the tasks of a file to the rules, in order.
type check struct {
	faults    *faults
	position  int               // of the next task
	benchmark string            // of the first task
	ids       map[string]string // to the place where they were seen first
	clusters  bool              // the first task has a cluster
	keyed     map[string]bool   // whether the first task of a judged scorer has an answer
}

func newCheck(faults *faults) *check {
	return &check{faults: faults, ids: map[string]string{}, keyed: map[string]bool{}}
}

// task checks the next task, which stands at place.
func (c *check) task(place string, t Task) {
	fault := func(key, format string, args ...any) { c.faults.add(place, key, format, args...) }
	c.identity(place, t)
	switch {
	case t.Prompt == "":
		fault("prompt", "is missing or empty")
	case t.UserPrompt == "":
		fault("user_prompt", "is missing or empty")
	}
	f, err := family.Named(t.Scorer)
	if err != nil {
		fault("scorer", "%v", err)
		return
	}
	checkAnswer(f, t, fault)
	if f.Need == family.Judge {
		c.key(t, fault)
	}
	checkOptions(f, t, fault)
	checkTestsOf(f, t, fault)
}

// identity checks where a task belongs.
func (c *check) identity(place string, t Task) {
	fault := func(key, format string, args ...any) { c.faults.add(place, key, format, args...) }
	if !plainName.MatchString(t.Benchmark) {
		fault("benchmark_id", "is %q, must be a name of letters, digits, and . _ + -", t.Benchmark)
	}
	if c.benchmark == "" {
		c.benchmark = t.Benchmark
	}
	if t.Benchmark != c.benchmark {
		fault("benchmark_id", "is %q, but %q in the first record: a file has one benchmark", t.Benchmark, c.benchmark)
	}
	if first, again := c.ids[t.ID]; again && t.ID != "" {
		fault("id", "is %q, as in %s", t.ID, first)
	} else {
		c.ids[t.ID] = place
	}
	if t.ID == "" {
		fault("id", "is missing or empty")
	}
	if c.position == 0 {
		c.clusters = t.Cluster != ""
	}
	switch {
	case c.clusters && t.Cluster == "":
		fault("cluster", "is missing, and there in the first record: all tasks have one, or none has")
	case !c.clusters && t.Cluster != "":
		fault("cluster", "is there, and missing in the first record: all tasks have one, or none has")
	}
	if t.Index != c.position {
		fault("task_index", "is %d, must be %d here", t.Index, c.position)
	}
	c.position++
}

// key checks that a judge has the answers to all its tasks or to none: a cell that is empty
// by mistake would be judged by what the judge knows.
func (c *check) key(t Task, fault func(key, format string, args ...any)) {
	has := t.Answer != ""
	first, known := c.keyed[t.Scorer]
	switch {
	case !known:
		c.keyed[t.Scorer] = has
	case first && !has:
		fault("answer", "is missing, and there in the first record whose scorer is %s: all have one, or none has", t.Scorer)
	case !first && has:
		fault("answer", "is there, and missing in the first record whose scorer is %s: all have one, or none has", t.Scorer)
	}
}

func checkAnswer(f family.Family, t Task, fault func(key, format string, args ...any)) {
	switch {
	case f.Tests && t.Answer != "":
		fault("answer", "is there, but %s is scored by its tests", t.Scorer)
	case !f.Tests && t.Answer == "" && f.AnswerOptional:
	case !f.Tests && t.Answer == "":
		fault("answer", "is missing or empty")
	case f.Gold != nil:
		if wrong := f.Gold(t); wrong != "" {
			fault("answer", "%s", wrong)
		}
	}
	switch {
	case t.Tolerance == "":
	case f.Tolerance == nil:
		fault("tolerance", "is there, but the scorer is %s", t.Scorer)
	default:
		if wrong := f.Tolerance(t); wrong != "" {
			fault("tolerance", "%s", wrong)
		}
	}
}

func checkOptions(f family.Family, t Task, fault func(key, format string, args ...any)) {
	switch {
	case !f.Options && t.Options != 0:
		fault("options", "is there, but the scorer is %s", t.Scorer)
	case !f.Options && t.OptionTexts != nil:
		fault("option_texts", "is there, but the scorer is %s", t.Scorer)
	case f.Options && (t.Options < 2 || t.Options > scoring.MostOptions):
		fault("options", "is missing or not from 2 to %d", scoring.MostOptions)
	case t.OptionTexts != nil && len(t.OptionTexts) != t.Options:
		fault("option_texts", "has %d texts, options says %d", len(t.OptionTexts), t.Options)
	case slices.Contains(t.OptionTexts, ""):
		fault("option_texts", "has an empty text")
	}
}

// checkTestsOf checks what decides about a program.
func checkTestsOf(f family.Family, t Task, fault func(key, format string, args ...any)) {
	switch {
	case !f.Tests && len(t.Tests) > 0:
		fault("tests", "is there, but the scorer is %s", t.Scorer)
	case !f.Tests && t.TestsFile != "":
		fault("tests_file", "is there, but the scorer is %s", t.Scorer)
	case f.Tests && len(t.Tests) == 0 && t.TestsFile == "":
		fault("tests", "is missing or empty, and there is no tests_file")
	case len(t.Tests) > 0 && t.TestsFile != "":
		fault("tests_file", "is there beside tests: one of the two")
	case t.TestsFile != "" && !insideFolder(t.TestsFile):
		fault("tests_file", "is %q, must be a path below the task file's folder, with / between folders", t.TestsFile)
	}
	switch {
	case t.TestsSHA256 != "" && t.TestsFile == "":
		fault("tests_sha256", "is there without a tests_file")
	case t.TestsSHA256 != "" && !hexDigest.MatchString(t.TestsSHA256):
		fault("tests_sha256", "is %.80q, must be a SHA-256: 64 digits, 0 to 9 and a to f", t.TestsSHA256)
	}
}

// insideFolder reports whether a path stays below the folder it starts from, as
// far as its text says.
func insideFolder(path string) bool {
	return filepath.IsLocal(filepath.FromSlash(path)) && !strings.ContainsAny(path, "\\\x00")
}

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
func (c *testCheck) next() string {
	if c.place == "" {
		return fmt.Sprintf("tests[%d]", c.count)
	}
	return fmt.Sprintf("%s: tests[%d]", c.place, c.count)
}

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
