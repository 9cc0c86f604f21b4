package main

import (
	"fmt"
	"math"
	"math/big"
)

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

// sum puts terms together; 0 if there are none.
func sum(terms ...string) string {
	text := ""
	for _, t := range terms {
		text += t
	}
	if text == "" {
		return "0"
	}
	if text[0] == '+' {
		return text[1:]
	}
	return text
}

// squarefree numbers, whose roots are not whole.
var squarefree = []int{2, 3, 5, 6, 7, 10, 11, 13, 14, 15, 17, 19, 21}

// surd is (a + b√c) / n.
type surd struct{ a, b, c, n int }

func (s surd) value() float64 {
	return (float64(s.a) + float64(s.b)*math.Sqrt(float64(s.c))) / float64(s.n)
}

func (s surd) latex() string { return s.with(fmt.Sprintf(`\sqrt{%d}`, s.c)) }

// with writes the surd with the root as given.
func (s surd) with(root string) string { return over(sum(term(s.a, ""), term(s.b, root)), s.n) }

// over divides by a whole number.
func over(numerator string, n int) string {
	if n == 1 {
		return numerator
	}
	return fmt.Sprintf(`\frac{%s}{%d}`, numerator, n)
}

func (d *dice) surd() surd {
	s := surd{a: pick(d, 0, d.from(-12, 12)), b: d.apart(-9, 9, 0), c: pick(d, squarefree...), n: pick(d, 1, 1, 2, 3, 5)}
	if g := gcd(gcd(s.a, s.b), s.n); g > 1 {
		s.a, s.b, s.n = s.a/g, s.b/g, s.n/g
	}
	return s
}

func gcd(a, b int) int {
	if b == 0 {
		return max(a, -a)
	}
	return gcd(b, a%b)
}

func surds(d *dice) sample {
	x := d.surd()
	root := fmt.Sprintf(`\sqrt{%d}`, x.c)
	s := a(x.latex())
	s.equals(over(sum(term(x.b, root), term(x.a, "")), x.n), x.with(fmt.Sprintf(`\sqrt{\,%d\,}`, x.c)),
		x.with(fmt.Sprintf(`{%d}^{1/2}`, x.c)), x.with(fmt.Sprintf(`√%d`, x.c)),
		fmt.Sprintf(`\frac{%s}{%d}`, surd{3 * x.a, 3 * x.b, x.c, 1}.latex(), 3*x.n),
		over(sum(term(x.a, ""), sign(x.b)+fmt.Sprintf(`\sqrt{%d}`, x.b*x.b*x.c)), x.n),
		fmt.Sprintf(`%s + \frac{%d}{%d}%s`, latex(big.NewRat(int64(x.a), int64(x.n))), x.b, x.n, root),
		over(fmt.Sprintf(`%d + (%d) \cdot %s`, x.a, x.b, root), x.n))
	if x.c < 10 {
		s.equals(x.with(fmt.Sprintf(`\sqrt%d`, x.c)), x.with(fmt.Sprintf(`\sqrt %d`, x.c)))
	}
	if x.a != 0 { // the root in the denominator
		s.equals(fmt.Sprintf(`\frac{%d}{%s}`, x.a*x.a-x.b*x.b*x.c, surd{x.n * x.a, -x.n * x.b, x.c, 1}.latex()))
	}
	if x.value() > 0 && x.a != 0 { // the root of a square
		s.equals(fmt.Sprintf(`\sqrt{%s}`, surd{x.a*x.a + x.b*x.b*x.c, 2 * x.a * x.b, x.c, x.n * x.n}.latex()))
	}
	for _, miss := range []surd{{x.a, -x.b, x.c, x.n}, {x.a + 1, x.b, x.c, x.n}, {x.a, 2 * x.b, x.c, x.n}, {x.a, x.b, x.c, x.n + 1}, {-x.a, -x.b, x.c, x.n}, {x.a, x.b, d.another(x.c), x.n}} {
		s.misses(miss.latex())
	}
	s.misses(latex(near(x.value())), x.with(fmt.Sprintf(`\sqrt[3]{%d}`, x.c)))
	rounded(&s, new(big.Rat).SetFloat64(x.value()))
	return s
}

