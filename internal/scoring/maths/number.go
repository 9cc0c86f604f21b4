package maths

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/scoring/maths/algebra"
	"speceval/internal/scoring/maths/latex"
)

// equalValues compares expressions with their units. A percent sign divides by 100.
// Compared with a bare number above 1, which must be a percentage, it may also be
// ignored.
func (c *comparer) equalValues(g, p latex.Answer) bool {
	if letters, order := lettersOf(g.Expr), lettersOf(p.Expr); letters != "" && order != "" {
		return letters == order && (mark(g.Expr) == mark(p.Expr) || mark(g.Expr) == "" || mark(p.Expr) == "")
	}
	if !within(g.Nouns, p.Nouns) && !within(p.Nouns, g.Nouns) {
		return false
	}
	if g.Unit == "" && p.Unit == "¢" {
		g.Unit = "$"
	}
	if g.Percent && p.Unit != "" || p.Percent && g.Unit != "" {
		return false
	} else if !sameUnit(g.Unit, p.Unit) {
		one, of := latex.Scale(g.Unit)
		other, factor := latex.Scale(p.Unit)
		return one == other && c.same(g.Expr, algebra.Make(algebra.Mul, p.Expr, algebra.Rational(factor.Quo(factor, of))))
	}
	if g.Percent == p.Percent {
		return c.equalNumbers(g.Expr, p.Expr)
	}
	bare, percentage := g.Expr, p.Expr
	if g.Percent {
		bare, percentage = p.Expr, g.Expr
	}
	return c.same(bare, algebra.Make(algebra.Div, percentage, algebra.Int(100))) ||
		!algebra.Near(bare, new(big.Rat), big.NewRat(1, 1)) && c.equalNumbers(g.Expr, p.Expr)
}

// within reports whether all words are among others.
func within(words, others []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(others, w) })
}

// figures are the marks of figures that letters name, with or without the mark.
const figures = `\triangle \angle \bar`

// mark is the sign before the letters of a figure, \triangle in \triangle ABC.
func mark(e *algebra.Expr) string {
	before, _, _ := strings.Cut(e.Name, " ")
	return before
}

// sameUnit reports whether two units may be the same: they are equal, one is missing, or one
// is plain degrees and the other degrees of a scale.
func sameUnit(a, b string) bool {
	return a == b || a == "" || b == "" || a == "°" && strings.HasPrefix(b, a) || b == "°" && strings.HasPrefix(a, b)
}

// lettersOf is the order of letters, ACB, that a product of capitals is.
func lettersOf(e *algebra.Expr) string {
	if e.Op == algebra.Symbol { // \triangle ABC, \overline{AB}
		if mark, letters, ok := strings.Cut(e.Name, " "); ok && strings.Contains(figures, mark) && len(letters) > 1 && strings.Trim(letters, "ABCDEFGHIJKLMNOPQRSTUVWXYZ'") == "" {
			return letters
		}
	}
	if e.Op != algebra.Mul {
		return ""
	}
	return nameOfExpr(e)
}

// enoughDigits is the number of significant digits from which on a decimal
// number may stand for what it rounds.
const enoughDigits = 6

// equalNumbers reports whether two expressions are equal: exactly, but for the rounding of
// floating point, or as nearly as a decimal number is to the number that it was rounded
// from. The last holds if the decimal has enough digits and the other is no whole number.
func (c *comparer) equalNumbers(g, p *algebra.Expr) bool {
	if c.same(g, p) {
		return true
	}
	gold, isDecimal := decimal(g)
	answer, isDecimalToo := decimal(p)
	switch {
	case isDecimal && isDecimalToo:
		if gold.half.Cmp(answer.half) < 0 {
			gold, answer = answer, gold
		}
		return gold.stands(algebra.Rational(answer.value)) || answer.noisy(algebra.Rational(gold.value))
	case isDecimal:
		return gold.stands(p)
	case isDecimalToo:
		return answer.stands(g)
	}
	return false
}

// written is a number as it is written with a decimal point.
type written struct {
	value  *big.Rat
	half   *big.Rat // of its last place
	digits int      // significant ones
}

// stands reports whether d may stand for e. A rational number computed of decimal ones
// stands for itself alone.
func (d written) stands(e *algebra.Expr) bool {
	r, ok := algebra.Exact(e)
	whole := d.value.IsInt() || ok && (r.IsInt() || e.Op == algebra.Add && e.Any(func(e *algebra.Expr) bool { return e.Decimal }))
	return d.noisy(e) || d.digits >= enoughDigits && !whole && algebra.Near(e, d.value, d.half)
}

// noisy reports whether d is e but for the rounding of floating point: sixteen digits or
// more, and an error of the last two bits of 53.
func (d written) noisy(e *algebra.Expr) bool {
	noise := new(big.Rat).Mul(d.value, big.NewRat(1, 1<<51))
	noise.Abs(noise)
	if most := big.NewRat(1, 1e10); noise.Cmp(most) > 0 {
		noise = most
	}
	return d.digits >= 16 && algebra.Near(e, d.value, noise)
}

// decimal reads a decimal number, perhaps negative, perhaps times a power of
// ten.
func decimal(e *algebra.Expr) (written, bool) {
	switch {
	case e.Op == algebra.Number && e.Decimal:
		half := new(big.Rat).Mul(power(-e.Places), big.NewRat(1, 2))
		return written{e.Num, half, digits(e)}, true
	case e.Op == algebra.Neg:
		d, ok := decimal(e.Args[0])
		if ok {
			d.value = new(big.Rat).Neg(d.value)
		}
		return d, ok
	case e.Op == algebra.Mul && len(e.Args) == 2 && e.Args[1].Op == algebra.Pow && algebra.Same(e.Args[1].Args[0], algebra.Int(10)):
		d, ok := decimal(e.Args[0])
		scale, exact := algebra.Exact(e.Args[1])
		if !ok || !exact {
			return d, false
		}
		return written{new(big.Rat).Mul(d.value, scale), new(big.Rat).Mul(d.half, scale), d.digits}, true
	}
	return written{}, false
}

// power is 10 to the n.
func power(n int) *big.Rat {
	r, _ := new(big.Rat).SetString("1e" + strconv.Itoa(n))
	return r
}

// digits counts the significant digits of a decimal number.
func digits(e *algebra.Expr) int {
	return len(new(big.Rat).Mul(e.Num, power(e.Places)).Num().String())
}

// rational is the value of an answer that is a rational number.
func rational(a latex.Answer) (*big.Rat, bool) {
	if a.Kind != latex.Value {
		return nil, false
	}
	return algebra.Exact(a.Expr)
}
