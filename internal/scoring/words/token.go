package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is the token of a number or a formula.
const value = "0"

// Word is the end of the word at i: letters, with apostrophes and hyphens between.
func Word(s string, i int) (end int) {
	for end = i; end < len(s); {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !unicode.IsLetter(r) && !(end > i && joint(r) && startsWord(s[end+n:])) {
			break
		}
		end += n
	}
	return end
}

// Before is the word before i, with spaces and markup between, and where it begins; "" if
// something else is there.
func Before(s string, i int) (word string, from int) {
	for i > 0 && strings.IndexByte(" \t*_([\"$", s[i-1]) >= 0 {
		i--
	}
	for from = i; from > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:from])
		if !unicode.IsLetter(r) && !(from < i && joint(r) && endsWord(s[:from-n])) {
			break
		}
		from -= n
	}
	return s[from:i], from
}

func joint(r rune) bool { return r == '\'' || r == '’' || r == '-' }

func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

func endsWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r)
}

// signs are characters and commands that are read as words.
var signs = ByWord(map[string]string{
	"equals": "=", "not": `≠ != \ne \neq \not`, "than": `< > ≤ ≥ <= >= \lt \gt \le \ge \leq \geq`, "plus": `+ ± \pm`, "times": `× · \times \cdot`, "over": "÷ /",
	"fold": "^", "root": "√", "squared": "²", "cubed": "³", "-": "– — −",
})

// tokens cuts a text into words in lower case, values, and the marks , ; : ( ) - . ? !
// and a line break that ends a part.
func tokens(text string) (all []string) {
	for i := 0; i < len(text); {
		token, to := tokenAt(text, i)
		if token == "\n" && to == i+1 && (len(all) == 0 || !strings.Contains(".:?!", all[len(all)-1])) {
			token = "" // the sentence goes on
		}
		if token != "" {
			all = append(all, token)
		}
		i = to
	}
	return all
}

// tokenAt is the token at i, "" for what says nothing, and where it ends.
func tokenAt(text string, i int) (token string, to int) {
	rest := text[i:]
	_, size := utf8.DecodeRuneInString(rest)
	if d := delimiter(rest); d >= 0 {
		begin, end := delimiters[d][0], delimiters[d][1]
		if n := strings.Index(rest[len(begin):], end); n > 0 || n == 0 && begin != "$" {
			return value, i + len(begin) + n + len(end)
		}
	}
	switch c := rest[0]; {
	case c == '\\' && len(rest) > 1:
		size = 2
		for size < len(rest) && startsWord(rest[1:2]) && startsWord(rest[size:size+1]) {
			size++
		}
	case startsWord(rest):
		to = Word(text, i)
		if to == i+1 && to < len(text) && (text[to] == '/' || text[to] == '^') { // m/s, s^{-1}
			return strings.ToLower(rest[:1]), len(text) - len(strings.TrimLeft(text[to+1:], "-{}0123456789"))
		}
		return strings.ReplaceAll(strings.ToLower(text[i:to]), "’", "'"), to
	case '0' <= c && c <= '9':
		run := strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune("0123456789%.,/", r) })
		return value, i + len(strings.TrimRight(rest[:len(rest)-len(run)], ".,/"))
	case c == '\n':
		space := rest[:len(rest)-len(strings.TrimLeft(rest, " \t\n\r\f"))]
		return "\n", i + strings.LastIndexByte(space, '\n') + 1
	case len(rest) > 1 && rest[1] == '=' && strings.IndexByte("<>!", c) >= 0:
		size = 2
	case c == '.' && len(rest) > 1 && strings.IndexByte(" \n\t*)$", rest[1]) < 0,
		c == '-' && (i > 0 && text[i-1] != ' ' || !strings.HasPrefix(rest[1:], " ")):
		return "", i + 1
	case strings.IndexByte(",;:()?!.-", c) >= 0:
		return rest[:1], i + 1
	}
	return signs[rest[:size]], i + size
}

// startsVariable reports whether a text begins with a letter by itself that is no unit.
func startsVariable(text string) bool {
	return text != "" && strings.IndexByte("bcdefijknopqrtuvwxyzK", text[0]) >= 0 && !startsWord(text[1:])
}

// ends reports whether a token ends a sentence.
func ends(token string) bool { return token == "." || token == "?" || token == "!" || token == ";" }

// isBreak reports whether a token begins another part of a sentence.
func isBreak(token string) bool {
	return len(token) == 1 && strings.Contains(",:()-\n", token) || role(token) == Breaks
}

// part is the length of the part of a sentence that some tokens begin with.
func part(all []string) int {
	for i, token := range all {
		if ends(token) || isBreak(token) || role(token) == Turns {
			return i
		}
	}
	return len(all)
}

// anyOf reports whether one of some tokens has one of some roles.
func anyOf(all []string, of ...Class) bool {
	return slices.ContainsFunc(all, func(t string) bool { return slices.Contains(of, role(t)) })
}

// isNumber reports whether a token is a number, in digits or as a word.
func isNumber(token string) bool {
	_, named := Number(token)
	return named || token == value
}
