package benchmark

import (
	"encoding/json"
	"os"

	"speceval/internal/scorer/family"
)

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

// full tells whether the file has no room for another record.
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
