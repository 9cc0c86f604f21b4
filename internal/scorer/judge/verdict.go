package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// verdict is what a judge says.
type verdict struct {
	correct bool
	answer  string // that it found in the response; "" for none
}

// parse reads a judge's reply, and tells whether it holds a verdict: a JSON
// object at its end with the field correct, or a line "correct: yes" or "correct:
// no", in any case and markup, of which the last one counts.
func parse(reply string) (verdict, bool) {
	if i := strings.LastIndex(reply, "</think>"); i >= 0 { // of a server that does not separate it
		reply = reply[i+len("</think>"):]
	}
	if v, ok := parseObject(reply); ok {
		return v, true
	}
	var v verdict
	found := false
	for line := range strings.Lines(reply) {
		if value, is := field(line, "extracted_final_answer"); is {
			v.answer = answer(value)
		}
		if value, is := field(line, "correct"); is {
			if yes, ok := yesOrNo(value); ok {
				v.correct, found = yes, true
			}
		}
	}
	return v, found
}

// mostObjects bounds how many places of a reply are tried as the beginning of a
// JSON object.
const mostObjects = 8

// parseObject reads a JSON object that ends a reply, in a code fence or not.
func parseObject(reply string) (verdict, bool) {
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
			if v, ok := o.verdict(); ok {
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
}

func (o object) verdict() (v verdict, ok bool) {
	switch given := o.Answer.(type) {
	case nil:
	case string:
		v.answer = answer(strings.TrimSpace(given))
	default:
		v.answer = fmt.Sprint(given)
	}
	switch correct := o.Correct.(type) {
	case string:
		v.correct, ok = yesOrNo(strings.TrimSpace(correct))
	case bool:
		v.correct, ok = correct, true
	}
	return v, ok
}

// field is the value of a field in a line such as `**correct:** yes`, `3. correct:
// yes` or `"correct": "yes",`.
func field(line, name string) (value string, is bool) {
	line = strings.TrimLeft(line, " \t*_\"'`#>-[{0123456789.)")
	if len(line) < len(name) || !strings.EqualFold(line[:len(name)], name) {
		return "", false
	}
	line = strings.TrimLeft(line[len(name):], " \t*_\"'`]")
	value, is = strings.CutPrefix(line, ":")
	return strings.Trim(value, " \t\r\n*_\"'`,[]}"), is
}

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
