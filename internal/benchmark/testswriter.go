package benchmark

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"speceval/internal/jsonlist"
)

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
