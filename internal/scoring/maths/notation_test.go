package maths_test

import (
	"cmp"
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

// fraction writes a fraction with its sign in front.
func fraction(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	sign := ""
	if r.Sign() < 0 {
		sign = "-"
	}
	return fmt.Sprintf(`%s\frac{%s}{%s}`, sign, new(big.Int).Abs(r.Num()), r.Denom())
}

// rounded adds what is left of a number of many digits. Three digits are never
// enough, six are to some.
func (s *sample) rounded(r *big.Rat) {
	if digits, exact := r.FloatPrec(); exact && digits <= 6 {
		s.equals(r.FloatString(digits), r.FloatString(digits+1))
		return
	}
	for digits := 2; digits <= 8; digits++ {
		text := r.FloatString(digits)
		value, _ := new(big.Rat).SetString(text)
		off := new(big.Rat).Quo(new(big.Rat).Sub(value, r), r)
		if off.Abs(off).Cmp(big.NewRat(1, 1000)) > 0 {
			s.misses(text)
		} else {
			s.open = append(s.open, text)
		}
	}
}

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

// swapped exchanges the last two digits.
func swapped(digits string) string {
	n := len(digits)
	if n < 2 || digits[n-2] == '-' {
		return digits
	}
	return digits[:n-2] + digits[n-1:] + digits[n-2:n-1]
}

func gcd(a, b int) int {
	if b == 0 {
		return max(a, -a)
	}
	return gcd(b, a%b)
}

// over divides by a whole number.
func over(numerator string, n int) string {
	if n == 1 {
		return numerator
	}
	return fmt.Sprintf(`\frac{%s}{%d}`, numerator, n)
}

// term is a number times a symbol, for the middle of a sum: + 3x, - x.
func term(n int, symbol string) string {
	switch {
	case n == 0:
		return ""
	case symbol == "":
		return fmt.Sprintf("%+d", n)
	case n == 1:
		return "+" + symbol
	case n == -1:
		return "-" + symbol
	}
	return fmt.Sprintf("%+d%s", n, symbol)
}

// sum puts numbers times symbols together: sum(3, "x", -1, "") is 3x-1.
func sum(parts ...any) string {
	var terms []string
	for i := 0; i < len(parts); i += 2 {
		terms = append(terms, term(parts[i].(int), parts[i+1].(string)))
	}
	return cmp.Or(strings.TrimPrefix(strings.Join(terms, ""), "+"), "0")
}

// sines are those of the angles of the first quadrant that have simple ones.
var sines = map[int]string{0: "0", 30: `\frac{1}{2}`, 45: `\frac{\sqrt{2}}{2}`, 60: `\frac{\sqrt{3}}{2}`, 90: "1"}

// sine is that of an angle in degrees, a multiple of 30 or of 45.
func sine(degrees int) string {
	degrees = (degrees%360 + 360) % 360
	if degrees >= 180 {
		if value := sine(degrees - 180); value != "0" {
			return "-" + value
		}
		return "0"
	}
	return sines[min(degrees, 180-degrees)]
}

// radians writes an angle given in degrees.
func radians(degrees int) string {
	r := big.NewRat(int64(degrees), 180)
	if r.IsInt() {
		return fmt.Sprintf(`%s\pi`, r.Num())
	}
	return fmt.Sprintf(`\frac{%s\pi}{%s}`, r.Num(), r.Denom())
}

// ones and tens are number words.
var (
	ones = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
)

// inWords spells a number below 100.
func inWords(n int) string {
	if n < 20 {
		return ones[n]
	}
	if n%10 == 0 {
		return tens[n/10]
	}
	return tens[n/10] + "-" + ones[n%10]
}
