package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/table"
)

// Values is a column of results by row: what was obtained, its errors and the paper's
// numbers, nil where there are none, and the comparisons, nil in a row without one.
type Values struct {
	Obtained, Errors, Paper []table.Cell
	Judged                  []*agreement.Comparison

	decimals int // of all its numbers
}

// Cells is the values as the page shows them, all with the decimals that tell the
// errors.
func (c *Values) Cells() (cells []Cell) {
	c.setDecimals()
	for i := range c.Obtained {
		cells = append(cells, c.cell(i))
	}
	return cells
}

// mostDecimals is how many decimals any number is shown with.
const mostDecimals = 6

// setDecimals takes as many decimals as the number that needs most: four digits,
// or one decimal more than the paper prints, and two digits of an error; but no
// more than two beyond the paper's.
func (c *Values) setDecimals() {
	paper, most := -1, mostDecimals
	for _, judged := range c.Judged {
		if judged != nil {
			paper = max(paper, judged.Decimals)
		}
	}
	if paper >= 0 {
		most = min(most, paper+2)
	}
	for i, cell := range c.Obtained {
		value, ok := cell.Float()
		if !ok {
			continue
		}
		need := digitsFor(value)
		if paper > 0 {
			need = min(paper+1, allDigits(value))
		}
		if se := c.error(i); se > 0 {
			need = max(need, 1-int(math.Floor(math.Log10(se))))
		}
		c.decimals = max(c.decimals, min(need, most))
	}
}

// error is the error of the number in a row, 0 where there is none.
func (c *Values) error(row int) (se float64) {
	if c.Errors != nil {
		se, _ = c.Errors[row].Float()
	}
	return se
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

// cell is a cell of the page: the number in a row with its error, the paper's
// number and the verdict.
func (c *Values) cell(row int) Cell {
	obtained, judged := c.Obtained[row], c.Judged[row]
	cell := Cell{Text: c.show(obtained), Exact: obtained.Exact()}
	if se := c.error(row); se > 0 {
		cell.Spread = c.round(se)
		cell.Exact += " ± " + c.Errors[row].Exact()
	}
	if c.Paper != nil && !c.Paper[row].IsMissing() {
		cell.Paper = c.show(c.Paper[row])
		if v, ok := c.Paper[row].Float(); ok { // with the decimals that it has in the paper
			decimals := allDigits(v)
			if judged != nil {
				decimals = max(decimals, judged.Decimals)
			}
			cell.Paper = fixed(v, decimals)
		}
		cell.Difference = difference(obtained, c.Paper[row])
	}
	if judged == nil {
		return cell
	}
	cell.Verdict, cell.Class, cell.Note = VerdictOf(judged.Verdict), string(judged.Class), judged.Note
	if judged.SEs != nil {
		cell.SEs = agreement.Rounded(judged.SEs, 1, "").Exact()
	}
	if expected := judged.Expected(); cell.Paper == "" && expected != nil {
		cell.Paper = fixed(*expected, judged.Decimals)
		cell.Difference = table.Minus(agreement.Rounded(judged.Difference, judged.Decimals+2, "+").Exact())
	}
	cell.Paper = cmp.Or(cell.Paper, judged.PaperName)
	return cell
}

// show is a value, rounded if it is a number.
func (c *Values) show(cell table.Cell) string {
	if v, ok := cell.Float(); ok {
		return c.round(v)
	}
	if cell.IsText() {
		return cell.Exact()
	}
	return setApart(cell.Exact())
}

// round is a number with the column's decimals, and a zero without any: it is exact.
func (c *Values) round(v float64) string {
	if v == 0 {
		return "0"
	}
	return table.Minus(table.Format{Decimals: c.decimals}.Print(v))
}

// fixed is a number with so many decimals.
func fixed(v float64, decimals int) string {
	return table.Minus(strconv.FormatFloat(v, 'f', decimals, 64))
}

// difference is a value minus the paper's; empty where they are no numbers.
func difference(value, paper table.Cell) string {
	v, p := value.Value(), paper.Value()
	if v == nil || p == nil {
		return ""
	}
	d := *v - *p
	if math.Abs(d) < agreement.Float {
		return "0"
	}
	return table.Minus(table.Format{Decimals: max(0, digitsFor(d)-2), Signed: true}.Print(d))
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

// Duration is a span of seconds as people say it: "3 min 20 s".
func Duration(seconds float64) string {
	s := int64(math.Round(seconds))
	switch {
	case seconds < 0.0095:
		return strconv.FormatFloat(1000*seconds, 'f', 1, 64) + " ms"
	case seconds < 0.995:
		return strconv.FormatFloat(1000*seconds, 'f', 0, 64) + " ms"
	case seconds < 9.95 && seconds != math.Trunc(seconds):
		return strconv.FormatFloat(seconds, 'f', 1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%d d %d h", s/86400, s%86400/3600)
}

// share is how much of a core a time on the processor is: "97%"; empty where
// there was no time.
func share(cpu, wall float64) string {
	if wall <= 0 {
		return ""
	}
	return strconv.FormatFloat(100*cpu/wall, 'f', 0, 64) + "%"
}

// Spaced is a file name as a heading.
func Spaced(id string) string {
	words := strings.ReplaceAll(id, "_", " ")
	return strings.ToUpper(words[:min(1, len(words))]) + words[min(1, len(words)):]
}

// symbols are columns that have a symbol or another name.
var symbols = map[string]string{"benchmark, model": "Profile", "n_tasks": "N", "budget": "b", "m": "m", "w": "w", "m0": "m₀", "alpha": "α"}

// spellings are words of column names that are no plain words.
var spellings = map[string]string{
	"en": "EN", "ibn": "IBN", "hbn": "HBN", "ts": "TS-Neyman", "flops": "FLOPs", "alpha": "α", "m0": "m₀",
	"se": "s.e.", "sd": "s.d.", "b8": "b = 8", "theta": "θ", "mse": "MSE",
}

// Heading is the name of a column in words: "Tuned EN" of tuned_en.
func Heading(column string) string {
	if symbol, ok := symbols[column]; ok {
		return symbol
	}
	words := strings.Split(column, "_")
	for i, word := range words {
		if spelt, ok := spellings[word]; ok {
			words[i] = spelt
		} else if i == 0 && word != "" {
			words[i] = strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return strings.Join(words, " ")
}
