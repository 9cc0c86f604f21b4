package benchmark

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"speceval/internal/files"
	"speceval/internal/scoring/family"
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
//	system_prompt  the system turn; left out, it is that of the template, or none with a user_prompt
//	answer         a text; of a choice a letter; left out where there are tests, and perhaps where a command scores
//	tolerance      of a number: a text, 0.01 or 1%, by how much an answer may be off; may be left out
//	scorer         name of a family of scorers, see package family
//	options        of a choice: their texts, from A on; or how many there are, with a user_prompt that shows them
//	option_texts   of a choice: their texts, where options is their number; may be left out
//	tests          of code: a list of objects with kind (stdin or function), function, input, output
//	tests_file     of code: instead of tests, a file with that list, relative to this one; compressed by gzip
//	               if its name ends in .gz; with a user_prompt
//	tests_sha256   with tests_file: the digest of the tests, as [TestsWriter] gives it; may be left out
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

// lines reads a file of JSONL.
func (r *reading) lines(data []byte) {
	rest, marked := bytes.CutPrefix(data, []byte("\ufeff"))
	if marked {
		r.faults.add("", "", "begins with a byte order mark: save it as UTF-8 without one")
	}
	if len(rest) == 0 {
		r.faults.add("", "", "is empty: a task file has a record a line")
		return
	}
	number := 0
	// Lines end at LF only: texts may hold other line separators.
	for line := range bytes.SplitSeq(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n")) {
		number++
		place := fmt.Sprintf("line %d", number)
		if r.full(place) {
			return
		}
		if fault := lineFault(line); fault != "" {
			r.skip(place, "%s", fault)
			continue
		}
		r.record(place, func(set setter) error { return members(line, set, place, r.faults) })
	}
}

// lineFault is why a line cannot be read at all; "" if it can.
func lineFault(line []byte) string {
	switch {
	case len(line) > maxRecord:
		return tooLong
	case len(bytes.TrimSpace(line)) == 0:
		return "is empty"
	case line[len(line)-1] == '\r':
		return "ends in CR LF: save the file with LF alone"
	case !utf8.Valid(line):
		return "is not valid UTF-8"
	}
	return ""
}

var tooLong = fmt.Sprintf("is longer than %d MiB: put the tests into a file and name it in tests_file", maxRecord>>20)

// reading is a task file as it is read, in either form.
type reading struct {
	Reader
	folder *os.Root // that it is in; nil: of a file held in memory
	faults *faults
	check  *check
	idKey  string // that records have which have none
	tasks  []Task // none after a fault
}

// setter takes the value of a key of a record.
type setter func(key string, value json.RawMessage) error

// record reads the record at a place. It is given member by member; an error of
// that says why it is none.
func (r *reading) record(place string, members func(setter) error) {
	rec := record{Task: Task{Benchmark: r.Benchmark, Index: r.check.position}, given: map[string]bool{}, idKey: r.idKey}
	r.faults.next()
	err := members(func(key string, value json.RawMessage) error { return rec.set(key, value, place, r.faults) })
	if err != nil {
		r.skip(place, "is no record: %v", err)
		return
	}
	r.faults.called = rec.called()
	r.ask(place, &rec)
	r.check.task(place, rec.Task)
	r.findTests(place, rec.Task)
	if r.faults.count == 0 {
		r.tasks = append(r.tasks, rec.Task)
	} else {
		r.tasks = nil
	}
}

// skip passes over a record that cannot be read.
func (r *reading) skip(place, format string, args ...any) {
	r.faults.next()
	r.faults.add(place, "", format, args...)
	r.check.position++
}

// full reports whether the file has no room for another record.
func (r *reading) full(place string) bool {
	if r.check.position < maxTasks {
		return false
	}
	r.skip(place, "is one task too many: a file has at most %d", maxTasks)
	return true
}

// ask gives a record its user turn, and its system turn, where it has none.
func (r *reading) ask(place string, rec *record) {
	fault := func(key, format string, args ...any) { r.faults.add(place, key, format, args...) }
	task := &rec.Task
	if rec.given["user_prompt"] {
		return
	}
	task.UserPrompt = task.Prompt // so that it is not called missing, where something else is
	f, err := family.Named(task.Scorer)
	switch {
	case r.Prompts == nil:
		task.UserPrompt = ""
	case err != nil || task.Prompt == "":
	case f.Options && task.OptionTexts == nil:
		if task.Options > 0 {
			fault("option_texts", "is a number, and nothing shows the options: list their texts, or give the whole user_prompt")
		}
	case f.Tests && task.TestsFile != "":
		fault("user_prompt", "is missing: a tests_file does not tell a template whether a function is called")
	default:
		asked, err := r.Prompts.Ask(*task, task.Benchmark)
		if err != nil {
			fault("user_prompt", "cannot be made: %v", err)
		}
		task.UserPrompt = asked.UserPrompt
		if !rec.given["system_prompt"] {
			task.SystemPrompt = asked.SystemPrompt
		}
	}
}

// WriteProblems writes a task file of bare problems, which a [Reader] asks by its
// templates: id, prompt, answer, scorer, and options as a list or tests, and
// nothing that depends on a template or on the place of a task. A task that has no
// user turn yet is as good as one that has, and what a task file cannot say so is
// left out: a tests_file, and an own system turn.
func WriteProblems(w io.Writer, tasks []Task) error {
	out := bufio.NewWriter(w)
	for _, task := range tasks {
		out.Write(appendProblem(nil, task))
	}
	return out.Flush()
}

// appendProblem appends the line of a bare problem.
func appendProblem(b []byte, t Task) []byte {
	b = AppendString(append(b, `{"id":`...), t.ID)
	b = appendMember(b, "prompt", t.Prompt)
	if t.Answer != "" {
		b = appendMember(b, "answer", t.Answer)
	}
	if t.Tolerance != "" {
		b = appendMember(b, "tolerance", t.Tolerance)
	}
	b = appendMember(b, "scorer", t.Scorer)
	if len(t.OptionTexts) > 0 {
		b = appendTexts(append(b, `,"options":`...), t.OptionTexts)
	}
	if len(t.Tests) > 0 {
		b = appendTests(append(b, `,"tests":`...), t.Tests)
	}
	return append(b, "}\n"...)
}
