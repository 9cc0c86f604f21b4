package imitation

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// problem is a refusal: an error body as vLLM words it.
type problem struct {
	status  int
	message string
	kind    string // "BadRequestError", …
	param   string // "": null
	detail  string // instead of all above: the body of a plain error of the web framework
	raised  bool   // it is a plain exception in vLLM, after which its web server closes the connection
}

// invalid is a 400 for a value that was understood and is not allowed.
func invalid(param, format string, args ...any) *problem {
	message := fmt.Sprintf(format, args...)
	return &problem{status: http.StatusBadRequest, kind: "BadRequestError", param: param, message: message, raised: param == ""}
}

// unwanted is invalid for errors that name their parameter and its value in
// the message too.
func unwanted(param, value, format string, args ...any) *problem {
	suffix := fmt.Sprintf(" (parameter=%s, value=%s)", param, value)
	return invalid(param, "%s", fmt.Sprintf(format, args...)+suffix)
}

// unbuilt refuses what vLLM can and this server cannot. No real server says so.
func unbuilt(what string) *problem {
	return invalid("", "This server is simulated and has no %s.", what)
}

func unknownModel(name string) *problem {
	return &problem{status: http.StatusNotFound, kind: "NotFoundError", param: "model", message: "The model `" + name + "` does not exist."}
}

func internal(message string) *problem {
	return &problem{status: http.StatusInternalServerError, kind: "InternalServerError", message: message}
}

// engineDead is what requests get whose engine dies.
func engineDead() *problem {
	return internal("EngineCore encountered an issue. See stack trace (above) for the root cause.")
}

// body is the JSON of the problem as a response.
func (p *problem) body() []byte {
	if p.detail != "" {
		return append(appendString([]byte(`{"detail":`), p.detail), '}')
	}
	return p.object(`{"error":{"message":`, `,"type":`, `,"param":`, `,"code":`, "}}")
}

// event is the JSON of the problem inside a stream, where it is spaced.
func (p *problem) event() []byte {
	return p.object(`{"error": {"message": `, `, "type": `, `, "param": `, `, "code": `, "}}")
}

func (p *problem) object(message, kind, param, code, end string) []byte {
	b := appendString([]byte(message), p.message)
	b = appendString(append(b, kind...), p.kind)
	b = append(b, param...)
	if p.param == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, p.param)
	}
	b = strconv.AppendInt(append(b, code...), int64(p.status), 10)
	return append(b, end...)
}

// detail is one fault of a request's form, as pydantic tells it.
type detail struct {
	kind  string // "int_parsing", …
	place string // in the body: "'max_tokens'" or "'stop', 'str'"; "" for the body
	text  string
	input string // Python's notation of the offending value
	more  string // further entries, each with a comma before it
}

func (d detail) String() string {
	place := "'body',"
	if d.place != "" {
		place = "'body', " + d.place
	}
	return "{'type': '" + d.kind + "', 'loc': (" + place + "), 'msg': " + pythonString(d.text) + ", 'input': " + d.input + d.more + "}"
}

// malformed is the refusal of a request with faults of form; param is the
// parameter that vLLM's own checks name.
func malformed(r route, details []detail, param string) *problem {
	texts := make([]string, len(details))
	for i, d := range details {
		texts[i] = d.String()
	}
	plural := "s"
	if len(texts) == 1 {
		plural = ""
	}
	message := fmt.Sprintf("%d validation error%s:\n  %s\n\n  File \"vllm/entrypoints/serve/utils/api_utils.py\", line 40, in %s\n    POST %s [%s]",
		len(texts), plural, strings.Join(texts, "\n  "), r.function, r.path, strings.Join(texts, ", "))
	return &problem{status: http.StatusBadRequest, kind: "Bad Request", param: param, message: message}
}

// notJSON refuses a Content-Type other than JSON.
func notJSON() *problem {
	const text = "Unsupported Media Type: Only 'application/json' is allowed"
	return &problem{status: http.StatusBadRequest, kind: "Bad Request", message: "1 validation error:\n  " + text + ` ["` + text + `"]`}
}

// appendString appends a JSON string as Python writes it: only what has to be
// is escaped, and what is no UTF-8 becomes U+FFFD.
func appendString(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, text[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, text[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(b, text[start:]...), '"')
}
