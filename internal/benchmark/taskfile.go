package benchmark

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/scoring/family"
	"speceval/internal/store/files"
)

// Reader reads task files: a record for every task, in the order of the benchmark. If the
// name ends in .jsonl it is JSONL, an object a line; if in .csv it is CSV, a header with the
// keys, then a record a row. docs/benchmarks.md has the keys.
//
// A number in the place of a text is the text that is written there. A value that is null is
// left out, as is a cell of CSV that is empty. Lists and numbers of CSV are written as in
// JSON; texts are taken byte for byte, with line breaks as they are. An error tells up
// to 20 faults at once, each with the file, the line and the key.
//
// The zero Reader reads files whose tasks all have their user turn.
type Reader struct {
	Prompts   *Prompts // of tasks without a user turn, as Ask by the benchmark's name; nil: each must have one
	Benchmark string   // of records that name none; "": the file's name without its ending
}

// Read reads the task file at path, and checks that the files with tests
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

// Parse reads a task file held in memory; name is the file's name in errors.
func (r Reader) Parse(data []byte, name string) ([]Task, error) { return r.parse(data, name, nil) }

func (r Reader) parse(data []byte, name string, folder *os.Root) ([]Task, error) {
	ending := filepath.Ext(name)
	r.Benchmark = cmp.Or(r.Benchmark, strings.TrimSuffix(filepath.Base(name), ending))
	faults := newFaults(name)
	file := &reading{Reader: r, folder: folder, faults: faults, check: newCheck(faults)}
	records := lines
	switch strings.ToLower(ending) {
	case ".csv":
		records = rows
	case ".jsonl":
	default:
		return nil, fmt.Errorf("%s: must be called .jsonl or .csv, as what it is", name)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s: is UTF-16: save it in UTF-8", name)
	}
	for number, record := range records(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		file.record(fmt.Sprintf("line %d", number), record)
	}
	if file.check.position == 0 && faults.Count == 0 {
		faults.addFault("", "", "is empty: it has no task")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return file.tasks, nil
}

// lines gives the lines of JSONL that are not blank, each with its number. They end at LF
// only: texts may hold other line separators.
func lines(data []byte) iter.Seq2[int, line] {
	return func(yield func(int, line) bool) {
		number := 0
		for text := range bytes.Lines(data) {
			number++
			if text = bytes.TrimSpace(text); len(text) > 0 && !yield(number, line{text: text}) {
				return
			}
		}
	}
}

// line is a record as JSON, or why there is none.
type line struct {
	text []byte
	err  error
}

// reading is a task file as it is read, in either form.
type reading struct {
	Reader
	folder *os.Root // that it is in; nil: of a file held in memory
	faults *faults
	check  *check
	tasks  []Task // none after a fault
}

// record reads the record at a place.
func (r *reading) record(place string, l line) {
	rec, err := new(record), l.err
	if err == nil {
		rec, err = decode(l.text)
	}
	var task Task
	if err == nil {
		task, err = rec.task(r.Benchmark, r.check.position)
	}
	if err == nil && len(rec.Tests) > 0 && rec.Tests.Kind() != jsontext.KindNull {
		if task.Tests, err = readList(bytes.NewReader(rec.Tests), &testCheck{faults: r.faults, place: place}); err != nil {
			err = fmt.Errorf("tests: %w", err)
		}
	}
	if err != nil {
		r.faults.addFault(place, "", "%v", err)
		r.check.position++
		return
	}
	r.ask(place, rec, &task)
	r.check.task(place, task)
	r.findTests(place, task)
	if r.faults.Count > 0 {
		r.tasks = nil
	} else {
		r.tasks = append(r.tasks, task)
	}
}

// ask gives a task its user turn, and its system turn, where the record has none.
func (r *reading) ask(place string, rec *record, task *Task) {
	fault := func(key, format string, args ...any) { r.faults.addFault(place, key, format, args...) }
	if rec.UserPrompt.given || rec.Messages != nil || r.Prompts == nil || task.Prompt == "" {
		return
	}
	f, err := family.Named(task.Scorer)
	switch {
	case err != nil:
	case f.Options && task.OptionTexts == nil:
		if task.Options > 0 {
			fault("options", "is a number, and nothing shows the options: list their texts, or give the whole user_prompt")
		}
	case f.Tests && task.TestsFile != "":
		fault("user_prompt", "is missing: a tests_file does not tell a template whether a function is called")
	default:
		asked, err := r.Prompts.Ask(*task, task.Benchmark)
		if err != nil {
			fault("user_prompt", "cannot be made: %v", err)
		}
		task.UserPrompt = asked.UserPrompt
		if rec.SystemPrompt == nil {
			task.SystemPrompt = asked.SystemPrompt
		}
		return
	}
	task.UserPrompt = task.Prompt // so that it is not called missing, where something else is
}
