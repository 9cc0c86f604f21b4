package code

import (
	"encoding/json"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
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
		x, okGot := readDecimal(a)
		y, okWant := readDecimal(b)
		if !okGot || !okWant || x != y {
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

// SameValue reports whether two JSON texts are values that Python holds equal: integers,
// floating-point numbers and truth values by their exact values, as true is 1 there, lists
// in order, and objects as dictionaries. A text that is no JSON equals nothing. got is read
// only as far as it is the same, and takes no more memory than its longest text.
func SameValue(got, want string) bool {
	value, ok := readValue(want)
	if !ok {
		return false
	}
	decoder := jsontext.NewDecoder(strings.NewReader(got), tolerant)
	if !same(decoder, value) {
		return false
	}
	_, err := decoder.ReadToken()
	return err == io.EOF
}

// tolerant has texts with characters that are none, as Python writes half of a pair.
var tolerant = jsontext.AllowInvalidUTF8(true)

func readValue(text string) (any, bool) {
	if !jsontext.Value(text).IsValid(tolerant) {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	return value, decoder.Decode(&value) == nil
}

// same reports whether the next value equals the wanted one.
func same(got *jsontext.Decoder, want any) bool {
	token, err := got.ReadToken()
	if err != nil {
		return false
	}
	switch token.Kind() {
	case '[':
		want, is := want.([]any)
		return is && sameList(got, want)
	case '{':
		want, is := want.(map[string]any)
		return is && sameObject(got, want)
	case '"':
		text, is := want.(string)
		return is && text == token.String()
	case 'n':
		return want == nil
	case 't', 'f', '0':
		x, isNumber := number(want)
		return isNumber && x == numeral(token.String())
	}
	return false // the end of a list
}

func sameList(got *jsontext.Decoder, want []any) bool {
	for _, value := range want {
		if !same(got, value) {
			return false
		}
	}
	end, err := got.ReadToken()
	return err == nil && end.Kind() == ']'
}

// sameObject has names once each, which the decoder sees to.
func sameObject(got *jsontext.Decoder, want map[string]any) bool {
	for range want {
		name, err := got.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		value, there := want[name.String()]
		if !there || !same(got, value) {
			return false
		}
	}
	end, err := got.ReadToken()
	return err == nil && end.Kind() == '}'
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
