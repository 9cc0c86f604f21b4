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
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/gzip"

	"speceval/internal/files"
	"speceval/internal/jsonlist"
)

// ReadTests gives the tests of a task of the task file at path: those in its
// record, or those in its tests_file, a JSON list in UTF-8 as in a record, of
// tests up to 64 MiB each and 1 GiB together. It follows no path or link out of
// the folder of the task file. Tests that are not those of tests_sha256 are
// refused, as is a file that has not the content of this SHA-256, "" for any: what was
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
	f := testsReading{check: testCheck{faults: newFaults(filepath.Join(filepath.Dir(path), task.TestsFile))}}
	sum := sha256.New()
	f.file(io.TeeReader(file, sum), strings.HasSuffix(task.TestsFile, ".gz"), task.TestsSHA256)
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

// testsReading is a list of tests that is being read.
type testsReading struct {
	tests []Test
	check testCheck
}

// file reads the tests of a file, whose digest must be this one unless it is "".
func (f *testsReading) file(content io.Reader, zipped bool, digest string) {
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
	err := f.list(bufio.NewReaderSize(content, 1<<16), func(test Test) error {
		if digest == "" {
			return nil
		}
		return list.add(test)
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

// list reads and checks a list of tests, and passes each on.
func (f *testsReading) list(content io.Reader, each func(Test) error) error {
	return jsonlist.Read(content, []string{"kind", "function", "input", "output"}, func(_ int, members map[string]string) error {
		for _, key := range []string{"input", "output"} {
			if _, there := members[key]; !there {
				f.check.faults.add(f.check.next(), key, "is missing")
			}
		}
		test := Test{Kind: members["kind"], Function: members["function"], Input: members["input"], Output: members["output"]}
		f.check.test(test)
		f.tests = append(f.tests, test)
		return errors.Join(f.check.room(), each(test))
	})
}

// readTests reads the tests in a record.
func (r *reading) readTests(place string, list jsontext.Value) ([]Test, error) {
	if list == nil || list.Kind() == jsontext.KindNull {
		return nil, nil
	}
	f := testsReading{check: testCheck{faults: r.faults, place: place}}
	err := f.list(bytes.NewReader(list), func(Test) error { return nil })
	return f.tests, err
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

// TestsWriter writes a compressed tests_file, test by test: a JSON
// list through gzip. The same tests make the same bytes.
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
	line := bytes.NewBuffer(append(l.line[:0], "[,"[min(l.count, 1)]))
	if err := json.MarshalWrite(line, &test); err != nil {
		return fmt.Errorf("tests[%d]: %w", l.count, err)
	}
	if l.line = line.Bytes(); len(l.line) > jsonlist.Longest {
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
