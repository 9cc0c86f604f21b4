package main

import (
	"fmt"
	"strings"
)

// sentences end a response without a box, and have no formula.
func sentences(d *dice) sample {
	n, k := d.from(11, 999), d.from(1, 9)
	s := a(fmt.Sprint(n))
	if d.chance(0.3) {
		s = a(fmt.Sprintf(`\frac{%d}{%d}`, 2*k-1, 16))
	}
	s.whole, s.only = true, true
	plain := strings.NewReplacer(`\frac{`, "", "}{", "/", "}", "").Replace
	say := func(right, other string) string {
		text := pick(d, "Therefore, @.", "Hence it is @.", "There are # cases at first. After all of them, the largest n is @.", "So the total comes to @.",
			"Starting from #, we end at @.", "Thus the sum equals @", "Consequently the number of ways is @.", "We counted twice and got @.",
			"One might guess #. In fact, the value of m is @.", "Final count: @", "Altogether: @.")
		return strings.NewReplacer("@", plain(right), "#", plain(other)).Replace(text)
	}
	other := fmt.Sprint(n + k)
	s.equals(say(s.gold, other), say(s.gold, other))
	s.misses(say(other, s.gold), say(other, s.gold), fmt.Sprintf("There are at least %s.", plain(s.gold)), "Nothing follows from this.")
	return s
}

// cutFormulas are responses whose last formula does not end.
func cutFormulas(d *dice) sample {
	p, q := d.from(2, 40), d.from(41, 90)
	s := a(fmt.Sprint(p + q))
	s.whole, s.only = true, true
	begin := pick(d, "We have $a = %d$ and $b = %d$, so ", "First $x = %d$. Then $y = %d$. Hence ", "With $p=%d$ and $q=%d$ we get ")
	say := func(end string) string { return fmt.Sprintf(begin, p, q) + end }
	s.equals(say(fmt.Sprintf("$%d", p+q)), say(fmt.Sprintf(`\(%d`, p+q)), say(fmt.Sprintf("$s = %d", p+q)), say(fmt.Sprintf("$%d + %d = %d", p, q, p+q)))
	s.misses(say("$s ="), say(fmt.Sprintf("$%d", p+q+1)), say(fmt.Sprintf(`$s = %d + %d + \sqrt`, p+q, q)), say(fmt.Sprintf(`$\sqrt[3]%d \cdot`, p+q)), say(`$\frac`))
	return s
}

