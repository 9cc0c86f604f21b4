package main

import (
	"fmt"
	"strings"
)

// unitNames are units of several kinds, as responses write them.
var unitNames = []string{"cm", "m", "km", "inches", "feet", "miles", "seconds", "minutes", "hours", "days", "kg", "grams", "liters", "square units", "units", "m/s", "km/h", "mph", "gallons", "meters"}

func units(d *dice) sample {
	value, unit := element(d), pick(d, unitNames...)
	if value.gold[0] == '-' {
		value = a("48")
		value.misses("47", "84", "480")
	}
	if value.gold == "0" {
		value = a(`9\pi`)
		value.misses(`9`, `8\pi`, `9\pi^2`)
	}
	s := a(value.gold + `\text{ ` + unit + `}`)
	s.equals(value.gold, value.gold+` \text{ `+unit+`}`, value.form(d)+`\,\text{`+unit+`}`,
		value.gold+`~\mathrm{`+strings.ReplaceAll(unit, " ", "~")+`}`, value.form(d)+`\ \text{`+unit+`}`, value.form(d))
	s.misses(value.miss(d)+`\text{ `+unit+`}`, value.miss(d), value.miss(d)+` \text{ `+unit+`}`)
	s.leaves(value.gold+`\text{ lightyears}`, value.gold+`\text{ `+unit+`}^2`)
	return s
}

// vocabulary are words that are answers by themselves.
var vocabulary = strings.Fields(`red green orange purple Monday Wednesday Saturday January April October circle ellipse parabola square rhombus
	trapezoid odd even prime composite true false yes no north south east west increasing decreasing convergent divergent Alice Boris Clara Dmitri Evelyn
	impossible undefined zero-sum symmetric injective surjective abelian cyclic planar bipartite`)

func texts(d *dice) sample {
	word := pick(d, vocabulary...)
	s := a(`\text{` + word + `}`)
	s.equals(word, `\text{ `+word+`}`, `\mathrm{`+word+`}`, `\textbf{`+word+`}`, `\text{`+strings.ToLower(word)+`}`,
		strings.ToUpper(word[:1])+word[1:], `\text{`+word+`.}`, `\textit{`+word+`}`)
	for len(s.near) < 4 {
		if other := pick(d, vocabulary...); other != word {
			s.misses(other, `\text{`+other+`}`)
		}
	}
	s.misses(fmt.Sprint(d.from(2, 99)), `\text{not `+word+`}`)
	return s
}

func choices(d *dice) sample {
	letter := string(rune('A' + d.below(8)))
	s := a(pick(d, letter, "("+letter+")", `\text{`+letter+`}`))
	s.equals(letter, "("+letter+")", `\text{`+letter+`}`, `\textbf{(`+letter+`)}`, `\mathrm{`+letter+`}`, `\text{(`+letter+`)}`, letter+".",
		`\mathbf{`+letter+`}`)
	for range 4 {
		other := string(rune('A' + d.apart(0, 7, int(letter[0]-'A'))))
		s.misses(other, "("+other+")", `\text{`+other+`}`, letter+other)
	}
	return s
}

func bases(d *dice) sample {
	base := d.from(2, 9)
	digits := fmt.Sprint(d.from(1, base-1))
	for range d.from(2, 6) {
		digits += fmt.Sprint(d.below(base))
	}
	s := a(fmt.Sprintf("%s_%d", digits, base))
	s.equals(fmt.Sprintf("%s_{%d}", digits, base), fmt.Sprintf("{%s}_{%d}", digits, base), fmt.Sprintf("%s _ %d", digits, base))
	s.misses(fmt.Sprintf("%s_{%d}", digits, base+1), fmt.Sprintf("1%s_{%d}", digits, base), fmt.Sprintf("%s0_%d", digits, base))
	if changed := swapped(digits); changed != digits {
		s.misses(fmt.Sprintf("%s_%d", changed, base))
	}
	s.leaves(digits)
	return s
}

// colons are times of day, and ratios.
func colons(d *dice) sample {
	if d.chance(0.5) {
		hour, minute := d.from(1, 12), d.from(0, 59)
		s := a(fmt.Sprintf("%d:%02d", hour, minute))
		s.equals(fmt.Sprintf(`%d\text{:}%02d`, hour, minute), fmt.Sprintf(`\text{%d:%02d}`, hour, minute),
			fmt.Sprintf(`\mathrm{%d:%02d}`, hour, minute))
		s.misses(fmt.Sprintf("%d:%02d", hour+1, minute), fmt.Sprintf("%d:%02d", hour, (minute+1)%60),
			fmt.Sprintf("%d:%02d", hour, (minute+30)%60), fmt.Sprint(hour), fmt.Sprintf("%d%02d", hour, minute))
		s.leaves(fmt.Sprintf(`%d:%02d \text{ PM}`, hour, minute))
		return s
	}
	p := d.from(1, 20)
	q := d.apart(1, 20, p)
	s := a(fmt.Sprintf("%d:%d", p, q))
	s.equals(fmt.Sprintf("%d : %d", p, q), fmt.Sprintf(`%d{:}%d`, p, q), fmt.Sprintf(`%d\,:\,%d`, p, q))
	s.misses(fmt.Sprintf("%d:%d", q, p), fmt.Sprintf("%d:%d", p+1, q), fmt.Sprintf("%d:%d", p, q+1), fmt.Sprint(p+q))
	s.leaves(fmt.Sprintf(`\frac{%d}{%d}`, p, q), fmt.Sprintf("%d:%d", 2*p, 2*q))
	return s
}
