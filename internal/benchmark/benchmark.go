// Package benchmark defines the benchmarks: their ids, sizes and scorers, the
// files that hold their tasks, and the templates that make a prompt of a
// problem. It holds no benchmark text.
package benchmark

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"speceval/internal/csvfile"
	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
)

var (
	// plainName is what a benchmark may be called: it becomes part of file names.
	plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]*$`)
	// identifier is what a function may be called.
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
}

func newCheck(faults *faults) *check { return &check{faults: faults, ids: map[string]string{}} }

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
	checkOptions(f, t, fault)
	c.tests(place, f, t)
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
		fault("task_id", "is %q, as in %s", t.ID, first)
	} else {
		c.ids[t.ID] = place
	}
	if t.ID == "" {
		fault("task_id", "is missing or empty")
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

// tests checks what decides about a program.
func (c *check) tests(place string, f family.Family, t Task) {
	fault := func(key, format string, args ...any) { c.faults.add(place, key, format, args...) }
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
	checkTests(t.Tests, place, c.faults)
}

// insideFolder reports whether a path stays below the folder it starts from, as
// far as its text says.
func insideFolder(path string) bool {
	return filepath.IsLocal(filepath.FromSlash(path)) && !strings.ContainsAny(path, "\\\x00")
}

// valid reports whether all texts of a task are UTF-8, as those of a file are.
func valid(t Task) bool {
	texts := append([]string{t.Benchmark, t.ID, t.Prompt, t.UserPrompt, t.SystemPrompt, t.Answer, t.Tolerance, t.TestsFile}, t.OptionTexts...)
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
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

// shownFaults is how many faults of a file are reported at once.
const shownFaults = 20

// faults collects what is wrong with one file: at most one fault for every
// place and key of a record, so that a value that could not be read is not called
// missing as well.
type faults struct {
	name   string            // of the file
	most   int               // that are reported
	called map[string]string // what the record at hand calls a key
	seen   map[[2]string]bool
	shown  []string
	count  int
}

func newFaults(name string) *faults {
	return &faults{name: name, most: shownFaults, seen: map[[2]string]bool{}}
}

// next begins a record.
func (f *faults) next() {
	clear(f.seen)
	f.called = nil
}

// add notes a fault of a key ("" for none) at a place ("line 3"; "" for none).
func (f *faults) add(place, key, format string, args ...any) {
	if name, other := f.called[key]; other {
		key = name
	}
	if f.seen[[2]string{place, key}] {
		return
	}
	f.seen[[2]string{place, key}] = true
	f.count++
	if len(f.shown) == f.most {
		return
	}
	text := f.name + ": "
	for _, part := range []string{place, key} {
		if part != "" {
			text += part + ": "
		}
	}
	f.shown = append(f.shown, text+fmt.Sprintf(format, args...))
}

// err is nil without faults, and otherwise tells the first ones and how many
// more there are.
func (f *faults) err() error {
	if f.count == 0 {
		return nil
	}
	text := strings.Join(f.shown, "\n")
	if more := f.count - len(f.shown); more > 0 {
		text += fmt.Sprintf("\n%s: and %d more faults", f.name, more)
	}
	return errors.New(text)
}

// Task is one problem of a benchmark, ready to be asked and scored.
type Task = scoring.Task

// Test is one check of a program.
type Test = scoring.Test

// Definition is one benchmark: a fixed set of tasks and the way they are
// scored.
type Definition struct {
	ID     string // as in every file of the pipeline: "gpqa_diamond__domain_physics"
	NTasks int    // at least 2
	Scorer string // version of the scorer behind the published profiles
	Family string // name of the family of that scorer, see package family
	Title  string // for tables: "GPQA Diamond Physics"
}

// Parse reads definitions from a CSV file with the columns benchmark,
// n_tasks, scorer, family and title, in file order; name is what errors call
// the file.
func Parse(data []byte, name string) ([]Definition, error) {
	records, faults := csvfile.Parse(data, []string{"benchmark", "n_tasks", "scorer", "family", "title"})
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", name, faults[0])
	}
	seen := map[string]bool{}
	var definitions []Definition
	for _, record := range records {
		n, err := strconv.Atoi(record.Fields[1])
		d := Definition{ID: record.Fields[0], NTasks: n, Scorer: record.Fields[2], Family: record.Fields[3], Title: record.Fields[4]}
		switch {
		case d.ID == "" || seen[d.ID]:
			err = fmt.Errorf("benchmark %q is empty or there twice", d.ID)
		case err != nil || n < 2:
			err = fmt.Errorf("n_tasks %q is not an integer of at least 2", record.Fields[1])
		case !slices.Contains(family.Names(), d.Family):
			err = fmt.Errorf("family %q is none of %q", d.Family, family.Names())
		case d.Scorer == "" || d.Title == "":
			err = fmt.Errorf("scorer or title is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", name, record.Number, err)
		}
		seen[d.ID] = true
		definitions = append(definitions, d)
	}
	if len(definitions) == 0 {
		return nil, fmt.Errorf("%s: there are no rows", name)
	}
	return definitions, nil
}
