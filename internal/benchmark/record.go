package benchmark

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"speceval/internal/scoring"
	"speceval/internal/scoring/family"
	"speceval/internal/terminal/display"
)

// record is a task as a line of a file holds it, and as [WriteTasks] writes it. Other keys
// than these are metadata.
type record struct {
	Benchmark    text           `json:"benchmark_id,omitzero"`
	ID           text           `json:"id,omitzero"`
	TaskID       text           `json:"task_id,omitzero"` // the same
	Index        *int           `json:"task_index,omitzero"`
	Prompt       text           `json:"prompt,omitzero"`
	UserPrompt   text           `json:"user_prompt,omitzero"`
	SystemPrompt *text          `json:"system_prompt,omitzero"`
	Messages     []message      `json:"messages,omitzero"`
	Answer       text           `json:"answer,omitzero"`
	Tolerance    text           `json:"tolerance,omitzero"`
	Scorer       text           `json:"scorer,omitzero"`
	Options      options        `json:"options,omitzero"`
	OptionTexts  []text         `json:"option_texts,omitzero"`
	Tests        jsontext.Value `json:"tests,omitzero"`
	TestsFile    text           `json:"tests_file,omitzero"`
	TestsSHA256  text           `json:"tests_sha256,omitzero"`
	Cluster      text           `json:"cluster,omitzero"`
	Metadata     jsontext.Value `json:"metadata,omitzero"`

	Others map[string]jsontext.Value `json:",embed"` // the other keys
}

// text is a value that is a text. A number is one as it is written, null is none.
type text struct {
	given bool
	string
}

// given is a text with a value.
func given(s string) text { return text{true, s} }

// orNone is a text with a value, unless that is empty.
func orNone(s string) text { return text{s != "", s} }

// UnmarshalJSONFrom reads a text, a number or null.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	switch {
	case err != nil:
		return err
	case token.Kind() == 'n':
		*t = text{}
	case token.Kind() == '"' || token.Kind() == '0':
		*t = given(token.String())
	default:
		return fmt.Errorf("must be a text, is %s", kindOf(token.Kind()))
	}
	return nil
}

// MarshalJSONTo writes the text, or null.
func (t text) MarshalJSONTo(e *jsontext.Encoder) error {
	if !t.given {
		return e.WriteToken(jsontext.Null)
	}
	return e.WriteToken(jsontext.String(t.string))
}

// options is the key options: the texts of a choice, or how many there are.
type options struct {
	number int
	texts  []text
}

// UnmarshalJSONFrom reads a list of texts or a number.
func (o *options) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	switch {
	case err != nil:
		return err
	case value.Kind() == '[':
		return json.Unmarshal(value, &o.texts)
	case value.Kind() == 'n':
		return nil
	case json.Unmarshal(value, &o.number) != nil:
		return fmt.Errorf(`must be a list of texts as ["red","green"], or their number, is %.20s`, value)
	}
	return nil
}

// MarshalJSONTo writes the number.
func (o options) MarshalJSONTo(e *jsontext.Encoder) error {
	return e.WriteToken(jsontext.Int(int64(o.number)))
}

// message is a turn as a file has it: content may be a list of parts.
type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is the text of a turn, or the joined texts of its parts.
type content string

// UnmarshalJSONFrom reads a text or a list of parts of the type text.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		var whole text
		err := whole.UnmarshalJSONFrom(d)
		*c = content(whole.string)
		return err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.UnmarshalDecode(d, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		if part.Type != "text" {
			return fmt.Errorf("has a part of the type %q: only texts are asked", part.Type)
		}
		*c += content(part.Text)
	}
	return nil
}

// decode reads a record. Names of keys may be written in other cases, with - or nothing for
// _. The error names the key.
func decode(line []byte) (*record, error) {
	r := &record{Others: map[string]jsontext.Value{}}
	if kind := jsontext.Value(line).Kind(); kind != '{' {
		return nil, fmt.Errorf("is no record: it must be a JSON object")
	}
	err := json.Unmarshal(line, r, json.MatchCaseInsensitiveNames(true))
	if err == nil {
		err = r.carry()
	}
	if err != nil {
		return nil, explained(err)
	}
	return r, nil
}

// explained is an error of the decoder as a person reads it: the key, and what is wrong there.
func explained(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errLong):
		return errLong
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		return fmt.Errorf("%s: %w", place(semantic.JSONPointer), reason(semantic))
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Errorf("%s: is there twice", place(syntax.JSONPointer))
	case errors.As(err, &syntax) && syntax.JSONPointer != "":
		return fmt.Errorf("%s: %w", place(syntax.JSONPointer), syntax.Err)
	case errors.As(err, &syntax):
		return fmt.Errorf("is no JSON: byte %d: %w", syntax.ByteOffset+1, syntax.Err)
	}
	return err
}

// place is a pointer into a record as a person writes it: messages[2].content.
func place(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// reason is why a value was not read.
func reason(e *json.SemanticError) error {
	if errors.Is(e.Err, json.ErrUnknownName) {
		return errors.New("is none of the keys")
	} else if e.Err != nil && e.JSONKind == 0 {
		return e.Err
	}
	return fmt.Errorf("must be %s, is %s", wanted(e), kindOf(e.JSONKind))
}

// wanted is the kind of value that a key has.
func wanted(e *json.SemanticError) string {
	switch e.GoType.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Int:
		return "an integer"
	case reflect.String:
		return "a text"
	}
	return "an object"
}

