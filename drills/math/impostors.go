package main

import (
	"fmt"
	"strings"
)

// falseEquations end in the answer and do not hold.
func falseEquations(d *dice) sample {
	n, k := d.from(10, 400), d.from(2, 9)
	s := a(fmt.Sprint(n))
	s.only = true
	s.equals(fmt.Sprintf("%d+%d=%d", n-k, k, n), fmt.Sprintf(`\frac{%d}{%d} = %d`, n*k, k, n), fmt.Sprintf("x = %d - %d = %d", n+k, k, n), fmt.Sprintf("%d = %d", n, n))
	s.misses(fmt.Sprintf("%d=%d", n-1, n), fmt.Sprintf("%d+%d=%d", n, k, n), fmt.Sprintf(`\frac{%d}{%d} = %d`, n, k, n), fmt.Sprintf("x = %d = %d", n+k, n),
		fmt.Sprintf("x = %d + %d = %d", n, k, n), fmt.Sprintf(`%d \cdot %d = %d`, n, k, n))
	return s
}

// otherBases are numbers with the digits of another in another base.
func otherBases(d *dice) sample {
	base := d.from(2, 9)
	digits := "1"
	for range d.from(2, 5) {
		digits += fmt.Sprint(d.below(base))
	}
	s := a(digits)
	with := digits + fmt.Sprintf("_{%d}", base)
	if d.chance(0.5) {
		s.equals(digits+"_{10}", digits+".0", digits+"_{10}")
		s.misses(with, digits+fmt.Sprintf("_%d", base), digits+"0")
	} else {
		s = a(with)
		s.equals(digits+fmt.Sprintf("_%d", base), digits+fmt.Sprintf(`_{\text{%s}}`, ones[base]))
		s.misses(digits, digits+fmt.Sprintf("_%d", base+1), digits+"_{10}", "1"+with)
	}
	s.only = true
	return s
}

// logBases are logarithms whose base differs.
func logBases(d *dice) sample {
	x := pick(d, "x", "2", "7", "(x+1)", "3", "y")
	k := d.from(2, 9)
	write := func(name string) string { return fmt.Sprintf(`%d + %s %s`, k, name, x) }
	if d.chance(0.5) {
		s := a(write(`\ln`))
		s.equals(write(`\log_{e}`), write(`\log_e`), fmt.Sprintf(`\ln %s + %d`, x, k))
		s.misses(write(`\log`), write(`\log_{10}`), write(`\log_2`), write(`\lg`))
		return s
	}
	s := a(write(`\log`))
	s.equals(write(`\log_{10}`), fmt.Sprintf(`\log %s + %d`, x, k), write(`\lg`))
	s.misses(write(`\ln`), write(`\log_e`), write(`\log_2`), write(`\log_{100}`))
	return s
}

// signOrders are formulas with ± whose upper signs belong together.
func signOrders(d *dice) sample {
	k := d.from(2, 9)
	p, q := pick(d, "a", "x", "m"), pick(d, "b", "y", "n")
	s := a(fmt.Sprintf(`%d%s \pm %s`, k, p, q))
	s.equals(fmt.Sprintf(`%s\cdot %d \pm %s`, p, k, q), fmt.Sprintf(`-(-%d%s \mp %s)`, k, p, q), fmt.Sprintf(`%d%s+%s, %d%s-%s`, k, p, q, k, p, q))
	s.misses(fmt.Sprintf(`%d%s \mp %s`, k, p, q), fmt.Sprintf(`%d%s + %s`, k, p, q), fmt.Sprintf(`%d%s \pm %s`, k+1, p, q), fmt.Sprintf(`%s\cdot %d\mp %s`, p, k, q))
	s.only = true
	return s
}

