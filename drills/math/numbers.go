package main

import (
	"fmt"
	"math/big"
	"strings"
)

// number is a random integer other than 0: mostly small, sometimes of many
// digits.
func (d *dice) number() *big.Int {
	digits := pick(d, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 9, 14, 33)
	text := []byte{byte('1' + d.below(9))}
	for len(text) < digits {
		text = append(text, byte('0'+d.below(10)))
	}
	n, _ := new(big.Int).SetString(string(text), 10)
	if d.chance(0.25) {
		n.Neg(n)
	}
	return n
}

func plus(n *big.Int, m int) *big.Int  { return new(big.Int).Add(n, big.NewInt(int64(m))) }
func times(n *big.Int, m int) *big.Int { return new(big.Int).Mul(n, big.NewInt(int64(m))) }

// grouped writes a whole number in groups of three digits.
func grouped(n *big.Int, separator string) string {
	text := new(big.Int).Abs(n).String()
	var groups []string
	for len(text) > 3 {
		groups = append([]string{text[len(text)-3:]}, groups...)
		text = text[:len(text)-3]
	}
	text = strings.Join(append([]string{text}, groups...), separator)
	if n.Sign() < 0 {
		return "-" + text
	}
	return text
}

func integers(d *dice) sample {
	n := d.number()
	s := a(n.String())
	k := d.from(2, 9)
	s.equals(s.gold+".0", s.gold+".00", "{"+s.gold+"}", `\mathbf{`+s.gold+"}", `\text{`+s.gold+"}",
		fmt.Sprintf(`%s + %d`, plus(n, -k), k), fmt.Sprintf(`%s - %d`, plus(n, k), k),
		fmt.Sprintf(`\frac{%s}{%d}`, times(n, k), k), fmt.Sprintf(`%s/%d`, times(n, k), k),
		between(d, "(", s.gold, ")"))
	if n.Sign() > 0 {
		s.equals("+"+s.gold, "00"+s.gold, fmt.Sprintf(`\sqrt{%s}`, new(big.Int).Mul(n, n)))
	} else {
		s.equals("\u2212"+s.gold[1:], "- "+s.gold[1:])
	}
	if len(s.gold) > 4 {
		s.equals(grouped(n, ","), grouped(n, "{,}"), grouped(n, `\,`), grouped(n, `,\!`))
		s.misses(grouped(plus(n, 1), ","), grouped(times(n, -1), "{,}"))
	}
	s.misses(plus(n, 1).String(), plus(n, -1).String(), times(n, -1).String(), times(n, 10).String(), s.gold+".5", s.gold+".01",
		fmt.Sprintf(`%s + \frac{1}{%d}`, n, k), s.gold+`\pi`, fmt.Sprintf(`(%s, %d)`, n, k), fmt.Sprintf(`\{%s, %s\}`, n, plus(n, k)))
	if changed := swapped(s.gold); changed != s.gold {
		s.misses(changed)
	}
	return s
}

// swapped exchanges the last two digits.
func swapped(digits string) string {
	n := len(digits)
	if n < 2 || digits[n-2] == '-' {
		return digits
	}
	return digits[:n-2] + digits[n-1:] + digits[n-2:n-1]
}

// ratio is a random fraction in lowest terms, not whole.
func (d *dice) ratio() *big.Rat {
	for {
		r := big.NewRat(int64(d.from(1, 120)), int64(d.from(2, pick(d, 9, 30, 120))))
		if !r.IsInt() {
			if d.chance(0.3) {
				r.Neg(r)
			}
			return r
		}
	}
}

// frac writes numerator and denominator, a sign in front.
func frac(macro string, p, q *big.Int) string {
	sign := ""
	if p.Sign()*q.Sign() < 0 {
		sign = "-"
	}
	return fmt.Sprintf(`%s%s{%s}{%s}`, sign, macro, new(big.Int).Abs(p), new(big.Int).Abs(q))
}

func latex(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return frac(`\frac`, r.Num(), r.Denom())
}