// task is the task that the record describes, at a position of the file of a benchmark,
// without its tests.
func (r *record) task(benchmark string, position int) (Task, error) {
	t := Task{
		Benchmark: benchmark, ID: r.ID.string + r.TaskID.string, Index: position, Prompt: r.Prompt.string, UserPrompt: r.UserPrompt.string,
		Scorer: r.Scorer.string, Answer: r.Answer.string, Tolerance: r.Tolerance.string,
		Options: r.Options.number, OptionTexts: texts(r.OptionTexts), TestsFile: r.TestsFile.string, TestsSHA256: r.TestsSHA256.string,
		Cluster: r.Cluster.string, Metadata: string(r.Metadata),
	}
	if r.Benchmark.given {
		t.Benchmark = r.Benchmark.string
	}
	if f, err := family.Named(t.Scorer); err == nil && f.Need == family.Nothing { // others read solutions
		t.Answer = scoring.Solved(t.Answer)
	}
	if r.Index != nil {
		t.Index = *r.Index
	}
	if r.SystemPrompt != nil {
		t.SystemPrompt = r.SystemPrompt.string
	}
	if r.Options.texts != nil {
		t.OptionTexts = texts(r.Options.texts)
		t.Options = len(t.OptionTexts)
	}
	var err error
	switch {
	case r.ID.given && r.TaskID.given:
		err = errors.New("task_id: is there beside id: one of the two")
	case r.Options.texts != nil && r.OptionTexts != nil:
		err = errors.New("option_texts: is there beside another list of the options: one of the two")
	case r.Messages != nil && (r.UserPrompt.given || r.SystemPrompt != nil):
		err = errors.New("messages: is there beside user_prompt or system_prompt: all turns in it, or none")
	case r.Messages != nil:
		err = r.chat(&t)
	}
	if t.Prompt == "" && !r.Prompt.given {
		t.Prompt = t.UserPrompt
	}
	return t, err
}

// chat gives a task its turns.
func (r *record) chat(t *Task) error {
	for i, m := range r.Messages {
		last := i == len(r.Messages)-1
		switch {
		case m.Content == "":
			return fmt.Errorf("messages[%d].content: is missing or empty", i)
		case i == 0 && !last && (m.Role == "system" || m.Role == "developer"):
			t.SystemPrompt = string(m.Content)
		case last && m.Role == "user":
			t.UserPrompt = string(m.Content)
		case !last && (m.Role == "user" || m.Role == "assistant"):
			t.History = append(t.History, scoring.Turn{Role: m.Role, Content: string(m.Content)})
		case last:
			return fmt.Errorf("messages[%d].role: is %q, the last turn must be the user's", i, m.Role)
		default:
			return fmt.Errorf("messages[%d].role: is %q, must be user or assistant, or system in the first turn", i, m.Role)
		}
	}
	if t.UserPrompt == "" {
		return errors.New("messages: has no turn")
	}
	return nil
}

// texts are the values of texts; nil of none.
func texts(all []text) (values []string) {
	for _, t := range all {
		values = append(values, t.string)
	}
	return values
}

// carry makes the metadata: what is under that key, and the other keys of the record. A
// misspelled key of a task file is an error, and so is a prompt under another name where the record has none.
func (r *record) carry() error {
	asks := r.Prompt.given || r.UserPrompt.given || r.Messages != nil
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		if !asks && slices.Contains([]string{"question", "problem", "input"}, folded(name)) {
			return fmt.Errorf("%s: is not a key of a task file, did you mean prompt?", name)
		}
		if i := slices.IndexFunc(keys, func(key string) bool { return slip(folded(name), folded(key)) }); i >= 0 {
			return fmt.Errorf("%s: is not a key of a task file, did you mean %s? Put it into metadata if not", name, keys[i])
		}
	}
	var own map[string]jsontext.Value
	switch r.Metadata.Kind() {
	case jsontext.KindBeginObject:
		if err := json.Unmarshal(r.Metadata, &own); err != nil {
			return err
		}
	case jsontext.KindInvalid, jsontext.KindNull:
	default:
		own = map[string]jsontext.Value{"metadata": r.Metadata}
	}
	for name, value := range own {
		if _, again := r.Others[name]; again {
			return fmt.Errorf("metadata.%s: is there beside the key %s: one of the two", name, name)
		}
		r.Others[name] = value
	}
	if len(r.Others) == 0 {
		r.Metadata = nil
		return nil
	}
	var err error
	r.Metadata, err = json.Marshal(r.Others, json.Deterministic(true))
	return err
}

// slip reports whether a name is a key by a slip of the pen: it is one letter off, or lacks
// the word prompt, as system does.
func slip(name, key string) bool {
	return len(key) > 4 && display.Distance(name, key) == 1 || name+"prompt" == key
}

// folded is a name without what the reader of JSON ignores: case, and the marks - and _.
func folded(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
}

// keys are the names of the keys of a task file.
var keys = func() (names []string) {
	for field := range reflect.TypeFor[record]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()
