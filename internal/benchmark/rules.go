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
	faults   *faults
	position int               // of the next task
	first    Task              // the first one: all are of its benchmark, and have a cluster if it has
	ids      map[string]string // to the place where they were seen first
	keyed    map[string]bool   // whether the first task of a judged scorer has an answer
}

func newCheck(faults *faults) *check {
	return &check{faults: faults, ids: map[string]string{}, keyed: map[string]bool{}}
}

// rule is a condition under which a key of a task has a fault.
type rule struct {
	broken    bool
	key, text string
}

// require reports the first rule that is broken.
func (c *check) require(place string, rules ...rule) {
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.broken }); i >= 0 {
		c.faults.addFault(place, rules[i].key, "%s", rules[i].text)
	}
}

// task checks the next task, which stands at place.
func (c *check) task(place string, t Task) {
	if c.first.Benchmark == "" {
		c.first = t
	}
	seen, again := c.ids[t.ID]
	if !again {
		c.ids[t.ID] = place
	}
	c.require(place, rule{!plainName.MatchString(t.Benchmark), "benchmark_id", fmt.Sprintf("is %q, must be a name of letters, digits, and . _ + -", t.Benchmark)})
	c.require(place, rule{t.Benchmark != c.first.Benchmark, "benchmark_id", fmt.Sprintf("is %q, but %q in the first record: a file has one benchmark", t.Benchmark, c.first.Benchmark)})
	c.require(place, rule{t.ID == "", "id", "is missing or empty"}, rule{again, "id", fmt.Sprintf("is %q, as in %s", t.ID, seen)})
	c.require(place,
		rule{c.first.Cluster != "" && t.Cluster == "", "cluster", "is missing, and there in the first record: all tasks have one, or none has"},
		rule{c.first.Cluster == "" && t.Cluster != "", "cluster", "is there, and missing in the first record: all tasks have one, or none has"})
	c.require(place, rule{t.Index != c.position, "task_index", fmt.Sprintf("is %d, must be %d here", t.Index, c.position)})
	c.position++
	c.require(place, rule{t.Prompt == "", "prompt", "is missing or empty"}, rule{t.UserPrompt == "", "user_prompt", "is missing or empty"})
	f, err := family.Named(t.Scorer)
	if err != nil {
		c.faults.addFault(place, "scorer", "%v", err)
		return
	}
	c.answer(place, f, t)
	c.options(place, f, t)
	c.tests(place, f, t)
}

// answer checks the answer and its tolerance. A judge has the answers to all its tasks or
// to none: a cell that is empty by mistake would be judged by what the judge knows.
func (c *check) answer(place string, f family.Family, t Task) {
	has, gold, tolerance := t.Answer != "", "", ""
	if f.Gold != nil && has && !f.Tests {
		gold = f.Gold(t)
	}
	if f.Tolerance != nil && t.Tolerance != "" {
		tolerance = f.Tolerance(t)
	}
	judged := f.Need == family.Judge
	if _, known := c.keyed[t.Scorer]; !known {
		c.keyed[t.Scorer] = has
	}
	c.require(place,
		rule{f.Tests && has, "answer", fmt.Sprintf("is there, but %s is scored by its tests", t.Scorer)},
		rule{!f.Tests && !has && !f.AnswerOptional, "answer", "is missing or empty"},
		rule{judged && c.keyed[t.Scorer] && !has, "answer", fmt.Sprintf("is missing, and there in the first record whose scorer is %s: all have one, or none has", t.Scorer)},
		rule{judged && !c.keyed[t.Scorer] && has, "answer", fmt.Sprintf("is there, and missing in the first record whose scorer is %s: all have one, or none has", t.Scorer)},
		rule{gold != "", "answer", gold})
	c.require(place,
		rule{t.Tolerance != "" && f.Tolerance == nil, "tolerance", fmt.Sprintf("is there, but the scorer is %s", t.Scorer)},
		rule{tolerance != "", "tolerance", tolerance})
}

// options checks the options of a choice.
func (c *check) options(place string, f family.Family, t Task) {
	c.require(place,
		rule{!f.Options && t.Options != 0, "options", fmt.Sprintf("is there, but the scorer is %s", t.Scorer)},
		rule{!f.Options && t.OptionTexts != nil, "option_texts", fmt.Sprintf("is there, but the scorer is %s", t.Scorer)},
		rule{f.Options && (t.Options < 2 || t.Options > scoring.MostOptions), "options", fmt.Sprintf("is missing or not from 2 to %d", scoring.MostOptions)},
		rule{t.OptionTexts != nil && len(t.OptionTexts) != t.Options, "option_texts", fmt.Sprintf("has %d texts, options says %d", len(t.OptionTexts), t.Options)},
		rule{slices.Contains(t.OptionTexts, ""), "option_texts", "has an empty text"})
}

// tests checks what decides about a program.
func (c *check) tests(place string, f family.Family, t Task) {
	c.require(place,
		rule{!f.Tests && len(t.Tests) > 0, "tests", fmt.Sprintf("is there, but the scorer is %s", t.Scorer)},
		rule{!f.Tests && t.TestsFile != "", "tests_file", fmt.Sprintf("is there, but the scorer is %s", t.Scorer)},
		rule{f.Tests && len(t.Tests) == 0 && t.TestsFile == "", "tests", "is missing or empty, and there is no tests_file"},
		rule{len(t.Tests) > 0 && t.TestsFile != "", "tests_file", "is there beside tests: one of the two"},
		rule{t.TestsFile != "" && !insideFolder(t.TestsFile), "tests_file", fmt.Sprintf("is %q, must be a path below the task file's folder, with / between folders", t.TestsFile)})
	c.require(place,
		rule{t.TestsSHA256 != "" && t.TestsFile == "", "tests_sha256", "is there without a tests_file"},
		rule{t.TestsSHA256 != "" && !hexDigest.MatchString(t.TestsSHA256), "tests_sha256", fmt.Sprintf("is %.80q, must be a SHA-256: 64 digits, 0 to 9 and a to f", t.TestsSHA256)})
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
	fault := func(key, format string, args ...any) { c.faults.addFault(at, key, format, args...) }
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
