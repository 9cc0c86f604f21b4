package maths

import "strings"

// sameWords reports whether two keys are the same text. Upper and lower case differ only
// where there are commands: \Pi is not \pi.
func sameWords(a, b string) bool {
	if strings.Contains(a, `\`) {
		return unquoted(a) == unquoted(b)
	}
	return strings.EqualFold(unquoted(a), unquoted(b))
}

// unquoted takes quotation marks and parentheses off a text.
func unquoted(s string) string {
	if s != "" && strings.IndexByte("\"'`", s[0]) >= 0 { // else the marks are of feet and inches
		s = strings.Trim(s, "\"'`")
	}
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		s = s[1 : len(s)-1]
	}
	return s
}

// isLetter reports whether a key is the letter of a choice, perhaps in parentheses.
func isLetter(k string) bool {
	k = strings.Trim(k, "()")
	return len(k) == 1 && 'A' <= k[0] && k[0] <= 'J'
}

// lettered reads a text, with its key, that gives the letter of a choice and then the choice.
func lettered(text, k string) (letter, rest string, ok bool) {
	bare := strings.TrimPrefix(k, "(")
	if len(bare) < 3 || !isLetter(bare[:1]) {
		return "", "", false
	}
	mark := bare[1]
	if mark != ')' && (mark != ':' && mark != '.' || len(bare) != len(k)) {
		return "", "", false
	}
	// More brackets belong to a point A, or to a product.
	other := strings.TrimLeft(bare[2:], " ")
	if strings.IndexByte("^_!(+-*/=,", other[0]) >= 0 {
		return "", "", false
	}
	for _, op := range []string{"and", "or"} { // (A) and (B)
		if other, found := strings.CutPrefix(other, op); found && isLetter(other) {
			return "", "", false
		}
	}
	_, rest, _ = strings.Cut(text, string(mark))
	rest = strings.TrimRight(strings.TrimLeft(rest, "} "), " $.")
	if strings.Count(rest, "}") > strings.Count(rest, "{") {
		rest = strings.TrimSuffix(rest, "}") // of the \text around both
	}
	return bare[:1], rest, true
}
