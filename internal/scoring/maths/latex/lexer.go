package latex

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// lexer cuts a text into tokens.
type lexer struct {
	text      string
	pos       int
	tokens    []token
	space     bool // there was space before what comes next
	brackets  int  // open brackets other than braces
	commas    bool // commas between digits separate numbers
	thousands bool // a comma between digits was read as a separator of thousands
	grouped   int  // how many tokens there were after the last number with such a separator
	depth     int
	failed    bool
}

func (lx *lexer) emit(kind tokenKind, text string) {
	if len(lx.tokens) >= maxTokens {
		lx.failed = true
		return
	}
	switch text {
	case "(", "[", "\\{":
		lx.brackets++
	case ")", "]", "\\}":
		lx.brackets--
	}
	lx.tokens = append(lx.tokens, token{kind: kind, text: text, space: lx.space})
	lx.space = false
}

// emitRun emits a token for some letters.
func (lx *lexer) emitRun(kind tokenKind, text, run string) {
	if lx.emit(kind, text); !lx.failed {
		lx.tokens[len(lx.tokens)-1].run = run
	}
}

// rest is the text that is still to be cut.
func (lx *lexer) rest() string { return lx.text[lx.pos:] }

// skip passes over a text that comes next.
func (lx *lexer) skip(text string) bool {
	ok := strings.HasPrefix(lx.rest(), text)
	if ok {
		lx.pos += len(text)
	}
	return ok
}

// last is the n-th token from the end of what has been read, if there is one.
func (lx *lexer) last(n int) token { return at(lx.tokens, len(lx.tokens)-n) }

// run reads the text to its end, as prose rather than mathematics if it says so.
func (lx *lexer) run(prose bool) {
	for lx.pos < len(lx.text) && !lx.failed {
		c := lx.text[lx.pos]
		switch {
		case c == '$' && lx.pos+1 < len(lx.text) && isDigit(lx.text[lx.pos+1]) && strings.Count(lx.text, "$") == 1: // $5
			lx.emit(operator, "$")
			lx.pos++
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~' || c == '$':
			lx.space = true
			lx.pos++
		case isDigit(c) || c == '.' && lx.pos+1 < len(lx.text) && isDigit(lx.text[lx.pos+1]):
			lx.number()
		case lx.last(1).text == "," && lx.skip("..."): // 1, 2, ..., 9
			lx.emit(symbol, `\ldots`)
		case c == '\\':
			lx.command()
		case lx.standsAlone("mod"):
			lx.emit(operator, "mod")
			lx.pos += len("mod")
		case isLetter(c) || c >= utf8.RuneSelf:
			lx.letters(prose)
		case lx.skip("**"):
			if lx.pos < len(lx.text) && lx.afterValue() && isDigit(lx.text[lx.pos]) {
				lx.emit(operator, "^") // 2**3; else the bold of Markdown
			}
		case strings.IndexByte("<>!:", c) >= 0 && strings.HasPrefix(lx.rest()[1:], "="):
			lx.emit(operator, map[byte]string{'<': "≤", '>': "≥", '!': "≠", ':': "="}[c])
			lx.pos += 2
		case lx.skip("{:}"):
			lx.emit(operator, ":")
		default:
			lx.emit(operator, string(c))
			lx.pos++
		}
	}
}