// scalings are words that multiply the number before them, or divide it.
func scalings(d *dice) sample {
	n := d.from(2, 60)
	word := pick(d, "dozen", "cents", "thousand", "million", "dozen", "cents")
	factor := map[string]int{"dozen": 12, "thousand": 1000, "million": 1000000}[word]
	if d.chance(0.3) && factor > 0 {
		s := a(fmt.Sprint(n * factor))
		s.equals(fmt.Sprintf("%d %s", n, word), fmt.Sprintf(`%d\text{ %s}`, n, word))
		s.misses(fmt.Sprintf("%d %s", n+1, word), fmt.Sprintf(`%d\text{ %s}`, 10*n+1, word))
		return s
	}
	s := a(fmt.Sprint(n))
	s.equals(fmt.Sprintf(`%d\text{ eggs}`, n), fmt.Sprintf("%d.0", n), fmt.Sprintf("%d boxes", n))
	s.misses(fmt.Sprintf("%d %s", n, word), fmt.Sprintf(`%d\text{ %s}`, n, word), fmt.Sprintf(`%d \text{ %s}`, n, word))
	s.only = true
	return s
}

// tinyTerms are sums whose last term is easily lost.
func tinyTerms(d *dice) sample {
	n := d.from(1, 9000000)
	s := a(pick(d, fmt.Sprint(n), fmt.Sprintf("%d.%d", n, d.from(1, 9)), fmt.Sprintf(`\sqrt{%d}`, 2*n*n), fmt.Sprintf("%dx", n), fmt.Sprintf(`\frac{%d}{7}`, 7*n+1), "3.14159265", "0"))
	tiny := pick(d, "10^{-9}", "10^{-10}", "0.000000001", `2\times 10^{-9}`, "10^{-12}", `\frac{1}{10^9}`)
	s.equals(s.gold+"+0", s.gold+"+"+tiny+"-"+tiny, "0+"+s.gold, tiny+"+"+s.gold+"-"+tiny)
	s.misses(s.gold+"+"+tiny, s.gold+"-"+tiny, tiny+"+"+s.gold, s.gold+" + "+tiny)
	if strings.Trim(s.gold, "0123456789") == "" {
		s.misses(s.gold + ".000000001")
	}
	s.only = true
	return s
}

// conjunctions join conditions by a word that matters.
func conjunctions(d *dice) sample {
	p := d.from(-9, 9)
	q := p + d.from(1, 9)
	word, other := "or", "and"
	low, high := "x < %d", "x > %d"
	if d.chance(0.5) {
		word, other, low, high = "and", "or", "x > %d", "x < %d"
	}
	write := func(word string, p, q int) string {
		return fmt.Sprintf(low, p) + `\text{ ` + word + ` }` + fmt.Sprintf(high, q)
	}
	s := a(write(word, p, q))
	s.equals(fmt.Sprintf(high, q)+`\text{ `+word+` }`+fmt.Sprintf(low, p), write(word, p, q))
	if word == "or" {
		s.equals(fmt.Sprintf(`(-\infty,%d)\cup(%d,\infty)`, p, q))
	} else {
		s.equals(fmt.Sprintf("%d<x<%d", p, q))
	}
	s.misses(write(other, p, q), write(word, p, q+1), write(word, p-1, q))
	s.only = true
	return s
}

// oppositePairs are words of which the other makes it another answer, and those
// that mean the same.
var oppositePairs = [][3]string{{"north", "south", "N"}, {"east", "west", "E"}, {"gain", "loss", ""}, {"increase", "decrease", ""}, {"up", "down", ""}, {"left", "right", ""},
	{"BC", "AD", "BCE"}, {"AD", "BC", "CE"}, {"AM", "PM", "a.m."}, {"above", "below", ""}, {"profit", "loss", ""}, {"clockwise", "counterclockwise", ""}, {"MHz", "mHz", ""},
	{"mg", "Mg", ""}, {"MW", "mW", ""}, {"feet", "inches", "ft"}, {"meters", "miles", "m"}, {"apples", "oranges", ""}, {"boys", "girls", ""}, {"red", "blue", ""}}

