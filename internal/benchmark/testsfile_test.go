package benchmark_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"speceval/internal/benchmark"
)

// save writes a file and the folders that it needs.
func save(t testing.TB, path, text string) string {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o777))
	ok(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// listOf is the file of tests.
func listOf(t *testing.T, tests []benchmark.Test) string {
	t.Helper()
	text := must(json.Marshal(tests))
	return string(text) + "\n"
}

func TestTestsOfTheirOwnFile(t *testing.T) {
	dir := t.TempDir()
	save := func(name, text string) string { return save(t, filepath.Join(dir, filepath.FromSlash(name)), text) }
	path := save("folder/b.jsonl", wide)
	if _, err := (benchmark.Reader{}).Read(path); !strings.Contains(fmt.Sprint(err), path+": line 5: tests_file: ") {
		t.Errorf("without the file: %v", err)
	}
	save("folder/tests/z.json.gz", "")
	want := []benchmark.Test{{Kind: "function", Function: "f", Input: "\"é<\"", Output: "null"}}
	save("folder/tests/l.json", listOf(t, want))
	tasks := must(benchmark.Reader{}.Read(path))
	if got, err := benchmark.ReadTests(path, tasks[4], ""); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("tests %+v, %v", got, err)
	}
	if got, err := benchmark.ReadTests(path, tasks[3], ""); err != nil || len(got) != 1 {
		t.Errorf("tests of a record %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"": "is empty", " \n": "is empty", "[]": "has no tests", "{}": "must be a list", "[1]": "[0]: must be an object", "[": "unexpected EOF",
		`[{"kind":"stdin","input":"` + "\xff" + `"}]`: "invalid UTF-8", `[{"kind":"stdin","input":"","output":"","time":"3"}]`: `time: is none of the keys`,
		`[{"kind":"stdin","input":""}]`:         "tests[0]: lacks its input or its output",
		`[{"kind":"x","input":"","output":""}]`: `tests[0]: kind: is "x"`,
	} {
		name := save("folder/tests/l.json", text)
		if _, err := benchmark.ReadTests(path, tasks[4], ""); !strings.HasPrefix(fmt.Sprint(err), name+": ") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	outside := save("outside.json", listOf(t, want))
	ok(t, os.Symlink(outside, filepath.Join(dir, "folder", "link.json")))
	for _, name := range []string{"../outside.json", "link.json", "tests"} {
		if _, err := benchmark.ReadTests(path, benchmark.Task{ID: "x", TestsFile: name}, ""); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	save("folder/b.jsonl", strings.ReplaceAll(wide, "tests/l.json", "link.json"))
	if _, err := (benchmark.Reader{}).Read(path); !strings.Contains(fmt.Sprint(err), "line 5: tests_file: ") {
		t.Errorf("a link out of the folder: %v", err)
	}
	save("folder/b.jsonl", strings.ReplaceAll(wide, "tests/l.json", "tests"))
	if _, err := (benchmark.Reader{}).Read(path); !strings.Contains(fmt.Sprint(err), "is a directory") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := (benchmark.Reader{}).Read(filepath.Join(dir, "none.jsonl")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// zipped is a compressed file of tests, and the digest of these.
func zipped(t testing.TB, tests ...benchmark.Test) (file, digest string) {
	t.Helper()
	var b bytes.Buffer
	w := benchmark.NewTestsWriter(&b)
	for _, test := range tests {
		ok(t, w.Add(test))
	}
	digest = must(w.Close())
	return b.String(), digest
}

var echo = []benchmark.Test{{Kind: "stdin", Input: "1\n", Output: "1\n"}, {Kind: "stdin", Input: "é<\x00\"", Output: ""}}

func TestCompressedTests(t *testing.T) {
	file, digest := zipped(t, echo...)
	if again, same := zipped(t, echo...); again != file || same != digest {
		t.Error("the same tests make other bytes")
	}
	r, err := gzip.NewReader(strings.NewReader(file))
	if err != nil || !r.ModTime.IsZero() || r.Name != "" {
		t.Fatalf("header %+v, %v", r.Header, err)
	}
	plain := listOf(t, echo)
	if text, err := io.ReadAll(r); err != nil || string(text) != plain || digest != sha256hex(string(text)) {
		t.Errorf("%q, %v, %s; want %q", text, err, digest, plain)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "b.jsonl")
	task := benchmark.Task{ID: "x", TestsFile: "t.json.gz"}
	save(t, filepath.Join(dir, task.TestsFile), file)
	for _, task.TestsSHA256 = range []string{"", digest} {
		if got, err := benchmark.ReadTests(path, task, ""); err != nil || !reflect.DeepEqual(got, echo) {
			t.Errorf("digest %q: %+v, %v", task.TestsSHA256, got, err)
		}
	}
	// The digest is of the JSON, compressed or not.
	spelt := strings.NewReplacer("},", "} ,\n", "é", `\u00e9`).Replace(plain)
	spaced := benchmark.Task{ID: "x", TestsFile: "t.json", TestsSHA256: sha256hex(spelt)}
	save(t, filepath.Join(dir, "t.json"), spelt)
	if got, err := benchmark.ReadTests(path, spaced, ""); err != nil || !reflect.DeepEqual(got, echo) {
		t.Errorf("in other words: %+v, %v", got, err)
	}
}

func TestFaultsOfCompressedTests(t *testing.T) {
	dir := t.TempDir()
	path, name := filepath.Join(dir, "b.jsonl"), filepath.Join(dir, "t.json.gz")
	file, digest := zipped(t, echo...)
	other, _ := zipped(t, echo[0])
	flipped := []byte(file)
	flipped[len(flipped)-6] ^= 1 // of the checksum
	for _, c := range []struct{ file, want string }{
		{"", "is not compressed by gzip"},
		{"[]", "is not compressed by gzip"},
		{file[:len(file)/2], "unexpected EOF"},
		{file[:len(file)-1], "unexpected EOF"},
		{string(flipped), "checksum"},
		{file + "x", "EOF"},
		{file + file, "more follows"},
		{other, "has other tests than tests_sha256 of the task file says"},
	} {
		save(t, name, c.file)
		got, err := benchmark.ReadTests(path, benchmark.Task{ID: "x", TestsFile: "t.json.gz", TestsSHA256: digest}, "")
		if text := fmt.Sprint(err); !strings.HasPrefix(text, name+": ") || !strings.Contains(text, c.want) {
			t.Errorf("%.40q: %+v, %v; want an error with %q", c.file, got, err, c.want)
		}
	}
}

func TestTestsThatBreakTheRulesAreNotAdded(t *testing.T) {
	good := benchmark.Test{Kind: "stdin"}
	for want, test := range map[string]benchmark.Test{
		"tests: tests[1]: is not valid UTF-8":       {Kind: "stdin", Input: "\xff"},
		`tests: tests[1]: kind: is "", must be`:     {},
		`tests: tests[1]: kind: is "function", but`: {Kind: "function", Function: "f", Output: "1"},
		`tests: tests[1]: function: is "f", but`:    {Kind: "stdin", Function: "f"},
		"tests[1]: is longer than 64 MiB":           {Kind: "stdin", Input: strings.Repeat("x", 64<<20)},
	} {
		w := benchmark.NewTestsWriter(io.Discard)
		ok(t, w.Add(good))
		for range 2 { // the second one is good, and comes too late
			if err := w.Add(test); !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			test = good
		}
		if _, err := w.Close(); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("closed with %v, want %q", err, want)
		}
	}
	if _, err := benchmark.NewTestsWriter(io.Discard).Close(); !strings.Contains(fmt.Sprint(err), "there are none") {
		t.Errorf("no tests: %v", err)
	}
	w := benchmark.NewTestsWriter(io.Discard)
	var err error
	for n := 0; err == nil && n < 1<<17; n++ {
		err = w.Add(good)
	}
	if !strings.Contains(fmt.Sprint(err), "more than 65536 tests") {
		t.Errorf("too many tests: %v", err)
	}
	full := benchmark.NewTestsWriter(fullDisk{})
	err = full.Add(good)
	if _, closed := full.Close(); closed == nil || !strings.Contains(closed.Error(), "disk is full") {
		t.Errorf("on a full disk: %v, then %v", err, closed)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, fmt.Errorf("the disk is full") }

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