// standsAlone reports whether a word comes next that is no part of a longer one.
func (lx *lexer) standsAlone(word string) bool {
	rest, ok := strings.CutPrefix(lx.rest(), word)
	return ok && (rest == "" || !isLetter(rest[0])) && (lx.pos == 0 || !isLetter(lx.text[lx.pos-1]))
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// afterValue reports whether the last token ends a number, a variable or a group.
func (lx *lexer) afterValue() bool {
	t := lx.last(1)
	return t.kind == number || t.kind == symbol || t.kind == word || t.kind == operator && strings.Contains(" ) } ] % ° ∘ ! ", " "+t.text+" ")
}

// command reads what begins with a backslash.
func (lx *lexer) command() {
	rest := lx.text[lx.pos+1:]
	n := 0
	for n < len(rest) && isLetter(rest[n]) {
		n++
	}
	if n == 0 {
		lx.escape(rest)
		return
	}
	name := rest[:n]
	lx.pos += 1 + n
	look := words.LookOf(name)
	switch {
	case name == "begin" || name == "end":
		environment := strings.TrimSuffix(strings.TrimSpace(lx.argument()), "*")
		lx.emit(operator, `\`+name+environment)
	case look == words.Font:
		lx.upright(name)
	case look != 0 || name == "cancel":
		if look == words.Hidden {
			lx.argument()
		}
		if name == "quad" || name == "qquad" {
			lx.space = true
		}
		if name == "left" || name == "right" {
			lx.skip(".") // no bracket
		}
	case len(name) == 1 && strings.Contains("ZNQRC", name): // \R, as many define it
		lx.emit(operator, `\mathbb`)
		lx.emit(symbol, name)
	case name == "not":
		lx.not()
	case constants[name] != "":
		lx.emit(symbol, constants[name])
	case functions[name] != "":
		lx.emit(function, functions[name])
	case commands[name] != "":
		lx.emit(operator, commands[name])
	default:
		if letter, ok := greek(name); ok {
			lx.emit(symbol, letter)
			return
		}
		lx.emit(operator, `\`+name) // which no answer has
	}
}

// not reads what \not negates.
func (lx *lexer) not() {
	rest := strings.TrimLeft(lx.rest(), " ")
	for sign, negated := range map[string]string{"=": "≠", `\in`: "∉"} {
		if after, ok := strings.CutPrefix(rest, sign); ok && (after == "" || sign == "=" || !isLetter(after[0])) {
			lx.pos = len(lx.text) - len(after)
			lx.emit(operator, negated)
			return
		}
	}
	lx.failed = true
}

// escape reads a backslash with what is not a letter after it.
func (lx *lexer) escape(rest string) {
	lx.pos += min(2, 1+len(rest))
	if rest == "" {
		return
	}
	switch c := rest[0]; c {
	case '{', '}', '|', '%', '$', '&', '\\':
		if c == '\\' && doubled.MatchString(rest[1:]) {
			lx.pos--
			return
		}
		if commands[string(c)] == `\\` && strings.HasPrefix(rest, `\[`) { // the space after a row: \\[2pt]
			if end := strings.IndexByte(rest, ']'); end > 0 && end < 12 && strings.HasSuffix(rest[:end], "pt") {
				lx.pos += end
			}
		}
		lx.emit(operator, commands[string(c)])
	case '!':
	case ',', ';', ':', ' ', '\n', '>', '(', ')', '[', ']', '/':
		lx.space = true
	default:
		if c >= utf8.RuneSelf || isDigit(c) {
			lx.pos--
			return
		}
		lx.emit(operator, string(c))
	}
}

// doubled matches what is behind a backslash that is doubled by mistake: a line break is hardly
// followed by these names.
var doubled = regexp.MustCompile(`^(?:[dt]?frac|sqrt|text|pi|cdot|times|infty|left|right|boxed)(?:[^a-zA-Z]|$)`)

// argument skips a group in braces, or nothing, and is its content.
func (lx *lexer) argument() string {
	rest := strings.TrimLeft(lx.rest(), " ")
	if !strings.HasPrefix(rest, "{") {
		return ""
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				lx.pos = len(lx.text) - len(rest) + i + 1
				return rest[1:i]
			}
		}
	}
	lx.failed = true
	return ""
}

// upright reads the argument of \text, \mathrm and the like in place.
func (lx *lexer) upright(name string) {
	if !strings.HasPrefix(strings.TrimLeft(lx.rest(), " "), "{") {
		return // \mathrm x
	}
	content := lx.argument()
	if lx.depth++; lx.depth > maxDepth {
		lx.failed = true
	}
	prose := strings.HasPrefix(name, "text") || strings.HasSuffix(name, "box") || name == "emph" || name == "mathrm"
	inner := strings.TrimSpace(content)
	if name == "mathrm" && (inner == "i" || inner == "e" || inner == "d") {
		prose = false
	}
	if strings.HasPrefix(name, "b") || name == "mathbf" {
		if len(inner) == 1 && isLetter(inner[0]) && (lx.last(1).text == "×" || strings.HasPrefix(strings.TrimLeft(lx.rest(), " "), `\times`)) {
			lx.emit(symbol, `\vec `+inner) // \mathbf{a} \times \mathbf{b}
			return
		}
	}
	text, pos := lx.text, lx.pos
	lx.text, lx.pos = content, 0
	lx.space = lx.space || strings.HasPrefix(content, " ")
	lx.run(prose)
	lx.text, lx.pos = text, pos
	lx.depth--
}
