package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// parseRecord reads one line into task, whose defaults are set, and tells
// whether it is a record at all.
func parseRecord(line []byte, place string, task *Task, faults *faults) bool {
	asked := false
	err := members(line, func(key string, value json.RawMessage) error {
		asked = asked || key == "user_prompt"
		return task.set(key, value, place, faults)
	}, place, faults)
	if err != nil {
		faults.add(place, "", "is no record: %v", err)
		return false
	}
	if !asked {
		task.UserPrompt = task.Prompt
	}
	return true
}

// set reads the value of a key of a record.
func (t *Task) set(key string, value json.RawMessage, place string, faults *faults) error {
	texts := map[string]*string{
		"benchmark_id": &t.Benchmark, "task_id": &t.ID, "prompt": &t.Prompt, "user_prompt": &t.UserPrompt,
		"system_prompt": &t.SystemPrompt, "answer": &t.Answer, "scorer": &t.Scorer, "tests_file": &t.TestsFile,
	}
	switch key {
	case "system_prompt", "answer":
		if string(value) == "null" {
			return nil
		}
		return readText(value, texts[key])
	case "task_index":
		return readNumber(value, &t.Index)
	case "options":
		return readNumber(value, &t.Options)
	case "option_texts":
		return readList(value, func(_ int, item json.RawMessage) error {
			t.OptionTexts = append(t.OptionTexts, "")
			return readText(item, &t.OptionTexts[len(t.OptionTexts)-1])
		})
	case "tests":
		return readTests(value, &t.Tests, place, faults)
	}
	if texts[key] == nil {
		return errors.New("is not a key of a task file")
	}
	return readText(value, texts[key])
}

// readTests reads a list of tests.
func readTests(value json.RawMessage, tests *[]Test, place string, faults *faults) error {
	return readList(value, func(i int, item json.RawMessage) error {
		var test Test
		missing := map[string]bool{"input": true, "output": true}
		at := fmt.Sprintf("%stests[%d]", prefix(place), i)
		err := members(item, func(key string, value json.RawMessage) error {
			delete(missing, key)
			return test.set(key, value)
		}, at, faults)
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(missing)) {
			faults.add(at, key, "is missing")
		}
		*tests = append(*tests, test)
		return nil
	})
}

func prefix(place string) string {
	if place == "" {
		return ""
	}
	return place + ": "
}

func (t *Test) set(key string, value json.RawMessage) error {
	texts := map[string]*string{"kind": &t.Kind, "function": &t.Function, "input": &t.Input, "output": &t.Output}
	if texts[key] == nil {
		return errors.New("is not a key of a test")
	}
	return readText(value, texts[key])
}

// members reads a JSON object member by member, and adds what is wrong with a
// member to faults. The error says why the text is no object.
func members(text []byte, read func(key string, value json.RawMessage) error, place string, faults *faults) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it must be a JSON object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		key, isText := token.(string)
		if !isText {
			return fmt.Errorf("%v stands where a key is expected", token)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if seen[key] {
			faults.add(place, key, "is there twice")
			continue
		}
		seen[key] = true
		if err := read(key, value); err != nil {
			faults.add(place, key, "%v", err)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more follows after its end")
	}
	return nil
}

// readText reads a JSON string. Half of a surrogate pair, which the decoder
// would replace, is refused.
func readText(value json.RawMessage, text *string) error {
	if value[0] != '"' {
		return fmt.Errorf("must be a text, is %s", kindOf(value))
	}
	if err := json.Unmarshal(value, text); err != nil {
		return err
	}
	raw := string(value)
	if written := strings.Count(raw, "\ufffd") + strings.Count(strings.ToLower(raw), `\ufffd`); strings.Count(*text, "\ufffd") > written {
		return errors.New(`has half of a surrogate pair (\ud800 to \udfff)`)
	}
	return nil
}

func readNumber(value json.RawMessage, n *int) error {
	if json.Unmarshal(value, n) != nil || string(value) == "null" {
		return fmt.Errorf("must be an integer, is %.20s", value)
	}
	return nil
}

func readList(value json.RawMessage, read func(i int, item json.RawMessage) error) error {
	if value[0] != '[' {
		return fmt.Errorf("must be a list, is %s", kindOf(value))
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return err
	}
	for i, item := range items {
		if err := read(i, item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

// kindOf names the kind of a JSON value.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f', 'n':
		return string(value)
	}
	return "a number"
}
