package main

import (
	"fmt"
	"math/big"
	"strings"
)

// chains are boxes with a chain of equations, which ends in the answer.
func chains(d *dice) sample {
	n, k := d.from(10, 400), d.from(2, 9)
	s := a(fmt.Sprint(n))
	s.whole, s.only = true, true
	name := pick(d, "x", "S", "f(3)", "m+n", `\angle ABC`, "|AB|", "P", "AB", "a_5", `\text{Area}`)
	chain := func(steps ...string) string {
		return fmt.Sprintf(`We conclude that $\boxed{%s}$.`, strings.Join(steps, pick(d, " = ", "=", "\n= ")))
	}
	s.equals(chain(name, s.gold), chain(name, fmt.Sprintf("%d+%d", n-k, k), s.gold), chain(fmt.Sprintf("%d-%d", n+k, k), s.gold),
		chain(name, fmt.Sprintf(`\frac{%d}{%d}`, n*k, k)))
	s.misses(chain(name, fmt.Sprint(n+1)), chain(name, fmt.Sprintf("%d+%d", n+1-k, k), fmt.Sprint(n+1)),
		chain(fmt.Sprintf("%d-%d", n+k, k+1), fmt.Sprint(n-1)), chain(name, fmt.Sprintf(`\frac{%d}{%d}`, n*k, k+1)))
	return s
}

// responses are texts that say more than the answer.
func responses(d *dice) sample {
	e := element(d)
	s := a(e.gold)
	s.whole, s.only = true, true
	say := func(right, other string) string {
		return pick(d,
			"First we get \\boxed{"+other+"}, which is wrong.\n\nCorrected: \\boxed{"+right+"}",
			"**Final answer**\n\n$$\\boxed{"+right+"}$$\n",
			"Since $"+other+" \\ne "+right+"$, the answer is $\\boxed{"+right+"}$, not $"+other+"$.",
			"We have\n\\begin{align*}\na &= "+other+" \\\\\nb &= 7\n\\end{align*}\nso the answer is \\(\\boxed{"+right+"}\\).",
			"### Step 1\nAssume $"+other+"$.\n### Step 2\n\\[\n\\boxed{\n"+right+"\n}\n\\]\nThis took 2 steps.",
			"The candidates are $"+other+"$ and $"+right+"$; the second is right: $\\boxed{\\boxed{"+right+"}}$",
			"The answer: $\\fbox{$"+right+"$}$",
		)
	}
	for range 4 {
		s.equals(say(e.form(d), e.miss(d)))
		s.misses(say(e.miss(d), e.form(d)))
	}
	return s
}

// boxes are lists of which every element has a box of its own.
func boxes(d *dice) sample {
	all := elements(d, d.from(2, 3))
	s := a(strings.Join(golds(all), ", "))
	s.whole, s.only = true, true
	say := func(list []string) string {
		var boxes []string
		for _, item := range list {
			boxes = append(boxes, pick(d, `$\boxed{`+item+`}$`, `\boxed{`+item+`}`))
		}
		last := len(boxes) - 1
		return "The solutions are " + strings.TrimPrefix(strings.Join(boxes[:last], ", ")+" and "+boxes[last]+".", " and ")
	}
	s.equals(say(golds(all)), say(forms(d, all)))
	s.misses(say(golds(all)[1:]), say(spoilt(d, all)), say(append(golds(all), "1000")))
	return s
}

// pointLists are lists of points, whose order is that of the coordinates alone.
func pointLists(d *dice) sample {
	all := elements(d, 4)
	point := func(list []string) string { return "(" + joined(d, list) + ")" }
	g := golds(all)
	s := a(fmt.Sprintf(`\{(%s, %s), (%s, %s)\}`, g[0], g[1], g[2], g[3]))
	s.only = true
	set := func(points ...string) string {
		return between(d, `\{`, joined(d, points), `\}`)
	}
	f := forms(d, all)
	s.equals(set(point(f[:2]), point(f[2:])), set(point(f[2:]), point(f[:2])), set(point(g[2:]), point(g[:2])))
	bad := spoilt(d, all)
	s.misses(set(point([]string{g[1], g[0]}), point(g[2:])), set(point([]string{g[0], g[3]}), point([]string{g[2], g[1]})),
		set(point(bad[:2]), point(bad[2:])), set(point(g[:2])), point(g), set(g...), set(point(g[:2]), point(g[2:]), "(0,0)"))
	return s
}

// repeating are decimals that do not end, with a line over what comes again.
func repeating(d *dice) sample {
	lead, period := fmt.Sprint(d.from(0, 9)), fmt.Sprint(d.from(1, 98))
	if d.chance(0.2) {
		period = fmt.Sprint(d.from(100, 998))
	}
	nines := strings.Repeat("9", len(period))
	r, _ := new(big.Rat).SetString(period + "/" + nines)
	tail := d.chance(0.4)
	text := `0.\overline{` + period + `}`
	if tail { // a digit before those that repeat
		digit, _ := new(big.Rat).SetString(lead)
		r.Quo(r.Add(r, digit), big.NewRat(10, 1))
		text = "0." + lead + `\overline{` + period + `}`
	}
	s := a(latex(r))
	s.equals(text, r.String(), strings.Replace(text, `\overline{`, `\overline{`+period, 1))
	s.misses("0."+lead+period, strings.Replace(text, "0.", "1.", 1), "-"+text, strings.Replace(text, "0.", "0.0", 1))
	if len(period) == 2 && period[0] != period[1] && !tail {
		s.misses(`0.\overline{` + period[1:] + period[:1] + `}`)
	}
	s.leaves("0." + strings.Repeat(period, 3) + `\ldots`)
	return s
}
