package imitation

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reader takes the fields of a request's body one by one, with the conversions
// of pydantic: "5" is an integer, "yes" a boolean. It gathers the faults.
// Fields that nobody takes are ignored in silence, as by vLLM.
type reader struct {
	body   json.RawMessage
	fields map[string]json.RawMessage
	faults []detail
	param  string // that vLLM's own checks name
}

// newReader parses a body; the problem says what is wrong with it as a whole.
func newReader(r route, body []byte) (*reader, *problem) {
	if len(body) == 0 {
		return nil, malformed(r, []detail{{kind: "missing", text: "Field required", input: "None"}}, "")
	}
	if !utf8.Valid(body) {
		return nil, &problem{status: 400, detail: "There was an error parsing the body"}
	}
	rd := &reader{body: body}
	err := json.Unmarshal(body, &rd.fields)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d := detail{kind: "json_invalid", place: strconv.FormatInt(max(0, syntax.Offset-1), 10), text: "JSON decode error", input: "{}"}
		d.more = ", 'ctx': {'error': " + pythonString(syntaxFault(syntax.Error())) + "}"
		return nil, malformed(r, []detail{d}, "")
	case err != nil || rd.fields == nil:
		p := internal("'" + pythonType(body) + "' object has no attribute 'get'")
		p.raised = true
		return nil, p
	}
	return rd, nil
}

// syntaxFault is what Python's parser says where Go's says err.
func syntaxFault(err string) string {
	for _, f := range []struct{ goes, python string }{
		{"object key string", "Expecting property name enclosed in double quotes"},
		{"after object key:value pair", "Expecting ',' delimiter"},
		{"after object key", "Expecting ':' delimiter"},
		{"after array element", "Expecting ',' delimiter"},
		{"after top-level value", "Extra data"},
		{"in string literal", "Invalid control character at"},
		{"in string escape code", `Invalid \\escape`},
	} {
		if strings.Contains(err, f.goes) {
			return f.python
		}
	}
	return "Expecting value"
}

// pythonType is the name of a JSON value's type in Python.
func pythonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return "NoneType"
	case raw[0] == '{':
		return "dict"
	case raw[0] == '[':
		return "list"
	case raw[0] == '"':
		return "str"
	case raw[0] == 't' || raw[0] == 'f':
		return "bool"
	case bytes.ContainsAny(raw, ".eE"):
		return "float"
	}
	return "int"
}

// take is the value of a field, its type, and whether there is one that is not
// null. A null where none is allowed is a fault.
func (rd *reader) take(name string, nullable bool, kind, text string) (json.RawMessage, string, bool) {
	raw, there := rd.fields[name]
	if !there {
		return nil, "", false
	}
	typ := pythonType(raw)
	if typ == "NoneType" {
		if !nullable {
			rd.fault(kind, name, text, raw)
		}
		return nil, typ, false
	}
	return raw, typ, true
}

func (rd *reader) fault(kind, name, text string, raw json.RawMessage) {
	rd.faults = append(rd.faults, detail{kind: kind, place: "'" + name + "'", text: text, input: python(raw)})
}

// forbidden notes a fault of vLLM's own checks, at a field or, with name "",
// at the whole body. Nothing else counts then, and nothing but that is told.
func (rd *reader) forbidden(name, param, text string, raw json.RawMessage) {
	d := detail{kind: "value_error", text: "Value error, " + text, input: python(raw)}
	error := "ValueError(" + pythonString(text) + ")"
	if name != "" {
		d.place = "'" + name + "'"
	}
	if param != "" {
		suffix := " (parameter=" + param
		if name != "" {
			suffix += ", value=" + strings.Trim(python(raw), `'`)
		}
		d.text += suffix + ")"
		error = "VLLM" + strings.Replace(error, "Value", "Validation", 1)
	}
	d.more = ", 'ctx': {'error': " + error + "}"
	if rd.param == "" {
		rd.param = param
	}
	rd.faults = append(rd.faults, d)
}

