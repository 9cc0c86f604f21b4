package benchmark

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteTasks writes a task file, the same bytes for the same tasks: keys in one order, no
// blanks, and only the characters escaped that JSON must escape. Keys that say nothing are
// left out after system_prompt. Tasks that break the rules of a task file are refused before
// anything is written.
func WriteTasks(w io.Writer, tasks []Task) error {
	faults := newFaults("tasks")
	check := newCheck(faults)
	var text bytes.Buffer
	for i, task := range tasks {
		place := fmt.Sprintf("task %d", i)
		check.task(place, task)
		tests := testCheck{faults: faults, place: place}
		for _, test := range task.Tests {
			tests.test(test)
		}
		if err := json.MarshalWrite(&text, whole(task)); err != nil {
			faults.addFault(place, "", "is not valid UTF-8")
		}
		text.WriteByte('\n')
	}
	if len(tasks) == 0 {
		faults.addFault("", "", "there are none")
	}
	if err := faults.Err(); err != nil {
		return err
	}
	_, err := text.WriteTo(w)
	return err
}

// Digest is the SHA-256, in hexadecimal, of the file that WriteTasks makes of
// tasks. Tests that have a file of their own it covers by tests_sha256, and where
// that is missing not at all.
func Digest(tasks []Task) string { return digest(tasks, whole) }

// PromptDigest is the SHA-256, in hexadecimal, of what is asked: records with
// the keys from benchmark_id to messages alone, a line each. Answers depend
// on it, and it stays when an answer or a test is mended.
func PromptDigest(tasks []Task) string { return digest(tasks, asked) }

func digest(tasks []Task, record func(Task) *record) string {
	hash := sha256.New()
	for _, task := range tasks {
		if err := json.MarshalWrite(hash, record(task), jsontext.AllowInvalidUTF8(true)); err != nil {
			panic(err) // a record has a JSON form, whatever its texts are
		}
		hash.Write([]byte{'\n'})
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// whole is the record of a task.
func whole(t Task) *record {
	r := asked(t)
	r.Answer, r.Tolerance, r.Scorer = orNone(t.Answer), orNone(t.Tolerance), given(t.Scorer)
	r.Options, r.OptionTexts, r.Tests = options{number: t.Options}, allGiven(t.OptionTexts), listed(t.Tests)
	r.TestsFile, r.TestsSHA256, r.Cluster = orNone(t.TestsFile), orNone(t.TestsSHA256), orNone(t.Cluster)
	if t.Metadata != "" {
		r.Metadata = jsontext.Value(t.Metadata)
	}
	return r
}

// asked is the record of a task as far as answers depend on it.
func asked(t Task) *record {
	r := &record{Benchmark: given(t.Benchmark), TaskID: given(t.ID), Index: &t.Index, Prompt: given(t.Prompt)}
	if t.History == nil {
		r.UserPrompt = given(t.UserPrompt)
		r.SystemPrompt = new(orNone(t.SystemPrompt))
		return r
	}
	for _, turn := range t.Turns() {
		r.Messages = append(r.Messages, message{turn.Role, content(turn.Content)})
	}
	return r
}

// allGiven are texts with these values.
func allGiven(values []string) (all []text) {
	for _, value := range values {
		all = append(all, given(value))
	}
	return all
}

// listed is the JSON list of tests; nil of none.
func listed(tests []Test) jsontext.Value {
	if len(tests) == 0 {
		return nil
	}
	list, err := json.Marshal(tests, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // tests are texts
	}
	return list
}
