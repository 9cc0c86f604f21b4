package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is the token of a number or a formula. Marks are tokens of themselves:
// , ; : ( ) - . ? ! and a line break.
const value = "0"

// signs are characters and commands that are read as words.
var signs = map[string]string{
	"=": "equals", "≠": "not", "<": "than", ">": "than", "≤": "than", "≥": "than", "+": "plus", "×": "times", "·": "times", "÷": "over", "/": "over", "^": "fold", "√": "root", "±": "plus", "²": "squared", "³": "cubed", "−": "-",
	`\ne`: "not", `\neq`: "not", `\not`: "not", `\lt`: "than", `\gt`: "than", `\le`: "than", `\ge`: "than", `\leq`: "than", `\geq`: "than", `\pm`: "plus", `\times`: "times",
	`\cdot`: "times", `\neg`: "not", `\lnot`: "not", "–": "-", "—": "-",
}

// tokens cuts a text into words in lower case, values and marks.
func tokens(text string) []string {
	var all []string
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		rest := text[i+size:]
		switch {
		case unicode.IsLetter(r):
			n := wordLength(text[i:])
			all, size = append(all, strings.ReplaceAll(strings.ToLower(text[i:i+n]), "’", "'")), n
		case (r == '<' || r == '>' || r == '!') && strings.HasPrefix(rest, "="):
			all, size = append(all, map[rune]string{'<': "than", '>': "than", '!': "not"}[r]), 2
		case '0' <= r && r <= '9':
			all, size = append(all, value), digitsLength(text[i:])
		case r == '$':
			if n := strings.IndexByte(rest, '$'); n > 0 {
				all, size = append(all, value), n+2
			}
		case r == '\\':
			n := commandLength(text[i:])
			if text[i:i+n] == `\(` || text[i:i+n] == `\[` {
				end := strings.Index(text[i:], map[byte]string{'(': `\)`, '[': `\]`}[text[i+1]])
				if end > 0 {
					all, n = append(all, value), end+2
				}
			} else if word, ok := signs[text[i:i+n]]; ok {
				all = append(all, word)
			}
			size = n
		case r == '\n':
			if strings.HasPrefix(strings.TrimLeft(rest, " \t"), "\n") || len(all) > 0 && strings.Contains(".:?!", all[len(all)-1]) {
				all = append(all, "\n")
			}
		case r == '.' && (rest == "" || strings.IndexByte(" \n\t*)$", rest[0]) >= 0), r == '-' && strings.HasPrefix(rest, " ") && (i == 0 || text[i-1] == ' '):
			all = append(all, string(r))
		case (r == '/' || r == '^') && i > 0 && isLetter(text[i-1]): // of a unit, m/s^2
			size += len(rest) - len(strings.TrimLeft(rest, "{-0123456789}"))
		case strings.ContainsRune(",;:()?!", r):
			all = append(all, string(r))
		default:
			if word, ok := signs[string(r)]; ok {
				all = append(all, word)
			}
		}
		i += size
	}
	return all
}

// wordLength is the length of the word at the beginning of a text, with the
// apostrophes and hyphens between its letters.
func wordLength(text string) int {
	end := 0
	for i, r := range text {
		if unicode.IsLetter(r) {
			end = i + utf8.RuneLen(r)
		} else if i > end || !strings.ContainsRune("'’-", r) {
			break
		}
	}
	return end
}

// digitsLength is the length of the number at the beginning of a text, with letters
// behind it, as in 7th.
func digitsLength(text string) int {
	n := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsDigit(r) && !unicode.IsLetter(r) && !strings.ContainsRune(".,%", r)
	})
	if n < 0 {
		n = len(text)
	}
	return max(1, len(strings.TrimRight(text[:n], ".,")))
}

// commandLength is the length of the command of LaTeX at the beginning of a text.
func commandLength(text string) int {
	n := 1
	for n < len(text) && isLetter(text[n]) {
		n++
	}
	if n == 1 && len(text) > 1 {
		_, size := utf8.DecodeRuneInString(text[1:])
		n += size
	}
	return n
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
