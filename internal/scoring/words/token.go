package words

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is the token of a number or a formula.
const value = "0"

var (
	// variable is a letter by itself that is no unit.
	variable = regexp.MustCompile(`^[bcdefijknopqrtuvwxyzK](?:\PL|$)`)
	// piece is what tokens are made of: a formula, a command, the power or the quotient of
	// a unit, a word, a number, a sign of two characters, or a character.
	piece = regexp.MustCompile(`(?s)\$[^$]+\$|\\\(.*?\\\)|\\\[.*?\\\]|\\[a-zA-Z]+|\\.|[a-zA-Z][/^][-{}\d]*|\pL+(?:['’-]\pL+)*|\d[\d\pL%]*(?:[.,][\d\pL%]+)*|[<>!]=|\n\s*\n|.`)
)

// signs are characters and commands that are read as words.
var signs = map[string]string{
	"=": "equals", "≠": "not", "<": "than", ">": "than", "≤": "than", "≥": "than", "<=": "than", ">=": "than", "!=": "not", "+": "plus", "±": "plus", "×": "times", "·": "times",
	"÷": "over", "/": "over", "^": "fold", "√": "root", "²": "squared", "³": "cubed", "–": "-", "—": "-", "−": "-",
	`\ne`: "not", `\neq`: "not", `\not`: "not", `\lt`: "than", `\gt`: "than", `\le`: "than", `\ge`: "than", `\leq`: "than", `\geq`: "than", `\pm`: "plus", `\times`: "times",
	`\cdot`: "times",
}

// tokens cuts a text into words in lower case, values, and the marks , ; : ( ) - . ? !
// and a line break that ends a part.
func tokens(text string) (all []string) {
	for _, at := range piece.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		sign, ok := signs[found]
		letter, _ := utf8.DecodeRuneInString(found)
		switch first := found[0]; {
		case ok:
			all = append(all, sign)
		case unicode.IsLetter(letter):
			all = append(all, strings.TrimRight(strings.ReplaceAll(strings.ToLower(found), "’", "'"), "/^-{}0123456789"))
		case '0' <= first && first <= '9', len(found) > 2 && (first == '$' || strings.HasPrefix(found, `\(`) || strings.HasPrefix(found, `\[`)):
			all = append(all, value)
		case first == '\n':
			if len(found) > 1 || len(all) > 0 && strings.Contains(".:?!", all[len(all)-1]) {
				all = append(all, "\n")
			}
		case first == '.' && at[1] < len(text) && strings.IndexByte(" \n\t*)$", text[at[1]]) < 0,
			first == '-' && (at[0] > 0 && text[at[0]-1] != ' ' || !strings.HasPrefix(text[at[1]:], " ")):
		case strings.Contains(",;:()?!.-", found):
			all = append(all, found)
		}
	}
	return all
}

// ends tells whether a token ends a sentence.
func ends(token string) bool { return token == "." || token == "?" || token == "!" || token == ";" }

// isBreak tells whether a token begins another part of a sentence.
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

// anyOf tells whether one of some tokens has one of some roles.
func anyOf(all []string, of ...Class) bool {
	return slices.ContainsFunc(all, func(t string) bool { return slices.Contains(of, role(t)) })
}

// isNumber tells whether a token is a number, in digits or as a word.
func isNumber(token string) bool {
	_, named := Number(token)
	return named || token == value
}
