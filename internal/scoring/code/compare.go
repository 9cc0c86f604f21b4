package code

import (
	"encoding/json"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// SameOutput reports whether a program printed the expected text, by the rules of
// LiveCodeBench: both without white space at their ends, line by line, each without white
// space at its ends. Lines are the same as texts, or as equally many decimal numbers of the
// same values: 1.0 is 1, but 0.3333 is not 1/3.
func SameOutput(got, want string) bool {
	got, want = strings.TrimSpace(got), strings.TrimSpace(want)
	for {
		lineGot, restGot, moreGot := strings.Cut(got, "\n")
		lineWant, restWant, moreWant := strings.Cut(want, "\n")
		if moreGot != moreWant || !sameLine(strings.TrimSpace(lineGot), strings.TrimSpace(lineWant)) {
			return false
		}
		if !moreGot {
			return true
		}
		got, want = restGot, restWant
	}
}

func sameLine(got, want string) bool {
	if got == want {
		return true
	}
	for got != "" && want != "" {
		var a, b string
		a, got = firstField(got)
		b, want = firstField(want)
		if !decimal.MatchString(a) || !decimal.MatchString(b) || a != b && valueOf(a).Cmp(valueOf(b)) != 0 {
			return false
		}
	}
	return got == want
}

// firstField gives the first field of a text that begins with one, and the others.
func firstField(text string) (first, rest string) {
	at := strings.IndexFunc(text, unicode.IsSpace)
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimLeftFunc(text[at:], unicode.IsSpace)
}

// decimal is a number that is compared by its value, which an exponent keeps small enough.
var decimal = regexp.MustCompile(`^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?$`)

// valueOf is the value of a decimal number.
func valueOf(decimal string) *big.Rat {
	value, _ := new(big.Rat).SetString(decimal)
	return value
}

// SameValue reports whether two JSON texts are values that Python holds equal: integers,
// floating-point numbers and truth values by their exact values, as true is 1 there, lists
// in order, and objects as dictionaries. A text that is no JSON equals nothing. Texts with other
// numbers of brackets and commas differ, and are not read: a result may have any size.
func SameValue(got, want string) bool {
	for _, mark := range [...]string{"[", "{", ","} {
		if strings.Count(got, mark) != strings.Count(want, mark) {
			return false
		}
	}
	a, okGot := readValue(got)
	b, okWant := readValue(want)
	return okGot && okWant && same(a, b)
}

// readValue reads JSON, and numbers as they are written.
func readValue(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return value, err == io.EOF
}

// same reports whether two values are equal.
func same(a, b any) bool {
	x, okA := number(a)
	y, okB := number(b)
	if okA || okB {
		return okA && okB && x == y
	}
	switch a := a.(type) {
	case []any:
		b, is := b.([]any)
		return is && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, is := b.(map[string]any)
		return is && maps.EqualFunc(a, b, same)
	case string:
		b, is := b.(string)
		return is && a == b
	}
	return a == nil && b == nil
}

// number is the numeral of a value that is a number.
func number(value any) (string, bool) {
	switch v := value.(type) {
	case bool:
		return numeral(strconv.FormatBool(v)), true
	case json.Number:
		return numeral(string(v)), true
	}
	return "", false
}

// numeral writes the value of a number or truth value in JSON in one way only:
// integers with all their digits, the floating-point ones among them as well.
func numeral(text string) string {
	switch {
	case text == "true":
		return "1"
	case text == "false", text == "-0":
		return "0"
	case !strings.ContainsAny(text, ".eE"):
		return text
	}
	f, _ := strconv.ParseFloat(text, 64) // as in Python, infinite if it is too large
	exact := new(big.Float).SetFloat64(f)
	if exact.IsInt() {
		integer, _ := exact.Int(nil)
		return integer.String()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