func sign(n int) string {
	if n < 0 {
		return "-"
	}
	return "+"
}

// another is a squarefree number other than c.
func (d *dice) another(c int) int {
	for {
		if other := pick(d, squarefree...); other != c {
			return other
		}
	}
}

// near is the best fraction that has a denominator below 1000.
func near(x float64) *big.Rat {
	best := new(big.Rat)
	for q := 1; q < 1000; q++ {
		r := big.NewRat(int64(math.Round(x*float64(q))), int64(q))
		v, _ := r.Float64()
		if b, _ := best.Float64(); math.Abs(v-x) < math.Abs(b-x) {
			best = r
		}
	}
	return best
}

func higherRoots(d *dice) sample {
	n, k, c := pick(d, 3, 3, 3, 4, 5), d.from(2, 6), pick(d, squarefree...)
	power := k
	for range n - 1 {
		power *= k
	}
	s := a(fmt.Sprintf(`%d\sqrt[%d]{%d}`, k, n, c))
	s.equals(fmt.Sprintf(`\sqrt[%d]{%d}`, n, power*c), fmt.Sprintf(`%d \cdot \sqrt[%d]{%d}`, k, n, c),
		fmt.Sprintf(`%d \cdot %d^{1/%d}`, k, c, n), fmt.Sprintf(`%d^{\frac{1}{%d}}`, power*c, n),
		fmt.Sprintf(`\sqrt[%d]{%d}\,\sqrt[%d]{%d}`, n, power, n, c), fmt.Sprintf(`\sqrt[%d]{%d} \cdot %d`, n, c, k))
	s.misses(fmt.Sprintf(`%d\sqrt{%d}`, k, c), fmt.Sprintf(`%d\sqrt[%d]{%d}`, k+1, n, c), fmt.Sprintf(`%d\sqrt[%d]{%d}`, k, n+1, c),
		fmt.Sprintf(`-%d\sqrt[%d]{%d}`, k, n, c), fmt.Sprintf(`\sqrt[%d]{%d}`, n, k*c), fmt.Sprintf(`%d\sqrt[%d]{%d}`, k, n, d.another(c)),
		fmt.Sprintf(`%d^{1/%d}`, power*c+1, n))
	return s
}

