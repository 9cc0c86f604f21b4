package latex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/scoring/words"
)

// letters reads a run of letters: words, names of functions, or variables.
func (lx *lexer) letters(prose bool) {
	start := lx.pos
	for lx.pos < len(lx.text) {
		r, size := utf8.DecodeRuneInString(lx.rest())
		next, _ := utf8.DecodeRuneInString(lx.text[lx.pos+size:])
		if !unicode.IsLetter(r) && !(prose && r == '-' && lx.pos > start && unicode.IsLetter(next)) {
			break
		}
		lx.pos += size
	}
	run := lx.text[start:lx.pos]
	if run == "" { // some other character
		_, size := utf8.DecodeRuneInString(lx.text[start:])
		lx.pos += size
		lx.emit(operator, lx.text[start:lx.pos])
		return
	}
	lower := strings.ToLower(run)
	switch {
	case lower == "and":
		lx.emitRun(operator, "∧", run)
	case lower == "or":
		lx.emitRun(operator, "∨", run)
	case (lower == "p" || lower == "a") && lx.afterValue() && (lx.skip(".m") || lx.skip(".M")):
		lx.skip(".") // p.m.
		lx.emit(word, lower+"m")
	case run == "x" && lx.afterValue() && strings.HasPrefix(strings.TrimLeft(lx.rest(), " "), "10^"): // 2 x 10^3
		lx.emit(operator, "*")
	case prose && (len(run) > 1 || lx.afterValue() || lx.inUnit()):
		lx.named(run, prose)
	case len(run) == 1 && strings.Contains("msghLNJWVK", run) && lx.lastUnit():
		lx.emitRun(word, lower, run)
	case len(run) == 1:
		lx.letter(run)
	default:
		lx.named(run, prose)
	}
}

// lastUnit reports whether the text read may be the unit of a number at the end: a space is
// between them, or the number has separators of thousands and so is no coefficient.
func (lx *lexer) lastUnit() bool {
	if lx.last(1).kind != number || !lx.space && lx.grouped != len(lx.tokens) {
		return false
	}
	rest := strings.TrimRight(lx.rest(), " .$")
	rest = strings.TrimSuffix(strings.TrimSuffix(rest, `\)`), `\]`)
	rest = strings.TrimRight(strings.TrimRight(strings.TrimRight(rest, "}"), "23"), "^{")
	return rest == "" || len(rest) < 5 && rest[0] == '/' && isLetter(rest[len(rest)-1])
}

// inUnit reports whether a word begins the numerator or denominator of a fraction that is a
// unit: the numerator behind a number, or the denominator below other words.
func (lx *lexer) inUnit() bool {
	return lx.last(1).text == "{" && (lx.last(2).text == `\frac` && lx.last(3).kind == number || lx.last(2).text == "}" && lx.last(3).kind == word)
}

// named reads a run of several letters, or one that is a unit.
func (lx *lexer) named(run string, prose bool) {
	lower := strings.ToLower(run)
	isUnit := isUnit(lower)
	if unit := prefixed(run); unit != "" {
		lower, isUnit = unit, isUnit || lx.lastUnit()
	}
	switch {
	case constants[run] != "" && len(run) > 1:
		lx.emit(symbol, constants[run])
	case functions[run] != "" && !(isUnit && lx.measures()):
		lx.emit(function, functions[run])
	case prose, isUnit && lx.afterValue(), !product(run) && !(len(run) == 2 && run != "is" && lx.besideSign()):
		if rest, name := functionIn(run); name != "" && !words.Known(lower) && run[0] >= 'a' && !prose && !isUnit {
			lx.emit(function, functions[name])
			lx.spread(rest)
			return
		}
		lx.emitRun(word, lower, run)
	default:
		lx.spread(run)
	}
}

// measures reports whether a name stands where a unit does: 5 min, m/min, but not 5 min(1, 2).
func (lx *lexer) measures() bool {
	return !strings.HasPrefix(strings.TrimLeft(lx.rest(), " "), "(") && (lx.last(1).kind == number || lx.last(1).text == "/" && lx.last(2).kind == word)
}

// besideSign reports whether the letters read are a factor rather than a word: at in v + at.
func (lx *lexer) besideSign() bool {
	rest, t := strings.TrimLeft(lx.rest(), " "), lx.last(1)
	return rest != "" && strings.IndexByte("+-*/^", rest[0]) >= 0 || t.kind == operator && strings.Contains("+-*/^", t.text)
}

// functionIn finds the name of a function at the beginning of a run whose rest
// are variables: sinx, cosxy.
func functionIn(run string) (rest, name string) {
	for length := min(5, len(run)-1); length >= max(2, len(run)-2); length-- {
		if functions[run[:length]] != "" && product("x"+run[length:]) {
			return run[length:], run[:length]
		}
	}
	return "", ""
}

// spread emits a run as a product of variables.
func (lx *lexer) spread(run string) {
	for _, r := range run {
		lx.letter(string(r))
	}
}

func (lx *lexer) letter(letter string) {
	if c, ok := constants[letter]; ok {
		letter = c
	}
	lx.emit(symbol, letter)
}

// shortWords are words that could be products of variables, but are not.
const shortWords = " is the so we of to if for are has yes no not all set men red odd day one two six ten can may its it be by as at on an in us " +
	"get let sum our out via was had but any now see use way put how why who did too she he you me my do go up nor end add per ore uur rpm psi atm ppm bpm pts cal kwh yen won new old top big got lot off own say try none ans usd eur dne "

// product reports whether a run of letters is a product of variables rather than a word.
func product(run string) bool {
	if strings.ContainsFunc(run, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	if len(run) <= 3 {
		return (len(run) == 2 || run[0] >= 'a' || run[1] < 'a') && !strings.Contains(shortWords, " "+strings.ToLower(run)+" ")
	}
	return strings.Trim(run, "abcd") == "" || strings.Trim(run, "pqrstuvwxyz") == "" || strings.Trim(run, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && len(run) <= 4
}