func fractions(d *dice) sample {
	r := d.ratio()
	p, q := r.Num(), r.Denom()
	s := a(latex(r))
	k := d.from(2, 12)
	s.equals(frac(`\dfrac`, p, q), frac(`\tfrac`, p, q), frac(`\frac`, times(p, k), times(q, k)), r.String(), fmt.Sprintf(`%s / %s`, p, q),
		fmt.Sprintf(`\frac{%s}{%s}`, p, q), fmt.Sprintf(`\frac{%s}{%s}`, times(p, -1), times(q, -1)),
		fmt.Sprintf(`\dfrac{\,%s\,}{%s}`, p, q), fmt.Sprintf(`{%s \over %s}`, p, q), between(d, "(", s.gold, ")"),
		fmt.Sprintf(`%s \cdot \frac{1}{%s}`, p, q), fmt.Sprintf(`\frac{\frac{%s}{%d}}{\frac{%s}{%d}}`, p, k, q, k),
		fmt.Sprintf(`%s + \frac{1}{%d}`, latex(new(big.Rat).Sub(r, big.NewRat(1, int64(k)))), k))
	if len(p.String()) == 1 && len(q.String()) == 1 {
		s.equals(`\frac`+p.String()+q.String(), `\frac `+p.String()+" "+q.String(), fmt.Sprintf(`\frac%s{%s}`, p, q))
	}
	if len(p.String()) == 1 {
		s.equals(fmt.Sprintf(`\frac%s{%s}`, p, q))
	}
	if digits, exact := r.FloatPrec(); exact && digits <= 6 {
		s.equals(r.FloatString(digits), r.FloatString(digits+1))
	} else {
		rounded(&s, r)
	}
	s.misses(latex(big.NewRat(0, 1).SetFrac(plus(p, 1), q)), latex(new(big.Rat).Neg(r)), latex(big.NewRat(0, 1).SetFrac(p, plus(q, 1))),
		p.String(), q.String(), fmt.Sprintf(`\binom{%s}{%s}`, new(big.Int).Add(q, big.NewInt(3)), q))
	if inverse := new(big.Rat).Inv(r); inverse.Cmp(r) != 0 {
		s.misses(latex(inverse))
	}
	return s
}

// rounded adds what is left of a number of many digits. Three digits are never
// enough, six are to some.
func rounded(s *sample, r *big.Rat) {
	for digits := 2; digits <= 8; digits++ {
		text := r.FloatString(digits)
		value, _ := new(big.Rat).SetString(text)
		off := new(big.Rat).Quo(new(big.Rat).Sub(value, r), r)
		if off.Abs(off).Cmp(big.NewRat(1, 1000)) > 0 {
			s.misses(text)
		} else {
			s.leaves(text)
		}
	}
}

func decimals(d *dice) sample {
	digits := d.from(1, 6)
	r := big.NewRat(int64(d.from(1, 99999)), 1)
	r.Quo(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	if d.chance(0.25) {
		r.Neg(r)
	}
	exact, _ := r.FloatPrec()
	s := a(r.FloatString(exact))
	s.equals(r.FloatString(exact+1), r.FloatString(exact+3), latex(r))
	if strings.HasPrefix(strings.TrimPrefix(s.gold, "-"), "0.") {
		s.equals(strings.Replace(s.gold, "0.", ".", 1))
	}
	s.equals(fmt.Sprintf(`\frac{%s}{10^{%d}}`, shifted(r, digits), digits), fmt.Sprintf(`%s \times 10^{-%d}`, shifted(r, digits), digits))
	ten := big.NewRat(10, 1)
	s.misses(new(big.Rat).Neg(r).FloatString(exact), new(big.Rat).Mul(r, ten).FloatString(exact),
		new(big.Rat).Quo(r, ten).FloatString(exact+1), new(big.Rat).Add(r, big.NewRat(1, 10)).FloatString(max(exact, 1)),
		fmt.Sprintf(`%s \times 10^{-%d}`, shifted(r, digits), digits+1))
	return s
}

// shifted is r with its point moved to the right.
func shifted(r *big.Rat, digits int) string {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	return latex(new(big.Rat).Mul(r, new(big.Rat).SetInt(power)))
}

func mixedNumbers(d *dice) sample {
	whole, q := d.from(1, 40), d.from(2, 16)
	p := d.from(1, q-1)
	r := big.NewRat(int64(whole*q+p), int64(q))
	sign := pick(d, "", "", "-")
	s := a(fmt.Sprintf(`%s%d\frac{%d}{%d}`, sign, whole, p, q))
	s.equals(sign+latex(r), fmt.Sprintf(`%s%d \frac{%d}{%d}`, sign, whole, p, q), fmt.Sprintf(`%s%d\dfrac{%d}{%d}`, sign, whole, p, q),
		fmt.Sprintf(`%s%d\tfrac{%d}{%d}`, sign, whole, 2*p, 2*q), sign+r.String())
	if sign == "" {
		s.equals(fmt.Sprintf(`%d+\frac{%d}{%d}`, whole, p, q), fmt.Sprintf(`%d\,\frac{%d}{%d}`, whole, p, q))
	}
	if digits, exact := r.FloatPrec(); exact && digits < 6 {
		s.equals(sign + r.FloatString(digits))
	}
	s.misses(fmt.Sprintf(`%s%d\frac{%d}{%d}`, sign, whole+1, p, q), fmt.Sprintf(`%s%d\frac{%d}{%d}`, sign, whole, q, p),
		fmt.Sprintf(`%s\frac{%d}{%d}`, sign, whole*q+p+1, q), fmt.Sprintf(`%s%d`, sign, whole),
		fmt.Sprintf(`%s%d\frac{%d}{%d}`, sign, whole, p, q+1))
	s.misses(fmt.Sprintf(`%s\frac{%d}{%d}`, sign, whole*p, q)) // what was added is multiplied
	return s
}
