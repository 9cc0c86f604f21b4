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
	"unicode/utf8"

	"speceval/internal/csvfile"
)

// record is a task as a file has it.
type record struct {
	Task
	given map[string]bool // the keys that it has, with a value that is not null
	idKey string          // the one that names it: id or task_id
}

// set reads the value of a key.
func (r *record) set(key string, value json.RawMessage, place string, faults *faults) error {
	if !isKey(key) {
		return errors.New("is not a key of a task file")
	}
	if string(value) == "null" {
		return nil
	}
	r.given[key] = true
	if key == "id" || key == "task_id" {
		r.idKey = key
	}
	switch {
	case key == r.idKey && r.given["id"] && r.given["task_id"]:
		return errors.New("is there beside the other of id and task_id: one of the two")
	case key == "option_texts" && r.listed(), key == "options" && value[0] == '[' && r.given["option_texts"]:
		return errors.New("is there beside another list of the options: one of the two")
	case key == "options" && value[0] == '[':
		err := setTask(&r.Task, "option_texts", value, place, faults)
		r.Options = len(r.OptionTexts)
		return err
	}
	return setTask(&r.Task, key, value, place, faults)
}

// listed reports whether options is the list of their texts.
func (r *record) listed() bool { return r.given["options"] && r.OptionTexts != nil }

// called is what the record calls what the rules call otherwise.
func (r *record) called() map[string]string {
	names := map[string]string{"task_id": r.idKey}
	if !r.given["option_texts"] {
		names["option_texts"] = "options"
	}
	return names
}

// textOf is where the value of a key belongs that is a text; nil for other keys.
func textOf(t *Task, key string) *string {
	switch key {
	case "benchmark_id":
		return &t.Benchmark
	case "id", "task_id":
		return &t.ID
	case "prompt":
		return &t.Prompt
	case "user_prompt":
		return &t.UserPrompt
	case "system_prompt":
		return &t.SystemPrompt
	case "answer":
		return &t.Answer
	case "tolerance":
		return &t.Tolerance
	case "scorer":
		return &t.Scorer
	case "tests_file":
		return &t.TestsFile
	case "tests_sha256":
		return &t.TestsSHA256
	case "cluster":
		return &t.Cluster
	}
	return nil
}

func isText(key string) bool { return textOf(new(Task), key) != nil }

func isKey(key string) bool {
	return isText(key) || slices.Contains([]string{"task_index", "options", "option_texts", "tests"}, key)
}

// setTask reads the value of a key of a task.
func setTask(t *Task, key string, value json.RawMessage, place string, faults *faults) error {
	switch key {
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
	return readText(value, textOf(t, key))
}

// readTests reads a list of tests.
func readTests(value json.RawMessage, tests *[]Test, place string, faults *faults) error {
	return readList(value, func(i int, item json.RawMessage) error {
		var test Test
		missing := map[string]bool{"input": true, "output": true}
		at := fmt.Sprintf("%stests[%d]", prefix(place), i)
		err := members(item, func(key string, value json.RawMessage) error {
			delete(missing, key)
			return setTest(&test, key, value)
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

func setTest(t *Test, key string, value json.RawMessage) error {
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
	decoder := json.NewDecoder(bytes.NewReader(value))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for i := 0; decoder.More(); i++ {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return err
		}
		if i == maxTests {
			return fmt.Errorf("has more than %d entries", maxTests)
		}
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

// rows reads a file of CSV. The place of a row is the line where it begins.
func (r *reading) rows(data []byte) {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		r.faults.add("", "", "is UTF-16: save it as CSV in UTF-8")
		return
	}
	var header []string
	for row, err := range csvfile.Rows(data) {
		place := fmt.Sprintf("line %d", row.Line)
		if header == nil {
			if err == nil {
				err = r.header(place, row.Cells)
			}
			if err != nil {
				r.faults.add(place, "", "is no header: %v", err)
				return
			}
			header = row.Cells
			continue
		}
		if r.full(place) {
			return
		}
		if err != nil {
			r.skip(place, "is no record: %v", err)
		} else if fault := rowFault(row.Cells, header); fault != "" {
			r.skip(place, "%s", fault)
		} else {
			r.row(place, header, row.Cells)
		}
	}
	if header == nil || r.check.position == 0 {
		r.faults.add("", "", "is empty: a task file has a header with the keys, and a record a row")
	}
}

// header checks the names of columns. The error says why rows cannot be read by
// them; columns with other names are faults, and are passed over.
func (r *reading) header(place string, columns []string) error {
	if len(columns) == 1 && strings.ContainsAny(columns[0], ";\t") {
		return fmt.Errorf("it has one column, %.60q: cells are separated by commas", columns[0])
	}
	for i, name := range columns {
		switch {
		case slices.Contains(columns[:i], name):
			return fmt.Errorf("the column %.40q is there twice", name)
		case name == "":
			r.faults.add(place, fmt.Sprintf("column %d", i+1), "has no name")
		case !isKey(name):
			r.faults.add(place, fmt.Sprintf("%.40q", name), "is not a key of a task file")
		}
	}
	if slices.Contains(columns, "id") {
		r.idKey = "id"
	}
	for _, name := range []string{r.idKey, "prompt", "scorer"} {
		if !slices.Contains(columns, name) {
			if name == "task_id" {
				name = "id"
			}
			return fmt.Errorf("the column %s is missing, there are %.200q", name, columns)
		}
	}
	return nil
}

// rowFault is why a row cannot be read at all; "" if it can.
func rowFault(cells, header []string) string {
	size := 0
	for _, cell := range cells {
		size += len(cell)
	}
	switch {
	case size == 0:
		return "is empty"
	case size > maxRecord:
		return tooLong
	case len(cells) != len(header):
		return fmt.Sprintf("has %d cells, the header has %d", len(cells), len(header))
	}
	return ""
}

// row reads the record in a row.
func (r *reading) row(place string, header, cells []string) {
	r.record(place, func(set setter) error {
		for i, cell := range cells {
			if cell == "" || !isKey(header[i]) {
				continue
			}
			value, err := cellValue(header[i], cell)
			if err == nil {
				err = set(header[i], value)
			}
			if err != nil {
				r.faults.add(place, header[i], "%v", err)
			}
		}
		return nil
	})
}

// cellValue is the JSON value that a cell stands for.
func cellValue(key, cell string) (json.RawMessage, error) {
	if !utf8.ValidString(cell) {
		return nil, errors.New("is not valid UTF-8")
	}
	if isText(key) {
		return AppendString(nil, cell), nil
	}
	value := json.RawMessage(strings.TrimSpace(cell))
	if !json.Valid(value) {
		return nil, errors.New(`is not JSON: write a list as ["red","green"], and every quote of it twice in a cell in quotes`)
	}
	return value, nil
}
