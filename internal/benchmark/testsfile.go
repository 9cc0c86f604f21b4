package benchmark

import (
	"bufio"
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

	"github.com/klauspost/compress/gzip"

	"speceval/internal/files"
	"speceval/internal/jsonlist"
)

// ReadTests gives the tests of a task of the task file at path: those in its
// record, or those in its tests_file, a JSON list in UTF-8 as in a record, of
// tests up to 64 MiB each and 1 GiB together. It follows no path or link out of
// the folder of the task file. Tests that are not those of tests_sha256 are
// refused. An error tells up to 20 faults at once.
func ReadTests(path string, task Task) ([]Test, error) { return ReadTestsOf(path, task, "") }

// ReadTestsOf is [ReadTests] of a tests_file that must still have the content of
// this SHA-256, "" for any: what was read of it earlier is not mixed with what
// somebody has made of it since.
func ReadTestsOf(path string, task Task, content string) ([]Test, error) {
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
	f := testsFile{check: testCheck{faults: newFaults(filepath.Join(filepath.Dir(path), task.TestsFile))}}
	sum := sha256.New()
	f.read(io.TeeReader(file, sum), strings.HasSuffix(task.TestsFile, ".gz"), task.TestsSHA256)
	if content != "" {
		if _, err := io.Copy(sum, file); err != nil { // what the reading has left
			return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != content {
			return nil, fmt.Errorf("%s was changed while this ran: run again, which takes it as it is then", filepath.Join(filepath.Dir(path), task.TestsFile))
		}
	}
	return f.tests, f.check.faults.err()
}

// testsFile is a file of tests that is being read.
type testsFile struct {
	tests []Test
	check testCheck
}

// read reads the tests, whose digest must be this one unless it is "".
func (f *testsFile) read(content io.Reader, zipped bool, digest string) {
	fault := func(format string, args ...any) { f.check.faults.add("", "", format, args...) }
	if zipped {
		unzipped, err := gzip.NewReader(content)
		if err != nil {
			fault("is not compressed by gzip, as its name says: %v", err)
			return
		}
		content = unzipped
	}
	sum := sha256.New()
	list := listWriter{to: sum}
	err := jsonlist.Read(bufio.NewReaderSize(content, 1<<16), []string{"kind", "function", "input", "output"}, func(_ int, members map[string]string) error {
		test := f.add(members)
		if digest == "" {
			return f.check.room()
		}
		return errors.Join(f.check.room(), list.add(test))
	})
	switch {
	case err == io.EOF:
		fault("is empty")
	case err != nil:
		fault("%v", err)
	case len(f.tests) == 0:
		fault("has no tests")
	case digest != "" && f.check.faults.err() == nil && (list.end() != nil || hex.EncodeToString(sum.Sum(nil)) != digest):
		fault("has other tests than tests_sha256 of the task file says: one of the two was changed after they were written; prepare the benchmark again")
	}
}

// add keeps and checks a test of a file.
func (f *testsFile) add(members map[string]string) Test {
	for _, key := range []string{"input", "output"} {
		if _, there := members[key]; !there {
			f.check.faults.add(f.check.next(), key, "is missing")
		}
	}
	test := Test{Kind: members["kind"], Function: members["function"], Input: members["input"], Output: members["output"]}
	f.check.test(test)
	f.tests = append(f.tests, test)
	return test
}

// WriteTests writes the content of a tests_file without compression, the same
// bytes for the same tests. Tests that break the rules are refused before anything
// is written.
func WriteTests(w io.Writer, tests []Test) error {
	faults := newFaults("tests")
	if len(tests) == 0 {
		faults.add("", "", "there are none")
	}
	checkTests(tests, "", faults)
	if err := faults.err(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	list := listWriter{to: out}
	for _, test := range tests {
		if err := list.add(test); err != nil {
			return err
		}
	}
	return errors.Join(list.end(), out.Flush())
}

// findTests returns an error if the tests_file of a task is missing.
func (r *reading) findTests(place string, task Task) {
	if r.folder == nil || task.TestsFile == "" || !insideFolder(task.TestsFile) {
		return
	}
	if err := files.CheckInputIn(r.folder, filepath.FromSlash(task.TestsFile), files.Tests); err != nil {
		r.faults.add(place, "tests_file", "%v", err)
	}
}

// TestsWriter writes a compressed tests_file, test by test: what [WriteTests]
// writes, through gzip. The same tests make the same bytes.
type TestsWriter struct {
	check  testCheck
	zipped *gzip.Writer
	sum    hash.Hash
	list   listWriter
	err    error // the first one: nothing is written after it
}

// NewTestsWriter begins a file. Its name must end in .gz.
func NewTestsWriter(w io.Writer) *TestsWriter {
	// Numbers, which most tests are, get no smaller at higher levels.
	zipped, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	t := &TestsWriter{check: testCheck{faults: newFaults("tests")}, zipped: zipped, sum: sha256.New(), err: err}
	t.zipped.ModTime = time.Unix(0, 0) // none
	t.list.to = io.MultiWriter(t.sum, t.zipped)
	return t
}

// Add writes a test. One that breaks the rules of a task file is refused, and
// then the file cannot be ended.
func (t *TestsWriter) Add(test Test) error {
	if t.err == nil {
		t.check.test(test)
		t.err = errors.Join(t.check.faults.err(), t.check.room())
	}
	if t.err == nil {
		t.err = t.list.add(test)
	}
	return t.err
}

// Close ends the file, and gives the digest of its tests: the SHA-256, in
// hexadecimal, of the file before compression. It does not close what it writes to.
func (t *TestsWriter) Close() (sha256 string, err error) {
	if t.err == nil && t.check.count == 0 {
		t.err = errors.New("tests: there are none")
	}
	if t.err == nil {
		t.err = errors.Join(t.list.end(), t.zipped.Close())
	}
	return hex.EncodeToString(t.sum.Sum(nil)), t.err
}

// listWriter writes tests as a JSON list, in the one form that digests are of.
type listWriter struct {
	to    io.Writer
	count int
	line  []byte
}

func (l *listWriter) add(test Test) error {
	l.line = appendTest(append(l.line[:0], opening(l.count, '[')), test)
	if len(l.line) > jsonlist.Longest {
		return fmt.Errorf("tests[%d]: is longer than %d MiB", l.count, jsonlist.Longest>>20)
	}
	l.count++
	_, err := l.to.Write(l.line)
	return err
}

// end ends the list, which has a test.
func (l *listWriter) end() error {
	_, err := io.WriteString(l.to, "]\n")
	return err
}
