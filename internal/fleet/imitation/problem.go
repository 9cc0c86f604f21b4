package imitation

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// problem is a refusal: an error body with the status, type, param and code of
// vLLM. The messages are our own, but for the words that clients read.
type problem struct {
	status  int
	message string
	kind    string // "BadRequestError", …
	param   string // "": null
	detail  string // instead of all above: the body of a plain error of the web framework
	raised  bool   // it is a plain exception in vLLM, after which its web server closes the connection
}

// invalid is a 400 for a value that was understood and is not allowed.
func invalid(param, message string) *problem {
	return &problem{status: http.StatusBadRequest, kind: "BadRequestError", param: param, message: message, raised: param == ""}
}

// unbuilt refuses what vLLM can and this server cannot. No real server says so.
func unbuilt(what string) *problem {
	return invalid("", "This server is simulated and has no "+what+".")
}

func unknownModel(name string) *problem {
	return &problem{status: http.StatusNotFound, kind: "NotFoundError", param: "model", message: "The model `" + name + "` does not exist."}
}

func internal(message string) *problem {
	return &problem{status: http.StatusInternalServerError, kind: "InternalServerError", message: message}
}

// engineDead is the answer to requests whose engine dies. Clients read the word
// EngineCore.
func engineDead() *problem { return internal("EngineCore encountered an issue.") }

// malformed is a 400 for a request of the wrong form; param is the parameter that
// vLLM's own checks name.
func malformed(param string, faults ...string) *problem {
	return &problem{status: http.StatusBadRequest, kind: "Bad Request", param: param, message: strings.Join(faults, "; ")}
}

// body is the JSON of the problem.
func (p *problem) body() []byte {
	if p.detail != "" {
		return append(appendString([]byte(`{"detail":`), p.detail), '}')
	}
	b := appendString([]byte(`{"error":{"message":`), p.message)
	b = append(appendString(append(b, `,"type":`...), p.kind), `,"param":`...)
	if p.param == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, p.param)
	}
	return append(strconv.AppendInt(append(b, `,"code":`...), int64(p.status), 10), "}}"...)
}

// appendString appends a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, text string) []byte {
	b, _ = jsontext.AppendQuote(b, text)
	return b
}

// reader takes the fields of a request's body one by one, and collects the faults.
// Other fields are ignored, as by vLLM.
type reader struct {
	fields map[string]json.RawMessage
	faults []string
	param  string // that vLLM's own checks name
}

// newReader parses a body; the problem is a fault of the body as a whole.
func newReader(body []byte) (*reader, *problem) {
	rd := new(reader)
	switch {
	case len(body) > 0 && !utf8.Valid(body):
		return nil, &problem{status: http.StatusBadRequest, detail: "There was an error parsing the body"}
	case !json.Valid(body):
		return nil, malformed("", "the body is not JSON")
	case json.Unmarshal(body, &rd.fields) != nil || rd.fields == nil:
		p := internal("the body is not an object")
		p.raised = true
		return nil, p
	}
	return rd, nil
}

func (rd *reader) fault(name, want string) { rd.faults = append(rd.faults, name+" is not "+want) }

// forbidden adds a fault that vLLM's own checks find; param is "" where they name
// none.
func (rd *reader) forbidden(param, message string) {
	rd.faults = append(rd.faults, message)
	if rd.param == "" {
		rd.param = param
	}
}

// take returns the value of a field, and whether there is one that is not null. A
// null where none is allowed is a fault.
func (rd *reader) take(name string, nullable bool, want string) (raw json.RawMessage, there bool) {
	raw, there = rd.fields[name]
	if string(raw) != "null" {
		return raw, there
	}
	if !nullable {
		rd.fault(name, want)
	}
	return nil, false
}

// pointed returns a field of a type, or nil.
func pointed[T any](rd *reader, name string, nullable bool, want string) *T {
	raw, there := rd.take(name, nullable, want)
	if !there {
		return nil
	}
	v := new(T)
	if json.Unmarshal(raw, v) != nil {
		rd.fault(name, want)
		return nil
	}
	return v
}

// integer returns a field that is an integer, or nil.
func (rd *reader) integer(name string, nullable bool) *int64 {
	return pointed[int64](rd, name, nullable, "an integer of 64 bits")
}

// number returns a field that is a number, or nil.
func (rd *reader) number(name string) *float64 {
	return pointed[float64](rd, name, true, "a number")
}

// boolean returns a field that is true or false; otherwise is its default.
func (rd *reader) boolean(name string, nullable, otherwise bool) bool {
	if v := pointed[bool](rd, name, nullable, "a boolean"); v != nil {
		return *v
	}
	return otherwise
}

// decoded returns a field of a type, or its zero value.
func decoded[T any](rd *reader, name, want string) (v T) {
	if raw, there := rd.take(name, true, want); there && json.Unmarshal(raw, &v) != nil {
		rd.fault(name, want)
	}
	return v
}

// text returns a field that is a string, or "".
func (rd *reader) text(name string) string { return decoded[string](rd, name, "a string") }

// object returns a field that is an object, or nil.
func (rd *reader) object(name string) map[string]json.RawMessage {
	return decoded[map[string]json.RawMessage](rd, name, "an object")
}

// list returns a field that is a list, or nil.
func (rd *reader) list(name string) []json.RawMessage {
	return decoded[[]json.RawMessage](rd, name, "a list")
}

// truthy reports whether Python takes a value for true.
func truthy(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", "0", "0.0", `""`, "{}", "[]":
		return false
	}
	return true
}
