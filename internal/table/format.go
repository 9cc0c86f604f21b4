package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Print is a number as it is printed in plain text.
func (f Format) Print(v float64) string { return f.format(v) }

// Minus is a printed number with a minus sign in place of a hyphen.
func Minus(printed string) string {
	if digits, negative := strings.CutPrefix(printed, "-"); negative {
		return "−" + digits
	}
	return printed
}

// format rounds v for print.
func (f Format) format(v float64) string {
	if f.Scale != 0 {
		v *= f.Scale
	}
	decimals, suffix := f.Decimals, ""
	if f.Percent {
		v, suffix = 100*v, "%"
	}
	if f.Fine && math.Abs(v) < math.Pow10(1-decimals) {
		decimals++
	}
	if f.Shortest {
		decimals = -1
	}
	s := unsignedZero(strconv.FormatFloat(v, 'f', decimals, 64))
	if f.Signed && v > 0 && strings.Trim(s, "0.") != "" {
		s = "+" + s
	}
	return s + suffix
}

// formatSpread rounds the spread of a number for print: in the same unit, which
// it does not name, and with as many decimals.
func (f Format) formatSpread(number, spread float64) string {
	_, fraction, _ := strings.Cut(strings.TrimSuffix(f.format(number), "%"), ".")
	f.Signed, f.Fine, f.Decimals = false, false, len(fraction)
	return strings.TrimSuffix(f.format(spread), "%")
}

// unsignedZero drops the sign of a number that was rounded to zero.
func unsignedZero(s string) string {
	if v, err := strconv.ParseFloat(s, 64); err == nil && v == 0 && s[0] == '-' {
		return s[1:]
	}
	return s
}

// plain is the cell as text, rounded by its column's format.
func (c Cell) plain(f Format) string {
	var s string
	switch c.kind {
	case missing:
		s = "—"
	case number:
		s = f.format(c.number)
	case integer:
		s = strconv.FormatInt(c.int, 10)
	case pair:
		s = fmt.Sprintf("(%d, %s)", c.int, f.format(c.number))
	case text:
		s = c.text
	}
	if c.spread != nil {
		s += " ±" + f.formatSpread(c.number, *c.spread)
	}
	return s + c.mark
}

// head is the printed heading of a column.
func (c Column) head() Head {
	if c.Head == (Head{}) {
		return Head{Plain: c.Name}
	}
	return c.Head
}

// span is a run of adjacent columns, [from, to), under one group heading.
type span struct {
	head     Head
	from, to int
}

// spans cuts the columns into runs of the same group; a column without a
// group is a run of its own. grouped says whether any group has a name.
func (t Table) spans() (runs []span, grouped bool) {
	for j, c := range t.Columns {
		named := c.Group != (Head{})
		grouped = grouped || named
		if last := len(runs) - 1; named && last >= 0 && runs[last].head == c.Group {
			runs[last].to = j + 1
			continue
		}
		runs = append(runs, span{head: c.Group, from: j, to: j + 1})
	}
	return runs, grouped
}
