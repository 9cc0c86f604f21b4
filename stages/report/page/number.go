package page

import (
	"math"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/stages/report/model"
)

// scale is the unit that the numbers of a column are shown in, as in print.
type scale struct {
	factor float64
	unit   string
	signed bool
}

func newScale(c model.Column) scale {
	switch f := c.Format; {
	case f.Percent:
		return scale{100, "%", f.Signed}
	case f.Scale == 100:
		return scale{100, " pp", f.Signed} // percentage points
	}
	return scale{1, "", c.Format.Signed}
}

// print is a number with a number of decimals.
func (s scale) print(v float64, decimals int) string {
	text := table.Format{Decimals: max(0, decimals), Signed: s.signed, Scale: s.factor}.Print(v)
	return table.Minus(text) + s.unit
}

// in is a number in the unit, without the noise of the multiplication.
func (s scale) in(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v*s.factor, 'g', 12, 64), 64)
	return v
}

// column is the numbers of a column by row, with their errors and the paper's numbers,
// Missing where there are none, and their comparisons, nil where there are none.
type column struct {
	scale
	cells, errors, paper []table.Cell
	judged               []*agreement.Comparison
}

// mostDecimals is how many decimals a number is shown with.
const mostDecimals = 6

// decimals are those of the number that needs most: four digits, or one decimal more
// than the paper prints, and two digits of an error; but no more than two beyond the
// paper's.
func (c column) decimals() (n int) {
	paper, most := -1, mostDecimals
	for _, judged := range c.judged {
		if judged != nil {
			paper = max(paper, c.paperDecimals(judged))
		}
	}
	if paper >= 0 {
		most = min(most, paper+2)
	}
	for i, cell := range c.cells {
		v, ok := cell.Float()
		if !ok || v == 0 {
			continue
		}
		_, fraction, _ := strings.Cut(strconv.FormatFloat(c.in(v), 'f', -1, 64), ".")
		if paper < 0 && math.Abs(c.in(v)) >= 1 {
			most = min(most, 3)
		}
		need := 3 - int(math.Floor(math.Log10(math.Abs(c.in(v)))))
		if paper > 0 {
			need = paper + 1
		}
		need = min(need, len(fraction))
		if se, ok := c.errors[i].Float(); ok && se > 0 {
			need = max(need, 1-int(math.Floor(math.Log10(c.in(se)))))
		}
		n = max(n, min(need, most))
	}
	return n
}

// paperDecimals are the decimals of the paper's number in the unit.
func (c column) paperDecimals(judged *agreement.Comparison) int {
	return max(0, judged.Decimals-int(math.Log10(c.factor)))
}

// shown is the cells as the page shows them.
func (c column) shown() (all []cell) {
	decimals := c.decimals()
	for i, of := range c.cells {
		s := cell{Exact: of.Exact(), Text: of.IsText()}
		if v, ok := of.Float(); ok {
			s.Value = c.print(v, decimals)
		} else {
			s.Value = count(of)
		}
		if se, ok := c.errors[i].Float(); ok && se > 0 {
			s.Spread = scale{factor: c.factor}.print(se, decimals)
			s.Exact += " ± " + c.errors[i].Exact()
		}
		if judged := c.judged[i]; judged != nil {
			s.mark, s.Why, s.Expected = markOf(*judged), judged.Sentence(), judged.PaperName
			_, s.Beside = judged.Sides()
			expected := judged.Expected()
			switch _, isFloat := c.paper[i].Float(); {
			case s.Expected != "":
			case !c.paper[i].IsMissing() && !isFloat: // a count, which may be compared in another unit
				s.Expected = count(c.paper[i])
			case expected != nil:
				s.Expected = c.print(*expected, c.paperDecimals(judged))
			}
		}
		all = append(all, s)
	}
	return all
}

// count is a count with commas, and any other cell as it is.
func count(of table.Cell) string {
	if n, err := strconv.ParseInt(of.Exact(), 10, 64); err == nil && !of.IsText() {
		return display.Thousands(n)
	}
	return of.Exact()
}
