package main

import (
	"strings"
)

// dressed is an expression as a response has it: by itself, in mathematics, in
// a box, or in a text, maybe with others that are not the answer.
func dressed(d *dice, expression string, others []string) (text string, prose bool) {
	math, box := "$"+expression+"$", `\boxed{`+expression+"}"
	other := "0"
	if len(others) > 0 {
		other = pick(d, others...)
	}
	switch d.below(16) {
	case 0, 1, 2:
		return expression, false
	case 3, 4:
		return math, false
	case 5:
		return box, false
	case 6:
		return "$" + box + "$", false
	case 7:
		return `$\displaystyle ` + expression + "$", false
	case 8:
		return "$$" + expression + "$$", false
	case 9:
		return `\(` + expression + `\)`, false
	case 10:
		return `\boxed{ ` + expression + ` }`, false
	case 11:
		return "The answer is " + math + ".", true
	case 12:
		return "Therefore, the final answer is $" + box + "$.", true
	case 13:
		return "One might expect $" + other + "$, but a closer look gives $" + box + "$.", true
	case 14:
		return "Step 1. We try $" + other + "$ and see that it fails in 3 of 8 cases. Step 2. What remains is $" + box + "$", true
	default:
		return `\[` + box + `\]`, false
	}
}

// gap is what may stand between two symbols without a meaning.
func (d *dice) gap() string {
	return pick(d, "", "", "", " ", " ", `\,`, `\;`, `\ `, "  ", `\:`)
}

// joined puts items in a row, with commas and gaps between.
func joined(d *dice, items []string) string {
	gap := d.gap()
	return strings.Join(items, ","+gap)
}

// between puts a body between delimiters of some size.
func between(d *dice, open, body, end string) string {
	switch d.below(4) {
	case 0:
		return `\left` + open + body + `\right` + end
	case 1:
		return open + d.gap() + body + d.gap() + end
	case 2:
		size := pick(d, `\big`, `\Big`, `\bigg`)
		if d.chance(0.5) {
			return size + "l" + open + body + size + "r" + end
		}
		return size + open + body + size + end
	default:
		return open + body + end
	}
}
