package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"speceval/internal/ending"
	"speceval/internal/scoring"
)

// verdict is what a judge says.
type verdict struct {
	reward float64
	answer string // that it found in the response; "" for none
}

// field is where a reply has its verdict.
type field struct {
	name   string
	in     func(o object) any // its value in a reply that is JSON
	read   func(value string) (reward float64, ok bool)
	strict bool // the last line of it counts, though it cannot be read
}

// parse reads a judge's reply, and tells whether it holds a verdict: a JSON
// object at its end with the field, or a line of it such as "correct: yes", in any
// case and markup, of which the last one counts.
func (f *field) parse(reply string) (verdict, bool) {
	reply, _ = ending.AfterThinking(reply, ending.Finished, false) // of a server that does not separate it
	if v, ok := f.parseObject(reply); ok {
		return v, true
	}
	var v verdict
	found := false
	for line := range strings.Lines(reply) {
		if value, is := valueOf(line, "extracted_final_answer"); is {
			v.answer = answer(value)
		}
		if value, is := valueOf(line, f.name); is {
			if reward, ok := f.read(value); ok || f.strict {
				v.reward, found = reward, ok
			}
		}
	}
	return v, found
}

// mostObjects bounds how many places of a reply are tried as the beginning of a
// JSON object.
const mostObjects = 8

// parseObject reads a JSON object that ends a reply, in a code fence or not.
func (f *field) parseObject(reply string) (verdict, bool) {
	text := strings.TrimRight(reply, "` \t\r\n")
	from := 0
	for range mostObjects {
		next := strings.IndexByte(text[from:], '{')
		if next < 0 {
			break
		}
		from += next
		var o object
		if json.Unmarshal([]byte(text[from:]), &o) == nil {
			if v, ok := o.verdict(f); ok {
				return v, true
			}
		}
		from++
	}
	return verdict{}, false
}

// object is a verdict in JSON.
type object struct {
	Answer  any `json:"extracted_final_answer"`
	Correct any `json:"correct"`
	Grade   any `json:"grade"`
}

// verdict is that of the field.
func (o object) verdict(f *field) (v verdict, ok bool) {
	switch given := o.Answer.(type) {
	case nil:
	case string:
		v.answer = answer(strings.TrimSpace(given))
	default:
		v.answer = fmt.Sprint(given)
	}
	v.reward, ok = f.read(textOf(f.in(o)))
	return v, ok
}

// textOf is a value of JSON as a line has it; "" for those that no field has.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[value]
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return ""
}

// valueOf is the value of a field in a line such as `**correct:** yes`, `3. correct:
// yes` or `"correct": "yes",`.
func valueOf(line, name string) (value string, is bool) {
	line = strings.TrimLeft(line, " \t*_\"'`#>-[{0123456789.)")
	if len(line) < len(name) || !strings.EqualFold(line[:len(name)], name) {
		return "", false
	}
	line = strings.TrimLeft(line[len(name):], " \t*_\"'`]")
	value, is = strings.CutPrefix(line, ":")
	return strings.Trim(value, " \t\r\n*_\"'`,[]}"), is
}

// correct is the field of a verdict that is yes or no.
var correct = field{name: "correct", in: func(o object) any { return o.Correct }, read: func(value string) (float64, bool) {
	yes, ok := yesOrNo(value)
	return scoring.PassFail(yes), ok
}}

// yesOrNo reads the value of the field correct: one of the two words, alone or
// with a remark. "Yes or no" is neither, nor is "yes if they mean the same", as
// the prompt puts it.
func yesOrNo(value string) (yes, ok bool) {
	word, rest := value, ""
	if end := strings.IndexFunc(value, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		word, rest = value[:end], strings.TrimLeft(value[end:], " \t*\"'`")
	}
	yes = strings.EqualFold(word, "yes")
	return yes, (yes || strings.EqualFold(word, "no")) && isRemark(rest)
}

// isRemark tells whether a text may follow a verdict without changing it.
func isRemark(text string) bool {
	if text == "" || strings.ContainsRune(".,;:!(-–—", []rune(text)[0]) {
		return true
	}
	word, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"because", "since", "as", "for"}, strings.ToLower(word))
}

// answer is the answer that a judge found.
func answer(value string) string {
	if strings.EqualFold(strings.TrimRight(value, "."), "none") {
		return ""
	}
	return value
}
