package code

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// SameOutput tells whether a program printed what was expected, by the rules of
// LiveCodeBench: both without white space at their ends, line by line, each
// without white space at its ends. Lines are the same as texts, or as equally
// many decimal numbers of the same values: 1.0 is 1, but 0.3333 is not 1/3.
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
	numbersGot, numbersWant := strings.Fields(got), strings.Fields(want)
	if len(numbersGot) != len(numbersWant) {
		return false
	}
	for i := range numbersGot {
		a, okGot := readDecimal(numbersGot[i])
		b, okWant := readDecimal(numbersWant[i])
		if !okGot || !okWant || a != b {
			return false
		}
	}
	return true
}

// decimal is a number, each in one way only: an integer without zeros at its
// ends, times a power of ten.
type decimal struct {
	negative bool
	digits   string // "" for zero
	exponent int64
}

// readDecimal reads a number like -12.50e3. It takes time in proportion to the
// text, whatever its exponent.
func readDecimal(text string) (decimal, bool) {
	var d decimal
	d.negative = strings.HasPrefix(text, "-")
	if d.negative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent, err := strconv.ParseInt(text[at+1:], 10, 32)
		if err != nil {
			return d, false
		}
		d.exponent, text = exponent, text[:at]
	}
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" && part == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(part, "0123456789") != "" {
		return d, false
	}
	digits := strings.TrimLeft(whole+part, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.exponent += int64(len(digits)-len(d.digits)) - int64(len(part))
	return d, true
}

// SameValue tells whether two JSON texts are values that Python holds equal:
// integers, floating-point numbers and truth values by their exact values, as
// true is 1 there, lists in order, and objects as dictionaries. A text that is
// no JSON equals nothing.
func SameValue(got, want string) bool {
	a, okGot := readValue(got)
	b, okWant := readValue(want)
	return okGot && okWant && equal(a, b)
}

func readValue(text string) (any, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	return value, decoder.Decode(&value) == nil
}

func equal(a, b any) bool {
	if x, is := number(a); is {
		y, are := number(b)
		return are && x == y
	}
	switch a := a.(type) {
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, is := b.(map[string]any)
		if !is || len(a) != len(b) {
			return false
		}
		for key := range a {
			if other, there := b[key]; !there || !equal(a[key], other) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false // not to be compared by ==
	}
	return a == b // texts, and null
}

// number writes the value of a number in one way only: integers with all their
// digits, the floating-point ones among them as well.
func number(value any) (string, bool) {
	switch v := value.(type) {
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case json.Number:
		text := string(v)
		if !strings.ContainsAny(text, ".eE") {
			if text == "-0" {
				return "0", true
			}
			return text, true
		}
		f, _ := strconv.ParseFloat(text, 64) // as in Python, infinite if it is too large
		exact := new(big.Float).SetFloat64(f)
		if exact.IsInt() {
			integer, _ := exact.Int(nil)
			return integer.String(), true
		}
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
	return "", false
}