// numeral is the text of a field that may stand for a number, in quotes or not,
// and whether there is one. Any other type is a fault.
func (rd *reader) numeral(name string, nullable bool, kind, base string) (raw json.RawMessage, typ, text string, there bool) {
	raw, typ, there = rd.take(name, nullable, kind, base)
	if !there {
		return raw, typ, "", false
	}
	text = strings.TrimSpace(strings.Trim(string(raw), `"`))
	switch typ {
	case "bool":
		text = map[string]string{"true": "1", "false": "0"}[text]
	case "int", "float", "str":
	default:
		rd.fault(kind, name, base, raw)
		return raw, typ, "", false
	}
	return raw, typ, text, true
}

// integer is a field that is an integer, or nil.
func (rd *reader) integer(name string, nullable bool) *int64 {
	const base = "Input should be a valid integer"
	raw, typ, text, there := rd.numeral(name, nullable, "int_type", base)
	if !there {
		return nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return &n
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case typ == "str" && (err != nil || v != math.Trunc(v)):
		rd.fault("int_parsing", name, base+", unable to parse string as an integer", raw)
	case v != math.Trunc(v):
		rd.fault("int_from_float", name, base+", got a number with a fractional part", raw)
	case math.Abs(v) < 1<<53:
		n := int64(v)
		return &n
	default:
		rd.beyond(name, v > 0, raw)
	}
	return nil
}

// beyond is the fault of a number that 64 bits do not hold.
func (rd *reader) beyond(name string, above bool, raw json.RawMessage) {
	kind, text, key, bound := "less_than_equal", "less than or equal to ", "le", strconv.Itoa(math.MaxInt64)
	if !above {
		kind, text, key, bound = "greater_than_equal", "greater than or equal to ", "ge", strconv.Itoa(math.MinInt64)
	}
	rd.fault(kind, name, "Input should be "+text+bound, raw)
	rd.faults[len(rd.faults)-1].more = ", 'ctx': {'" + key + "': " + bound + "}"
}

// number is a field that is a number, or nil.
func (rd *reader) number(name string, nullable bool) *float64 {
	const base = "Input should be a valid number"
	raw, typ, text, there := rd.numeral(name, nullable, "float_type", base)
	if !there {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && typ == "str" {
		rd.fault("float_parsing", name, base+", unable to parse string as a number", raw)
		return nil
	}
	return &v
}

// boolean is a field that is true or false; otherwise is its default.
func (rd *reader) boolean(name string, nullable, otherwise bool) bool {
	return booleanIn(rd, rd.fields, "", name, nullable, otherwise)
}

func booleanIn(rd *reader, fields map[string]json.RawMessage, parent, name string, nullable, otherwise bool) bool {
	const base = "Input should be a valid boolean"
	raw, there := fields[name]
	if !there {
		return otherwise
	}
	place := parent + name
	switch typ := pythonType(raw); typ {
	case "NoneType":
		if !nullable {
			rd.fault("bool_type", place, base, raw)
		}
		return otherwise
	case "bool", "int", "str", "float":
		switch strings.ToLower(strings.Trim(string(raw), `"`)) {
		case "true", "1", "1.0", "yes", "on", "y", "t":
			return true
		case "false", "0", "0.0", "no", "off", "n", "f":
			return false
		}
		rd.fault("bool_parsing", place, base+", unable to interpret input", raw)
	default:
		rd.fault("bool_type", place, base, raw)
	}
	return otherwise
}

// text is a field that is a string, or "".
func (rd *reader) text(name string) string {
	const base = "Input should be a valid string"
	raw, typ, there := rd.take(name, true, "string_type", base)
	if !there {
		return ""
	}
	if typ != "str" {
		rd.fault("string_type", name, base, raw)
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// object is a field that is a dictionary, or nil.
func (rd *reader) object(name, kind, text string) map[string]json.RawMessage {
	raw, typ, there := rd.take(name, true, kind, text)
	if !there {
		return nil
	}
	var fields map[string]json.RawMessage
	if typ != "dict" || json.Unmarshal(raw, &fields) != nil {
		rd.fault(kind, name, text, raw)
	}
	return fields
}

// list is a field that is a list, or nil.
func (rd *reader) list(name string) []json.RawMessage {
	const base = "Input should be a valid list"
	raw, typ, there := rd.take(name, true, "list_type", base)
	if !there {
		return nil
	}
	var items []json.RawMessage
	if typ != "list" || json.Unmarshal(raw, &items) != nil {
		rd.fault("list_type", name, base, raw)
	}
	return items
}