// constants are rational multiples of π or powers of e, and a number.
func constants(d *dice) sample {
	r, k := d.ratio(), d.apart(-20, 20, 0)
	p, q := r.Num(), r.Denom()
	if d.chance(0.3) {
		n := d.from(2, 7)
		s := a(fmt.Sprintf(`%d e^{%d}`, 2*n, n))
		s.equals(fmt.Sprintf(`e^%d \cdot %d`, n, 2*n), fmt.Sprintf(`%d \cdot e \cdot e^{%d}`, 2*n, n-1),
			fmt.Sprintf(`\frac{%d}{e^{-%d}}`, 2*n, n), fmt.Sprintf(`%de^{%d}`, 2*n, n), fmt.Sprintf(`%d \exp(%d)`, 2*n, n))
		s.misses(fmt.Sprintf(`%d e^{%d}`, 2*n, n+1), fmt.Sprintf(`%d e^{%d}`, 2*n+1, n), fmt.Sprintf(`%d e^{-%d}`, 2*n, n),
			fmt.Sprintf(`%d e`, 2*n*n), fmt.Sprintf(`%d \pi^{%d}`, 2*n, n))
		return s
	}
	if d.chance(0.4) {
		s := a(sum(term(k, ""), fmt.Sprintf(`+%s\pi`, latex(new(big.Rat).Abs(r)))))
		r.Abs(r)
		s.equals(fmt.Sprintf(`%s\pi%+d`, latex(r), k), fmt.Sprintf(`\frac{%s\pi%+d}{%s}`, r.Num(), k*int(q.Int64()), q),
			fmt.Sprintf(`%d + \pi \cdot %s`, k, latex(r)))
		s.misses(fmt.Sprintf(`%s\pi%+d`, latex(r), -k), fmt.Sprintf(`%s\pi%+d`, latex(r), k+1), fmt.Sprintf(`%s\pi`, latex(r)),
			fmt.Sprintf(`%s\pi^2%+d`, latex(r), k))
		return s
	}
	s := a(fmt.Sprintf(`\frac{%s\pi}{%s}`, p, q))
	s.equals(latex(r)+`\pi`, latex(r)+`\cdot\pi`, fmt.Sprintf(`\frac{%s\pi}{%s}`, times(p, 3), times(q, 3)), fmt.Sprintf(`%s\pi/%s`, p, q),
		fmt.Sprintf(`\frac{%s π}{%s}`, p, q), fmt.Sprintf(`\pi \cdot \frac{%s}{%s}`, p, q), fmt.Sprintf(`\left(%s\right)\pi`, latex(r)),
		fmt.Sprintf(`%s \times \pi`, latex(r)))
	s.misses(latex(r), fmt.Sprintf(`\frac{%s\pi}{%s}`, plus(p, 1), q), fmt.Sprintf(`\frac{%s\pi^2}{%s}`, p, q),
		fmt.Sprintf(`\frac{%s}{%s\pi}`, p, q), latex(new(big.Rat).Neg(r))+`\pi`, fmt.Sprintf(`%s+\pi`, latex(r)))
	value, _ := r.Float64()
	rounded(&s, new(big.Rat).SetFloat64(value*math.Pi))
	return s
}

func logarithms(d *dice) sample {
	base, n, m := pick(d, 2, 3, 5, 6, 7, 10), d.from(2, 4), pick(d, 11, 13, 17, 19)
	power := int(math.Round(math.Pow(float64(base), float64(n))))
	if d.chance(0.5) {
		s := a(fmt.Sprintf(`%d \ln %d`, n, base))
		s.equals(fmt.Sprintf(`\ln %d`, power), fmt.Sprintf(`\ln(%d)`, power), fmt.Sprintf(`\ln{%d}\cdot %d`, base, n),
			fmt.Sprintf(`\ln %d + \ln %d`, base, power/base), fmt.Sprintf(`\ln \frac{%d}{%d}`, power*m, m),
			fmt.Sprintf(`-\ln\left(\frac{1}{%d}\right)`, power))
		s.misses(fmt.Sprintf(`\ln %d`, power+1), fmt.Sprintf(`%d \ln %d`, n+1, base), fmt.Sprintf(`\log_{%d} %d`, m, power),
			fmt.Sprintf(`-%d \ln %d`, n, base), fmt.Sprintf(`\ln %d`, n*base+1), fmt.Sprintf(`%d`, power))
		return s
	}
	s := a(fmt.Sprintf(`\log_{%d} %d`, base, m))
	s.equals(fmt.Sprintf(`\log_{%d}(%d)`, base, m), fmt.Sprintf(`\frac{\ln %d}{\ln %d}`, m, base), fmt.Sprintf(`\log_{%d}{%d}`, base, m),
		fmt.Sprintf(`\log_{%d} %d - %d`, base, m*power, n), fmt.Sprintf(`\frac{1}{\log_{%d} %d}`, m, base),
		fmt.Sprintf(`\frac{\log_{3} %d}{\log_{3} %d}`, m, base))
	s.misses(fmt.Sprintf(`\log_{%d} %d`, m, base), fmt.Sprintf(`\log_{%d} %d`, base+1, m), fmt.Sprintf(`\log_{%d} %d`, base, m+1),
		fmt.Sprintf(`\ln \frac{%d}{%d}`, m, base), fmt.Sprintf(`\frac{%d}{%d}`, m, base))
	return s
}
