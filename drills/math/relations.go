package main

import (
	"fmt"
	"math/big"
)

// assignments say what a variable or a function is.
func assignments(d *dice) sample {
	v := pick(d, "x", "y", "n", "k", "r", "A")
	value := element(d)
	if d.chance(0.4) {
		m, b := d.apart(-9, 9, 0), d.apart(-9, 9, 0)
		right := sum(term(m, "x"), term(b, ""))
		name := pick(d, "y", "f(x)", "y")
		s := a(name + " = " + right)
		s.equals(name+"="+right, right, name+" = "+sum(term(b, ""), term(m, "x")), name+fmt.Sprintf(` = %d + %d \cdot x`, b, m))
		s.misses(name+" = "+sum(term(-m, "x"), term(b, "")), name+" = "+sum(term(m, "x"), term(-b, "")),
			name+" = "+sum(term(m, "x"), term(b+1, "")), sum(term(m, "x"), term(-b, "")), name+" = "+sum(term(m, "x^2"), term(b, "")),
			fmt.Sprintf("%s = %d", name, b))
		return s
	}
	s := a(v + " = " + value.gold)
	s.only = true
	s.equals(v+"="+value.form(d), value.form(d), value.gold, v+` = `+value.form(d)+".")
	s.misses(v+" = "+value.miss(d), value.miss(d), v+" > "+value.gold, v+` \ne `+value.gold, "w = "+value.gold, value.gold+" "+v)
	return s
}

// linesInPlane are equations ax + by = c.
func linesInPlane(d *dice) sample {
	p, q, c := d.apart(-9, 9, 0), d.apart(-9, 9, 0), d.apart(-20, 20, 0)
	write := func(p, q, c int) string { return sum(term(p, "x"), term(q, "y")) + fmt.Sprintf(" = %d", c) }
	s := a(write(p, q, c))
	s.equals(sum(term(q, "y"), term(p, "x"))+fmt.Sprintf(" = %d", c), fmt.Sprintf("%d = %s", c, sum(term(p, "x"), term(q, "y"))),
		sum(term(p, "x"), term(q, "y"), term(-c, ""))+" = 0", write(-p, -q, -c), sum(term(p, "x"))+" = "+sum(term(c, ""), term(-q, "y")),
		"0 = "+sum(term(-p, "x"), term(-q, "y"), term(c, "")))
	s.leaves(write(2*p, 2*q, 2*c), fmt.Sprintf("y = %s", sum(term(-p, "x"), term(c, "")))+fmt.Sprintf(" + %d y", 1-q))
	s.misses(write(p, q, -c), write(p, -q, c), write(p+1, q, c), write(p, q, c+1), sum(term(p, "x"), term(q, "y")), fmt.Sprint(c),
		fmt.Sprintf("%s < %d", sum(term(p, "x"), term(q, "y")), c), sum(term(p, "x"), term(q, "z"))+fmt.Sprintf(" = %d", c))
	if p != q {
		s.misses(write(q, p, c))
	}
	return s
}

func inequalities(d *dice) sample {
	value := element(d)
	symbols := pick(d, [4]string{"<", ">", `\le`, `\ge`}, [4]string{">", "<", `\ge`, `\le`}, [4]string{`\le`, `\ge`, "<", ">"}, [4]string{`\ge`, `\le`, ">", "<"})
	symbol, flipped, looser, opposite := symbols[0], symbols[1], symbols[2], symbols[3]
	if d.chance(0.4) {
		p := d.from(-20, 10)
		q := p + d.from(2, 20)
		first, second := pick(d, "<", `\le `), pick(d, "<", `\le `)
		turned := map[string]string{"<": ">", `\le `: `\ge `}
		weaker := map[string]string{"<": `\le `, `\le `: "<"}
		s := a(fmt.Sprintf("%d %sx %s%d", p, first, second, q))
		s.equals(fmt.Sprintf("%d %sx%s %d", p, first, second, q), fmt.Sprintf("%d %s x %s %d", q, turned[second], turned[first], p),
			fmt.Sprintf(`\frac{%d}{2} %s x %s %d.0`, 2*p, first, second, q))
		s.misses(fmt.Sprintf("%d %s x %s %d", p, weaker[first], second, q), fmt.Sprintf("%d %s x %s %d", p, first, weaker[second], q),
			fmt.Sprintf("%d %s x %s %d", p, first, second, q+1), fmt.Sprintf("x %s %d", second, q),
			fmt.Sprintf("%d %s y %s %d", p, first, second, q), fmt.Sprint(p))
		return s
	}
	s := a(fmt.Sprintf("x %s %s", symbol, value.gold))
	s.equals(fmt.Sprintf("x %s %s", symbol, value.form(d)), fmt.Sprintf("%s %s x", value.form(d), flipped),
		fmt.Sprintf("%s %s x", value.gold, flipped))
	if symbol == `\le` || symbol == `\ge` {
		s.equals(fmt.Sprintf("x %sq %s", symbol, value.gold), fmt.Sprintf("x %sqslant %s", symbol, value.gold),
			fmt.Sprintf("x %s %s", map[string]string{`\le`: "≤", `\ge`: "≥"}[symbol], value.gold))
	}
	s.misses(fmt.Sprintf("x %s %s", flipped, value.gold), fmt.Sprintf("x %s %s", looser, value.gold),
		fmt.Sprintf("x %s %s", opposite, value.gold), fmt.Sprintf("%s %s x", value.gold, symbol),
		fmt.Sprintf("x %s %s", symbol, value.miss(d)), value.gold, "x = "+value.gold, fmt.Sprintf("t %s %s", symbol, value.gold))
	return s
}

func percents(d *dice) sample {
	n := d.from(1, 999)
	text := fmt.Sprint(n)
	if d.chance(0.3) {
		text = big.NewRat(int64(n*2+1), 2).FloatString(1)
	}
	s := a(text + `\%`)
	s.equals(text+"%", text+` \%`, text, text+`\text{ percent}`, text+`\,\%`, "{"+text+`}\%`)
	s.misses(fmt.Sprintf(`%d\%%`, n+2), fmt.Sprintf(`%d\%%`, 10*n+5), fmt.Sprintf(`-%s\%%`, text), fmt.Sprintf(`0.00%d`, n),
		fmt.Sprint(n+2))
	value, _ := new(big.Rat).SetString(text)
	s.leaves(value.Quo(value, big.NewRat(100, 1)).FloatString(3), latex(value))
	return s
}

func money(d *dice) sample {
	whole, cents := d.from(1, 99999), d.from(0, 99)
	text := fmt.Sprint(whole)
	if d.chance(0.4) {
		text = fmt.Sprintf("%d.%02d", whole, cents)
	}
	s := a(`\$` + text)
	s.equals(text, `\$ `+text, text+`\text{ dollars}`, text+" dollars")
	big := big.NewInt(int64(whole))
	if text == fmt.Sprint(whole) {
		s.equals(`\$`+text+".00", `\$`+grouped(big, ","), `\$`+grouped(big, "{,}"), grouped(big, ","))
		s.misses(`\$`+text+".01", `\$`+text+".50")
	}
	s.misses(fmt.Sprintf(`\$%d`, whole+1), fmt.Sprint(10*whole+1), `-\$`+text, fmt.Sprintf(`\$%d.37`, whole+3))
	return s
}
