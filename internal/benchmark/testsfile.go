package benchmark

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// ReadTests gives the tests of a task of the task file at path: those in its
// record, or those in its tests_file, a JSON list in UTF-8 as in a record. It
// follows no path or link out of the folder of the task file. An error tells
// up to 20 faults at once.
func ReadTests(path string, task Task) ([]Test, error) {
	if task.TestsFile == "" {
		return task.Tests, nil
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
	}
	defer folder.Close()
	file, err := folder.Open(filepath.FromSlash(task.TestsFile))
	if err != nil {
		return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read tests of %s: %w", task.ID, err)
	}
	return parseTests(bytes.TrimSpace(data), filepath.Join(filepath.Dir(path), task.TestsFile))
}

// parseTests reads a file of tests.
func parseTests(data []byte, name string) ([]Test, error) {
	faults := newFaults(name)
	var tests []Test
	switch {
	case !utf8.Valid(data):
		faults.add("", "", "is not valid UTF-8")
	case len(data) == 0:
		faults.add("", "", "is empty")
	default:
		if err := readTests(data, &tests, "", faults); err != nil {
			faults.add("", "", "%v", err)
		}
		if len(tests) == 0 {
			faults.add("", "", "has no tests")
		}
		checkTests(tests, "", faults)
	}
	return tests, faults.err()
}

// WriteTests writes the content of a tests_file, the same bytes for the same
// tests. Tests that break the rules are refused before anything is written.
func WriteTests(w io.Writer, tests []Test) error {
	faults := newFaults("tests")
	if len(tests) == 0 {
		faults.add("", "", "there are none")
	}
	checkTests(tests, "", faults)
	if !(Task{Tests: tests}).valid() {
		faults.add("", "", "are not valid UTF-8")
	}
	if err := faults.err(); err != nil {
		return err
	}
	_, err := w.Write(append(appendTests(nil, tests), '\n'))
	return err
}

// findTestFiles sees to it that the files with tests are there.
func findTestFiles(dir string, tasks []Task, faults *faults) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		faults.add("", "", "%v", err)
		return
	}
	defer folder.Close()
	for i, task := range tasks {
		place := fmt.Sprintf("line %d", i+1)
		if task.TestsFile == "" || !insideFolder(task.TestsFile) {
			continue
		}
		if info, err := folder.Stat(filepath.FromSlash(task.TestsFile)); err != nil {
			faults.add(place, "tests_file", "%v", err)
		} else if !info.Mode().IsRegular() {
			faults.add(place, "tests_file", "%q is no file", task.TestsFile)
		}
	}
}
