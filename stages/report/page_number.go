package report

import (
	"math"
	"strconv"
	"strings"

	"speceval/internal/page"
	"speceval/internal/table"
)

// format is how the numbers of a column are shown: all with as many decimals.
type format struct {
	decimals int
	paper    int // decimals of the paper's with the most; negative where no cell says
}

const mostDecimals = 6

// newFormat takes as many decimals as the cell that needs most: four digits,
// or one decimal more than the paper prints, and two digits of an error.
func newFormat(t table.Table, v valueColumn, judged []Cell) format {
	f := format{paper: -1}
	for _, c := range judged {
		f.paper = max(f.paper, c.decimals)
	}
	for _, row := range t.Rows {
		value, ok := row[v.at].Float()
		if !ok {
			continue
		}
		need := digitsFor(value)
		if f.paper > 0 {
			need = min(f.paper+1, allDigits(value))
		}
		if v.spread >= 0 {
			if se, ok := row[v.spread].Float(); ok && se > 0 {
				need = max(need, 1-int(math.Floor(math.Log10(se))))
			}
		}
		f.decimals = max(f.decimals, min(need, f.most()))
	}
	return f
}

// most is how many decimals a column may have: two more than the paper's.
func (f format) most() int {
	if f.paper < 0 {
		return mostDecimals
	}
	return min(mostDecimals, f.paper+2)
}

// digitsFor is the decimals of four significant digits, or of all digits if the
// number has fewer.
func digitsFor(v float64) int {
	if v == 0 {
		return 0
	}
	return min(allDigits(v), max(0, 3-int(math.Floor(math.Log10(math.Abs(v))))))
}

// allDigits is the decimals of a number with nothing lost.
func allDigits(v float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(fraction)
}

// cell is a cell of the page: the number in a row of the data, with its error,
// the paper's number and the verdict.
func (f format) cell(row []table.Cell, v valueColumn, judged *Cell) page.Cell {
	value := row[v.at]
	c := page.Cell{Text: f.show(value), Exact: value.Exact()}
	if v.spread >= 0 {
		if se, ok := row[v.spread].Float(); ok && se > 0 {
			c.Spread = f.round(se)
			c.Exact += " ± " + row[v.spread].Exact()
		}
	}
	if v.paper >= 0 && !row[v.paper].IsMissing() {
		c.Paper = f.showPaper(row[v.paper], judged)
		c.Difference = difference(value, row[v.paper])
	}
	if judged != nil {
		f.judge(&c, *judged)
	}
	return c
}

// judge adds a verdict to a cell.
func (f format) judge(c *page.Cell, judged Cell) {
	c.Verdict, c.Note = verdictMark(judged.Verdict), judged.Note
	if judged.SEs != nil {
		c.SEs = rounded(judged.SEs, 1, "").Exact()
	}
	if expected := judged.expected(); c.Paper == "" && expected != nil {
		c.Paper = withMinus(strconv.FormatFloat(*expected, 'f', judged.decimals, 64))
		c.Difference = withMinus(rounded(judged.Difference, judged.decimals+2, "+").Exact())
	}
	if c.Paper == "" {
		c.Paper = judged.PaperName
	}
}

// round is a number with the column's decimals, and a zero without any: it is
// exact. Numbers below zero have a minus sign in print.
func (f format) round(v float64) string {
	if v == 0 {
		return "0"
	}
	return withMinus(table.Format{Decimals: f.decimals}.Print(v))
}

// withMinus is a printed number with a minus sign in place of a hyphen.
func withMinus(printed string) string {
	if digits, negative := strings.CutPrefix(printed, "-"); negative {
		return "−" + digits
	}
	return printed
}

// show is a value, rounded if it is a number.
func (f format) show(c table.Cell) string {
	if v, ok := c.Float(); ok {
		return f.round(v)
	}
	if c.IsText() {
		return c.Exact()
	}
	return setApart(c.Exact())
}

// showPaper is a value of the paper's with the decimals that it has there.
func (f format) showPaper(c table.Cell, judged *Cell) string {
	v, ok := c.Float()
	if !ok {
		return f.show(c)
	}
	_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	if judged == nil || len(fraction) >= judged.decimals {
		return withMinus(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return withMinus(strconv.FormatFloat(v, 'f', judged.decimals, 64))
}

// difference is a value minus the paper's; empty where they are no numbers.
func difference(value, paper table.Cell) string {
	v, err := strconv.ParseFloat(value.Exact(), 64)
	p, errPaper := strconv.ParseFloat(paper.Exact(), 64)
	if err != nil || errPaper != nil || value.IsText() {
		return ""
	}
	d := v - p
	if math.Abs(d) < float {
		return "0"
	}
	return withMinus(table.Format{Decimals: max(0, digitsFor(d)-2), Signed: true}.Print(d))
}

// setApart sets apart the thousands of a count by narrow spaces.
func setApart(digits string) string {
	if len(digits) < 5 || strings.Trim(digits, "0123456789") != "" {
		return digits
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}
