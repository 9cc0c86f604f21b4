package latex

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/algebra"
)

// number reads digits with a point, separators of thousands, a repeating part
// and an exponent, as far as there are any.
func (lx *lexer) number() {
	listed := lx.pos > 1 && lx.text[lx.pos-1] == ',' && isDigit(lx.text[lx.pos-2])
	digits := lx.digits()
	if len(digits) >= 1 && len(digits) <= 3 {
		digits += lx.groups(lx.commas || lx.brackets > 0 || listed)
	}
	if n := lx.point(); n > 0 {
		lx.pos += n
		digits += "." + lx.digits() + lx.overlined()
	}
	if repeating, ok := lx.recurring(digits); ok {
		lx.emit(number, repeating)
		return
	}
	if m := scientific.FindStringSubmatch(lx.rest()); m != nil { // 3.2e5
		lx.pos += len(m[1])
		digits += m[1]
	}
	lx.failed = lx.failed || len(digits) > maxDigits
	lx.emit(number, digits)
}

func (lx *lexer) digits() string {
	rest := lx.rest()
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	lx.pos += n
	return rest[:n]
}

// point is the length of a decimal point that comes next, with digits behind it. {,} is one
// if these are no group of three, for such groups have been read.
func (lx *lexer) point() int {
	rest := lx.rest()
	for _, mark := range [...]string{".", "{.}", "{,}"} {
		behind, ok := strings.CutPrefix(rest, mark)
		n := len(behind) - len(strings.TrimLeft(behind, "0123456789"))
		if ok && (n > 0 && (mark != "{,}" || n != 3 && lx.brackets == 0) || mark == "." && bar.MatchString(behind)) {
			return len(mark)
		}
	}
	return 0
}

// overlined reads the repeating digits below a bar or a dot, if there are any.
func (lx *lexer) overlined() string {
	m := bar.FindStringSubmatch(lx.rest())
	if m == nil {
		return ""
	}
	lx.pos += len(m[1])
	part := lx.argument()
	if part == "" && lx.pos < len(lx.text) && isDigit(lx.text[lx.pos]) {
		part = lx.text[lx.pos : lx.pos+1]
		lx.pos++
	}
	return "(" + strings.TrimSpace(part) + ")"
}

var (
	bar        = regexp.MustCompile(`^(\\(?:overline|bar|dot))[^a-zA-Z]`)
	dots       = regexp.MustCompile(`^(?:\.\.\.|\\[lc]?dots)`)
	period     = regexp.MustCompile(`^\.\(\d{1,28}\)`)
	scientific = regexp.MustCompile(`^([eE][-+]?\d{1,4})(?:[^0-9a-zA-Z]|$)`)
)

// recurring reads the dots of 0.1666…, or the end of 0.(3), and marks what repeats: a digit
// that is there three times, or a group that is there twice.
func (lx *lexer) recurring(digits string) (repeating string, ok bool) {
	whole, fraction, point := strings.Cut(digits, ".")
	if part := period.FindString(lx.rest()); part != "" && digits != "" && !point {
		lx.pos += len(part)
		return digits + part, true
	}
	length := len(dots.FindString(lx.rest()))
	if length == 0 || !point || strings.Contains(fraction, "(") {
		return "", false
	}
	for n := 1; 2*n <= len(fraction) && n <= 6; n++ {
		part := fraction[len(fraction)-n:]
		rest, times := fraction, 0
		for strings.HasSuffix(rest, part) {
			rest, times = strings.TrimSuffix(rest, part), times+1
		}
		if times >= 3 || n > 1 && times >= 2 {
			lx.pos += length
			return whole + "." + rest + "(" + part + ")", true
		}
	}
	return "", false
}

// groups reads the groups of three digits after the first, if they reach the end of the
// number: 1,234,567 but not 1,234,56. In a list bare commas separate its items.
func (lx *lexer) groups(list bool) (digits string) {
	rest, comma := lx.rest(), false
	for {
		n, isComma := mark(rest)
		if n == 0 || isComma && list || !group.MatchString(rest[n:]) {
			break
		}
		comma = comma || isComma
		digits += rest[n : n+3]
		rest = rest[n+3:]
	}
	if digits == "" || comma && strings.HasPrefix(rest, ",") && len(rest) > 1 && isDigit(rest[1]) {
		return ""
	}
	lx.pos = len(lx.text) - len(rest)
	lx.grouped = len(lx.tokens) + 1
	lx.thousands = lx.thousands || comma
	return digits
}

var (
	group      = regexp.MustCompile(`^\d{3}(?:\D|$)`)
	separators = regexp.MustCompile(`^(?:\{,\}|\\[!,;: ]|[, ~])+`)
	signs      = strings.NewReplacer("{,}", ",!", `\!`, "!", `\,`, " ", `\;`, " ", `\:`, " ", `\ `, " ", "~", " ")
)

// mark is the length of what separates thousands at the beginning of text: a
// bare comma, which might separate numbers as well, a comma with \! or in
// braces, or a space.
func mark(text string) (n int, comma bool) {
	const most = 12
	run := separators.FindString(text)
	signs := signs.Replace(run)
	commas, narrow := strings.Count(signs, ","), strings.Contains(signs, "!")
	switch {
	case signs == ",":
		return 1, true
	case len(run) < most && (commas == 1 && narrow || commas == 0 && (narrow || signs == " ")):
		return len(run), false
	}
	return 0, false
}

// numeral is the number that a token spells.
func numeral(text string) (*algebra.Expr, bool) {
	mantissa, power, _ := strings.Cut(strings.Replace(text, "E", "e", 1), "e")
	given, repeating, repeats := strings.Cut(mantissa, "(")
	_, fraction, point := strings.Cut(given, ".")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	r, ok := new(big.Rat).SetString("0" + given + "e" + strconv.Itoa(exponent))
	if !ok || err != nil {
		return nil, false
	}
	places := len(fraction) - exponent
	if repeats {
		repeating = strings.TrimSuffix(repeating, ")")
		m, ok := new(big.Int).SetString(repeating, 10)
		if !ok || m.Sign() < 0 {
			return nil, false
		}
		nines := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(repeating))), nil)
		part := new(big.Rat).SetFrac(m, nines.Sub(nines, big.NewInt(1)))
		scale, _ := new(big.Rat).SetString("1e" + strconv.Itoa(-places))
		r.Add(r, part.Mul(part, scale))
	}
	e := algebra.Rational(r)
	e.Decimal, e.Places = point && !repeats, places
	return e, true
}