func opposites(d *dice) sample {
	n, words := d.from(2, 90), pick(d, oppositePairs...)
	write := func(word string) string { return fmt.Sprintf(pick(d, `%d\text{ %s}`, `%d \text{ %s}`), n, word) }
	s := a(write(words[0]))
	s.only = true
	s.equals(write(words[0]), fmt.Sprintf(`%d\,\text{%s}`, n, words[0]))
	if words[2] != "" {
		s.equals(write(words[2]))
	}
	s.misses(write(words[1]), write(words[1]), fmt.Sprintf(`%d\text{ %s}`, n+1, words[0]))
	return s
}

// inventories count things of two sorts.
func inventories(d *dice) sample {
	p := d.from(1, 30)
	q := d.apart(1, 30, p)
	sorts := pick(d, [2]string{"red", "blue"}, [2]string{"cats", "dogs"}, [2]string{"nickels", "dimes"}, [2]string{"boys", "girls"}, [2]string{"chairs", "tables"})
	write := func(p int, x string, q int, y string) string {
		return fmt.Sprintf(pick(d, `%d\text{ %s}, %d\text{ %s}`, `%d\text{ %s and }%d\text{ %s}`), p, x, q, y)
	}
	s := a(write(p, sorts[0], q, sorts[1]))
	s.only = true
	s.equals(write(p, sorts[0], q, sorts[1]), write(q, sorts[1], p, sorts[0]))
	s.misses(write(q, sorts[0], p, sorts[1]), write(p, sorts[1], q, sorts[0]), write(p+1, sorts[0], q, sorts[1]))
	return s
}

// capitals are letters whose capital is another one.
func capitals(d *dice) sample {
	n, letters := d.from(2, 40), pick(d, [2]string{`\pi`, `\Pi`}, [2]string{`\sigma`, `\Sigma`}, [2]string{`\omega`, `\Omega`}, [2]string{`\phi`, `\Phi`}, [2]string{`\delta`, `\Delta`}, [2]string{"x", "X"}, [2]string{"r", "R"})
	s := a(fmt.Sprintf("%d%s", n, letters[0]))
	s.equals(fmt.Sprintf("%d %s", n, letters[0]), fmt.Sprintf(`%d \cdot %s`, n, letters[0]), fmt.Sprintf(`\frac{%d%s}{2}`, 2*n, letters[0]))
	s.misses(fmt.Sprintf("%d%s", n, letters[1]), fmt.Sprintf(`%d \cdot %s`, n, letters[1]), fmt.Sprintf("%d%s", n+1, letters[0]))
	return s
}

// vectorProducts are those with a dot, and those with a cross.
func vectorProducts(d *dice) sample {
	write := pick(d, `\vec{%s}`, `\mathbf{%s}`, `\overrightarrow{%s}`)
	u, v := fmt.Sprintf(write, pick(d, "a", "u", "p")), fmt.Sprintf(write, pick(d, "b", "v", "q"))
	n := d.from(2, 9)
	dot, cross := fmt.Sprintf(`%d %s\cdot %s`, n, u, v), fmt.Sprintf(`%d %s\times %s`, n, u, v)
	if d.chance(0.5) {
		s := a(dot)
		s.equals(fmt.Sprintf(`%d %s \cdot %s`, n, v, u), fmt.Sprintf(`%d(%s\cdot %s)`, n, u, v))
		s.misses(cross, fmt.Sprintf(`%d %s\cdot %s`, n+1, u, v), fmt.Sprintf(`%d(%s\times %s)`, n, u, v))
		return s
	}
	s := a(cross)
	s.equals(fmt.Sprintf(`%d %s  \times  %s`, n, u, v), fmt.Sprintf(`%d(%s\times %s)`, n, u, v))
	s.misses(dot, fmt.Sprintf(`%d %s\times %s`, n, v, u), fmt.Sprintf(`%d %s\times %s`, n+1, u, v))
	return s
}
