package latex

import (
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
	first := len(digits)
	var b strings.Builder
	b.WriteString(digits)
	if first >= 1 && first <= 3 {
		lx.groups(&b, lx.commas || lx.brackets > 0 || listed)
	}
	rest := lx.rest()
	if strings.HasPrefix(rest, "{.}") && len(rest) > 3 && isDigit(rest[3]) {
		lx.pos += 2
		rest = rest[2:]
		rest = "." + rest[1:]
	}
	if n := len(rest) - len(strings.TrimLeft(strings.TrimPrefix(rest, "{,}"), "0123456789")) - len("{,}"); strings.HasPrefix(rest, "{,}") && n > 0 && n != 3 && lx.brackets == 0 {
		lx.pos += 2 // a decimal comma: groups of three digits have been read
		rest = "." + rest[3:]
	}
	if strings.HasPrefix(rest, ".") && len(rest) > 1 && (isDigit(rest[1]) || repeats(rest[1:]) > 0) {
		lx.pos++
		b.WriteByte('.')
		b.WriteString(lx.digits())
		if n := repeats(lx.rest()); n > 0 {
			lx.pos += n
			part := lx.argument()
			if part == "" && lx.pos < len(lx.text) && isDigit(lx.text[lx.pos]) {
				part = lx.text[lx.pos : lx.pos+1]
				lx.pos++
			}
			b.WriteString("(" + strings.TrimSpace(part) + ")")
		}
	}
	if lx.recurring(&b) {
		lx.emit(number, b.String())
		return
	}
	b.WriteString(lx.exponent())
	if b.Len() > maxDigits {
		lx.failed = true
	}
	lx.emit(number, b.String())
}

// recurring reads the dots of 0.1666…, or the end of 0.(3), and marks in b what
// repeats: a digit that is there three times, or a group that is there twice.
func (lx *lexer) recurring(b *strings.Builder) bool {
	rest := lx.rest()
	whole, fraction, point := strings.Cut(b.String(), ".")
	if part := period.FindString(rest); part != "" && whole != "" && !point {
		lx.pos += len(part)
		b.WriteString(part)
		return true
	}
	length := len(dots.FindString(rest))
	if length == 0 || !point || strings.Contains(fraction, "(") {
		return false
	}
	for n := 1; 2*n <= len(fraction) && n <= 6; n++ {
		start := len(fraction) - n
		part := fraction[start:]
		times := 1
		for start >= n && fraction[start-n:start] == part {
			start, times = start-n, times+1
		}
		if times >= 3 || n > 1 && times >= 2 {
			lx.pos += length
			b.Reset()
			b.WriteString(whole + "." + fraction[:start] + "(" + part + ")")
			return true
		}
	}
	return false
}

func (lx *lexer) digits() string {
	rest := lx.rest()
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	lx.pos += n
	return rest[:n]
}

// repeats is the length of a macro that begins a repeating part.
func repeats(text string) int {
	if m := overlined.FindStringSubmatch(text); m != nil {
		return len(m[1])
	}
	return 0
}

var (
	overlined  = regexp.MustCompile(`^(\\(?:overline|bar|dot))[^a-zA-Z]`)
	dots       = regexp.MustCompile(`^(?:\.\.\.|\\[lc]?dots)`)
	period     = regexp.MustCompile(`^\.\(\d{1,28}\)`)
	scientific = regexp.MustCompile(`^([eE][-+]?\d{1,4})(?:[^0-9a-zA-Z]|$)`)
)

// groups reads the groups of three digits after the first, if they reach the end of the
// number: 1,234,567 but not 1,234,56. In a list bare commas separate its items.
func (lx *lexer) groups(b *strings.Builder, list bool) {
	rest, found := lx.rest(), ""
	comma := false
	for {
		n, isComma := mark(rest)
		if n == 0 || isComma && list || !group(rest[n:]) {
			break
		}
		comma = comma || isComma
		found += rest[n : n+3]
		rest = rest[n+3:]
	}
	if found == "" || comma && strings.HasPrefix(rest, ",") && len(rest) > 1 && isDigit(rest[1]) {
		return
	}
	b.WriteString(found)
	lx.pos = len(lx.text) - len(rest)
	lx.grouped = len(lx.tokens) + 1
	lx.thousands = lx.thousands || comma
}

// mark is the length of what separates thousands at the beginning of text: a
// bare comma, which might separate numbers as well, a comma with \! or in
// braces, or a space.
func mark(text string) (n int, comma bool) {
	commas, narrow, spaces := 0, false, 0
	for n < len(text) && n < 12 {
		switch rest := text[n:]; {
		case strings.HasPrefix(rest, "{,}"):
			commas, narrow, n = commas+1, true, n+3
		case rest[0] == ',':
			commas, n = commas+1, n+1
		case strings.HasPrefix(rest, `\!`):
			narrow, n = true, n+2
		case strings.HasPrefix(rest, `\,`), strings.HasPrefix(rest, `\;`), strings.HasPrefix(rest, `\:`), strings.HasPrefix(rest, `\ `):
			spaces, n = spaces+1, n+2
		case rest[0] == ' ' || rest[0] == '~':
			spaces, n = spaces+1, n+1
		default:
			switch {
			case commas == 1 && n == 1:
				return n, true
			case commas == 1 && narrow, commas == 0 && spaces == 1, commas == 0 && narrow && n > 0:
				return n, false
			}
			return 0, false
		}
	}
	return 0, false
}

// group reports whether text begins with exactly three digits.
func group(text string) bool {
	return len(text) >= 3 && isDigit(text[0]) && isDigit(text[1]) && isDigit(text[2]) && (len(text) == 3 || !isDigit(text[3]))
}

// exponent reads the e5 of 3.2e5.
func (lx *lexer) exponent() string {
	if m := scientific.FindStringSubmatch(lx.rest()); m != nil {
		lx.pos += len(m[1])
		return m[1]
	}
	return ""
}

// numeral is the number that a token spells.
func numeral(text string) (*algebra.Expr, bool) {
	mantissa, power, scientific := strings.Cut(strings.Replace(text, "E", "e", 1), "e")
	whole, fraction, point := strings.Cut(mantissa, ".")
	fraction, repeating, repeats := strings.Cut(fraction, "(")
	n, ok := new(big.Int).SetString("0"+whole+fraction, 10)
	if !ok {
		return nil, false
	}
	r := new(big.Rat).SetFrac(n, tens(len(fraction)))
	if repeats {
		repeating = strings.TrimSuffix(repeating, ")")
		m, ok := new(big.Int).SetString(repeating, 10)
		if !ok || m.Sign() < 0 {
			return nil, false
		}
		nines := new(big.Int).Sub(tens(len(repeating)), big.NewInt(1))
		r.Add(r, new(big.Rat).SetFrac(m, nines.Mul(nines, tens(len(fraction)))))
	}
	places := len(fraction)
	if scientific {
		exponent, err := strconv.Atoi(power)
		if err != nil {
			return nil, false
		}
		scale := new(big.Rat).SetInt(tens(max(exponent, -exponent)))
		if exponent < 0 {
			scale.Inv(scale)
		}
		r.Mul(r, scale)
		places -= exponent
	}
	e := algebra.Rational(r)
	e.Decimal, e.Places = point && !repeats, places
	return e, true
}

func tens(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
