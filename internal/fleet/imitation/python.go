package imitation

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// python is Python's notation of a JSON value, for error messages that quote
// their input.
func python(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var b strings.Builder
	pythonValue(&b, decoder)
	return b.String()
}

func pythonValue(b *strings.Builder, d *json.Decoder) {
	token, err := d.Token()
	if err != nil {
		b.WriteString("None")
		return
	}
	switch t := token.(type) {
	case json.Delim:
		pythonGroup(b, d, t)
	case string:
		b.WriteString(pythonString(t))
	case json.Number:
		b.WriteString(t.String())
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[t])
	default:
		b.WriteString("None")
	}
}

// pythonGroup writes a list or a dictionary, the opening of which was read.
func pythonGroup(b *strings.Builder, d *json.Decoder, open json.Delim) {
	b.WriteString(open.String())
	for i := 0; d.More(); i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if open == '{' {
			pythonValue(b, d)
			b.WriteString(": ")
		}
		pythonValue(b, d)
	}
	if end, err := d.Token(); err == nil {
		b.WriteString(end.(json.Delim).String())
	}
}

// pythonString is a text in Python's notation: in single quotes, or in double
// ones where it holds single quotes only.
func pythonString(text string) string {
	quote := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range text {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\x` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// pythonFloat is a float in Python's notation.
func pythonFloat(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	}
	return decimal(v)
}
