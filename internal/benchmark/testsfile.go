package benchmark

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"speceval/internal/store/files"
)

// ReadTests gives the tests of a task of the task file at path: those in its
// record, or those in its tests_file, a JSON list in UTF-8 as in a record, of
// tests up to 64 MiB each and 1 GiB together. It follows no path or link out of
// the folder of the task file. A file whose JSON has not the digest tests_sha256 is
// refused, as is one that has not the content of this SHA-256, "" for any: what was
// read of it earlier is not mixed with what somebody has made of it since. An error tells
// up to 20 faults at once.
func ReadTests(path string, task Task, content string) ([]Test, error) {
	if task.TestsFile == "" {
		return task.Tests, nil
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
	}
	defer folder.Close()
	file, err := files.OpenInputIn(folder, filepath.FromSlash(task.TestsFile), files.Tests)
	if err != nil {
		return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
	}
	defer file.Close()
	name, sum := filepath.Join(filepath.Dir(path), task.TestsFile), sha256.New()
	tests, fault := readTestsFile(io.TeeReader(file, sum), name, task.TestsSHA256)
	if content != "" {
		if _, err := io.Copy(sum, file); err != nil { // what the reading has left
			return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != content {
			return nil, fmt.Errorf("%s was changed while this ran: run again, which takes it as it is then", name)
		}
	}
	return tests, fault
}

// readTestsFile reads a file, whose JSON must have this digest unless it is "".
func readTestsFile(content io.Reader, name, digest string) ([]Test, error) {
	if strings.HasSuffix(name, ".gz") {
		unzipped, err := gzip.NewReader(content)
		if err != nil {
			return nil, fmt.Errorf("%s: is not compressed by gzip, as its name says: %w", name, err)
		}
		content = unzipped
	}
	check, sum := testCheck{faults: newFaults(name)}, sha256.New()
	content = bufio.NewReaderSize(io.TeeReader(content, sum), 1<<16)
	tests, err := readList(content, &check)
	if err == nil {
		_, err = io.Copy(io.Discard, content)
	}
	switch {
	case err == io.EOF:
		err = errors.New("is empty")
	case err != nil:
	case len(tests) == 0:
		err = errors.New("has no tests")
	case digest != "" && check.faults.Err() == nil && hex.EncodeToString(sum.Sum(nil)) != digest:
		err = errors.New("has other tests than tests_sha256 of the task file says: one of the two was changed after they were written; prepare the benchmark again")
	}
	if err != nil {
		check.faults.addFault("", "", "%v", err)
	}
	return tests, check.faults.Err()
}

// readList reads and checks a list of tests.
func readList(content io.Reader, check *testCheck) (tests []Test, err error) {
	type line struct {
		Kind     string  `json:"kind"`
		Function string  `json:"function"`
		Input    *string `json:"input"`
		Output   *string `json:"output"`
	}
	err = ReadObjects(content, func(_ int, l line) error {
		if l.Input == nil || l.Output == nil {
			check.faults.addFault(check.next(), "", "lacks its input or its output")
			l.Input, l.Output = new(string), new(string)
		}
		test := Test{Kind: l.Kind, Function: l.Function, Input: *l.Input, Output: *l.Output}
		check.test(test)
		tests = append(tests, test)
		return check.room()
	})
	return tests, err
}

// findTests returns an error if the tests_file of a task is missing.
func (r *reading) findTests(place string, task Task) {
	if r.folder == nil || task.TestsFile == "" || !insideFolder(task.TestsFile) {
		return
	}
	file, err := files.OpenInputIn(r.folder, filepath.FromSlash(task.TestsFile), files.Tests)
	if err != nil {
		r.faults.addFault(place, "tests_file", "%v", err)
		return
	}
	file.Close()
}

// TestsWriter writes a compressed tests_file, test by test: a JSON
// list through gzip. The same tests make the same bytes.
type TestsWriter struct {
	check  testCheck
	zipped *gzip.Writer
	sum    hash.Hash
	line   bytes.Buffer
	err    error // the first one: nothing is written after it
}

// NewTestsWriter begins a file. Its name must end in .gz.
func NewTestsWriter(w io.Writer) *TestsWriter {
	// Numbers, which most tests are, get no smaller at higher levels.
	zipped, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	zipped.ModTime = time.Unix(0, 0) // none
	return &TestsWriter{check: testCheck{faults: newFaults("tests")}, zipped: zipped, sum: sha256.New(), err: err}
}

// Add writes a test. One that breaks the rules of a task file is refused, and
// then the file cannot be ended.
func (t *TestsWriter) Add(test Test) error {
	if t.err != nil {
		return t.err
	}
	t.line.Reset()
	t.line.WriteByte("[,"[min(t.check.count, 1)])
	t.check.test(test)
	if t.err = errors.Join(t.check.faults.Err(), t.check.room()); t.err == nil {
		t.err = json.MarshalWrite(&t.line, &test)
	}
	if t.line.Len() > longestTest {
		t.err = fmt.Errorf("tests[%d]: is longer than %d MiB", t.check.count-1, longestTest>>20)
	}
	return t.write()
}

// write writes the line.
func (t *TestsWriter) write() error {
	if t.err == nil {
		t.sum.Write(t.line.Bytes())
		_, t.err = t.zipped.Write(t.line.Bytes())
	}
	return t.err
}

// Close ends the file, and gives the digest of its tests: the SHA-256, in
// hexadecimal, of the file before compression. It does not close what it writes to.
func (t *TestsWriter) Close() (sha256 string, err error) {
	if t.err == nil && t.check.count == 0 {
		t.err = errors.New("tests: there are none")
	}
	t.line.Reset()
	t.line.WriteString("]\n")
	if t.write() == nil {
		t.err = t.zipped.Close()
	}
	return hex.EncodeToString(t.sum.Sum(nil)), t.err
}
