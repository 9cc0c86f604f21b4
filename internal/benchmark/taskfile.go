package benchmark

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxLine is the longest record of a task file, in bytes. Bigger tests go into
// a file of their own.
const maxLine = 16 << 20

// ReadTasks reads the task file at path, as [ParseTasks] does, and sees to it
// that the files with tests exist. It does not read those: see [ReadTests].
func ReadTasks(path string) ([]Task, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	faults := newFaults(path)
	tasks := parseTasks(data, faults)
	findTestFiles(filepath.Dir(path), tasks, faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return tasks, nil
}

// ParseTasks reads a task file held in memory; name is what errors call it. A
// task file is JSONL in UTF-8: an object a line, each ended by LF and nothing
// else, one for every task in the order of the benchmark. The keys are
//
//	benchmark_id   the same in all records; may be left out, and is then the file's name
//	task_id        unique
//	task_index     0, 1, 2, …; may be left out
//	prompt         the bare problem
//	user_prompt    the whole user turn, unique; may be left out, and is then the prompt
//	system_prompt  null or left out for none
//	answer         a text; of a choice a letter; null or left out where there are tests
//	scorer         math, choice, judge or code
//	options        of a choice: how many there are
//	option_texts   of a choice: their texts, from A on; may be left out
//	tests          of code: a list of objects with kind (stdin or function), function, input, output
//	tests_file     of code: instead of tests, a file with that list, relative to this one
//
// and no others. An error tells up to 20 faults at once, each with the file,
// the line and the key.
func ParseTasks(data []byte, name string) ([]Task, error) {
	faults := newFaults(name)
	tasks := parseTasks(data, faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return tasks, nil
}

func parseTasks(data []byte, faults *faults) []Task {
	rest, marked := bytes.CutPrefix(data, []byte("\ufeff"))
	if marked {
		faults.add("", "", "begins with a byte order mark: save it as UTF-8 without one")
	}
	if len(rest) == 0 {
		faults.add("", "", "is empty: a task file has a record a line")
		return nil
	}
	stem := strings.TrimSuffix(filepath.Base(faults.name), ".jsonl")
	check := newCheck(faults)
	var tasks []Task
	// Lines end at LF only: texts may hold other line separators.
	for i, line := range bytes.Split(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n")) {
		place := fmt.Sprintf("line %d", i+1)
		task := Task{Benchmark: stem, Index: i}
		if soundLine(line, place, faults) && parseRecord(line, place, &task, faults) {
			check.task(place, task)
		} else {
			check.skip()
		}
		tasks = append(tasks, task) // so that task i stands in line i+1
	}
	return tasks
}

// soundLine tells whether a line can be read at all.
func soundLine(line []byte, place string, faults *faults) bool {
	switch {
	case len(line) > maxLine:
		faults.add(place, "", "is longer than %d MiB: put the tests into a file and name it in tests_file", maxLine>>20)
	case len(bytes.TrimSpace(line)) == 0:
		faults.add(place, "", "is empty")
	case line[len(line)-1] == '\r':
		faults.add(place, "", "ends in CR LF: save the file with LF alone")
	case !utf8.Valid(line):
		faults.add(place, "", "is not valid UTF-8")
	default:
		return true
	}
	return false
}
