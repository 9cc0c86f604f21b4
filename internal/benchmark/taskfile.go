package benchmark

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/files"
)

const (
	// maxRecord is the longest record of a task file, in bytes. Bigger tests go
	// into a file of their own.
	maxRecord = 16 << 20
	// maxTasks is how many records a task file has at most.
	maxTasks = 1 << 18
)

// Reader reads task files. A task file has a record for every task, in the order
// of the benchmark. If its name ends in .jsonl it is JSONL in UTF-8: an object a line,
// each ended by LF and nothing else. If it ends in .csv it is CSV in UTF-8 (RFC
// 4180): a header with the keys, then a record a row. The keys are
//
//	benchmark_id   the same in all records; left out, it is the reader's
//	id             unique; task_id is the same
//	task_index     0, 1, 2, …; may be left out
//	prompt         the bare problem
//	user_prompt    the whole user turn; left out, the problem is put into the template of its scorer
//	system_prompt  the system turn; left out, it is that of the template, or none beside a user_prompt
//	answer         a text; of a choice a letter; left out where there are tests, and perhaps where a command scores
//	tolerance      of a number: a text, 0.01 or 1%, by how much an answer may be off; may be left out
//	scorer         name of a family of scorers, see package family
//	options        of a choice: their texts, from A on; or how many there are, beside a user_prompt that shows them
//	option_texts   of a choice: their texts, where options is their number; may be left out
//	tests          of code: a list of objects with kind (stdin or function), function, input, output
//	tests_file     of code: instead of tests, a file with that list, relative to this one; compressed by gzip
//	               if its name ends in .gz; beside a user_prompt
//	tests_sha256   beside tests_file: the digest of the tests, as [TestsWriter] gives it; may be left out
//	cluster        tasks of one cluster are no independent sample of tasks, as questions about one text; in all records or in none
//
// and no others. A value that is null is left out, as is one of CSV that is empty.
// Lists and numbers of CSV are written as in JSON; texts are taken byte for byte,
// with line breaks as they are. An error tells up to 20 faults at once, each with
// the file, the line and the key.
//
// The zero Reader reads files whose tasks all have their user turn.
type Reader struct {
	Prompts   *Prompts // of tasks without a user turn, as Ask by the benchmark's name; nil: each must have one
	Benchmark string   // of records that name none; "": the file's name without its ending
	MostTold  int      // how many faults an error tells at most; 0: 20
}

// ReadTasks reads the task file at path by the zero [Reader].
func ReadTasks(path string) ([]Task, error) { return Reader{}.Read(path) }

// ParseTasks reads a task file held in memory by the zero [Reader].
func ParseTasks(data []byte, name string) ([]Task, error) { return Reader{}.Parse(data, name) }

// Read reads the task file at path, and sees to it that the files with tests
// exist. It does not read those: see [ReadTests].
func (r Reader) Read(path string) ([]Task, error) {
	data, err := files.ReadInput(path, files.Tasks)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	defer folder.Close()
	return r.parse(data, path, folder)
}

// Parse reads a task file held in memory; name is what errors call it.
func (r Reader) Parse(data []byte, name string) ([]Task, error) { return r.parse(data, name, nil) }

func (r Reader) parse(data []byte, name string, folder *os.Root) ([]Task, error) {
	ending := filepath.Ext(name)
	r.Benchmark = cmp.Or(r.Benchmark, strings.TrimSuffix(filepath.Base(name), ending))
	faults := newFaults(name)
	faults.most = cmp.Or(r.MostTold, shownFaults)
	file := &reading{Reader: r, folder: folder, faults: faults, check: newCheck(faults), idKey: "task_id"}
	switch strings.ToLower(ending) {
	case ".jsonl":
		file.lines(data)
	case ".csv":
		file.rows(data)
	default:
		faults.add("", "", "must be called .jsonl or .csv, as what it is")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return file.tasks, nil
}