// formulaLists are responses whose answers have a formula each.
func formulaLists(d *dice) sample {
	all := elements(d, 2)
	s := a(strings.Join(golds(all), ", "))
	s.whole, s.only = true, true
	say := func(list []string) string {
		name := pick(d, "", "x=", "t = ")
		return fmt.Sprintf(pick(d, "The solutions are $%s$ and $%s$.", "So the roots are $%s$, $%s$.", `We find \(%s\) and \(%s\).`), name+list[0], name+list[1])
	}
	s.equals(say(golds(all)), say(shuffled(d, forms(d, all))))
	s.misses(say(spoilt(d, all)), say(spoilt(d, all)), fmt.Sprintf("The only root is $%s$.", golds(all)[1]), say([]string{golds(all)[0], "1000"}))
	return s
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

func numberWords(d *dice) sample {
	n := d.from(1, 99)
	s := a(fmt.Sprint(n))
	s.only = true
	s.equals(inWords(n), `\text{`+inWords(n)+`}`, strings.ToUpper(inWords(n)[:1])+inWords(n)[1:])
	s.misses(inWords(n%99+1), `\text{`+inWords(n%90+5)+`}`, inWords(n)+" thousand", "half of "+inWords(n))
	return s
}

// percentWords spell the percent sign.
func percentWords(d *dice) sample {
	n := d.from(2, 99)
	s := a(fmt.Sprintf(`%d\%%`, n))
	s.only = true
	s.equals(fmt.Sprintf("%d percent", n), fmt.Sprintf("%d per cent", n), fmt.Sprintf(`%d\text{ per cent}`, n), fmt.Sprintf(`%d \text{ percent}`, n),
		inWords(n)+" percent", inWords(n)+" per cent", fmt.Sprintf("0.%02d", n), fmt.Sprint(n), fmt.Sprintf(`\frac{%d}{100}`, n))
	s.misses(fmt.Sprintf("%d percent", n+1), fmt.Sprintf(`%d\text{ per cent}`, 10*n+1), inWords(n%99+1)+" percent", fmt.Sprintf("0.0%02d", n),
		fmt.Sprintf("0.%02d percent", n), fmt.Sprintf("1 in %d", n+1))
	return s
}

// shares are numbers up to 1, as a percentage perhaps.
func shares(d *dice) sample {
	n := d.from(1, 99)
	s := a(fmt.Sprintf("0.%02d", n))
	s.equals(fmt.Sprintf(`%d\%%`, n), fmt.Sprintf(`%d.0\%%`, n), fmt.Sprintf(`\frac{%d}{100}`, n), fmt.Sprintf("%d percent", n), fmt.Sprintf("%d%%", n))
	s.misses(fmt.Sprintf(`0.%02d\%%`, n), fmt.Sprintf(`%d\%%`, n+1), fmt.Sprintf(`%d.5\%%`, n), fmt.Sprintf(`%d\%%`, 10*n+1), fmt.Sprintf(`0.%02d\text{ percent}`, n))
	s.only = true
	return s
}

// gluedUnits are units behind thousands without a space.
func gluedUnits(d *dice) sample {
	n := d.from(1001, 999999)
	unit := pick(d, "m", "km", "kg", "g", "s", "cm", "ft", "mm", "mg", "L", "h")
	head, tail := n/1000, fmt.Sprintf("%03d", n%1000)
	s := a(fmt.Sprintf(`%d\text{ %s}`, n, unit))
	if d.chance(0.4) {
		s = a(fmt.Sprint(n))
	}
	s.only = true
	s.equals(fmt.Sprintf("%d,%s%s", head, tail, unit), fmt.Sprintf(`%d,%s\text{%s}`, head, tail, unit), fmt.Sprintf("%d{,}%s%s", head, tail, unit),
		fmt.Sprintf("%d,%s %s", head, tail, unit), fmt.Sprintf(`%d,%s\mathrm{%s}`, head, tail, unit))
	s.misses(fmt.Sprintf("%d,%s%s", head+1, tail, unit), fmt.Sprintf("%d.%s%s", head, tail, unit), fmt.Sprintf("%d,%s0%s", head, tail, unit),
		fmt.Sprintf("%d%s", head, unit), fmt.Sprintf("%d, %s%s", head, tail, unit))
	return s
}

// mixedForms are mixed numbers as LaTeX writes them in many ways.
func mixedForms(d *dice) sample {
	w, q := d.from(1, 30), d.from(2, 12)
	p := d.from(1, q-1)
	minus := pick(d, "", "", "-")
	s := a(fmt.Sprintf(`%s\frac{%d}{%d}`, minus, w*q+p, q))
	s.only = true
	for _, form := range []string{`%d\frac{%d}{%d}`, `%d \dfrac{%d}{%d}`, `%d\,\tfrac{%d}{%d}`, `{%d}\frac{%d}{%d}`, `%d{\frac{%d}{%d}}`, `%d~\frac{%d}{%d}`, `%d\ \frac{%d}{%d}`, `%d\;\dfrac{%d}{%d}`, `%d\text{ and }\frac{%d}{%d}`, `%d\text{ }\frac{%d}{%d}`} {
		s.equals(minus + fmt.Sprintf(form, w, p, q))
		s.misses(minus+fmt.Sprintf(form, w+1, p, q), minus+fmt.Sprintf(form, w, p, q+w))
	}
	s.misses(minus+fmt.Sprintf(`%d\cdot\frac{%d}{%d}`, w+1, p, q), minus+fmt.Sprintf(`(%d-\frac{%d}{%d})`, w, p, q), fmt.Sprintf(`%d, \frac{%d}{%d}`, w, p, q))
	return s
}

// primePowers are products of powers without a sign between.
func primePowers(d *dice) sample {
	p, q := pick(d, 2, 3), pick(d, 5, 7, 11)
	e, f := d.from(2, 6), d.from(2, 3)
	value := 1
	for range e {
		value *= p
	}
	for range f {
		value *= q
	}
	s := a(fmt.Sprint(value))
	s.equals(fmt.Sprintf("%d^%d %d^%d", p, e, q, f), fmt.Sprintf("%d^{%d}%d^{%d}", p, e, q, f), fmt.Sprintf(`%d^{%d} \, %d^{%d}`, p, e, q, f),
		fmt.Sprintf(`%d^%d \cdot %d^%d`, p, e, q, f), fmt.Sprintf(`%d^%d\; %d^%d`, q, f, p, e), fmt.Sprintf("(%d^%d)(%d^%d)", p, e, q, f))
	s.misses(fmt.Sprintf("%d^%d %d^%d", p, e+1, q, f), fmt.Sprintf("%d^%d + %d^%d", p, e, q, f), fmt.Sprintf("%d^%d, %d^%d", p, e, q, f),
		fmt.Sprintf("%d^{%d} %d", p, e, q), fmt.Sprintf(`%d^%d\, %d^%d`, p, e, q, f+1))
	return s
}
