package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
)

// mostRows is the number of rows beyond which a table is a link to its CSV file, and
// openRows the number beyond which it is folded.
const (
	mostRows = 64
	openRows = 20
)

// grid is a table: a row has a cell for each head.
type grid struct {
	ID, Name, Title string
	Count           int // of its rows; the page has all of them or none
	Open            bool
	Heads           []head
	Rows            []row
	Notes           []string
	Files           []string
}

// Folded reports whether the table is shown when asked for.
func (g *grid) Folded() bool { return !g.Open && g.Count > openRows }

// head is the heading of a column.
type head struct {
	Name, Words string // in commands, and for people
	Formula     string // its words in `speceval explain`
}

// row is a row by its name in `speceval explain`.
type row struct {
	Label string
	Cells []cell
}

// cell is a value as shown, with what its popover says.
type cell struct {
	Value, Spread string // rounded; empty where there is none
	Exact         string
	Beside        string // what Expected is: "paper"
	Expected      string
	Why           string // the comparison, as `speceval explain` has it
	Text          bool   // it is a name
	Source        string // the table, row and column of explain, where they are not the cell's own, by tabs
	mark
}

// shows reports whether a cell of the table has a comparison.
func (g *grid) shows(c agreement.Comparison) bool {
	return c.Table == g.ID && slices.ContainsFunc(g.Rows, func(r row) bool { return r.Label == c.Row }) &&
		slices.ContainsFunc(g.Heads, func(h head) bool { return h.Name == c.Column })
}

// fill sets the cells: a column of the sheet each, but for keys, which label the rows,
// the paper's numbers, and the first error of a column, which stand in the cells of it.
func (g *grid) fill(s *model.Sheet, compared agreement.Comparisons) {
	at := map[[2]string]*agreement.Comparison{} // by row and column
	for i, c := range compared {
		at[[2]string{c.Row, c.Column}] = &compared[i]
	}
	for _, label := range s.Labels() {
		g.Rows = append(g.Rows, row{Label: label})
	}
	for _, c := range s.Stored() {
		if e := s.ErrorOf(c.Of); c.IsKey() || c.IsPaper() || c.Of != "" && e.Name == c.Name {
			continue
		}
		g.Heads = append(g.Heads, head{c.Name, heading(c.Name), c.Words})
		var judged []*agreement.Comparison
		for _, r := range g.Rows {
			judged = append(judged, at[[2]string{r.Label, c.Name}])
		}
		decimals := decimalsOf(s, c, judged)
		for i := range g.Rows {
			g.Rows[i].Cells = append(g.Rows[i].Cells, newCell(s, c, i, judged[i], decimals))
		}
	}
}

// units are behind numbers that are multiplied in print.
var units = map[float64]string{100: " pp", 1000: " ms"}

// printed is a number in the unit of a format, with a number of decimals.
func printed(f table.Format, v float64, decimals int) string {
	f.Decimals, f.Fine = max(0, decimals), false
	return table.Minus(f.Print(v)) + units[f.Scale]
}

// places are the decimals of a fraction that the unit of a format takes away.
func places(f table.Format) int {
	if f.Percent {
		return 2
	}
	return int(math.Log10(cmp.Or(f.Scale, 1)))
}

// decimalsOf are one more than the paper prints in a column, or enough to give its largest
// number four digits and its largest error two.
func decimalsOf(s *model.Sheet, c model.Column, judged []*agreement.Comparison) int {
	decimals, largest, spread := -1, 0.0, 0.0
	for i, of := range judged {
		if v, ok := c.Cell(i).Float(); ok {
			largest = max(largest, math.Abs(v))
		}
		if se := s.Spread(c, i); se != nil {
			spread = max(spread, *se)
		}
		if of != nil {
			decimals = max(decimals, of.Decimals+1)
		}
	}
	if decimals < 0 && largest > 0 {
		decimals = digits(4, largest)
		if spread > 0 {
			decimals = max(decimals, digits(2, spread))
		}
	}
	return min(6, decimals) - places(c.Format)
}

// digits are the decimals that give a number as many digits.
func digits(n int, v float64) int { return n - 1 - int(math.Floor(math.Log10(v))) }

// newCell is a cell as the page shows it.
func newCell(s *model.Sheet, c model.Column, row int, judged *agreement.Comparison, decimals int) cell {
	of := c.Cell(row)
	shown := cell{Value: count(of), Exact: of.Exact(), Text: of.IsText()}
	if v, ok := of.Float(); ok {
		shown.Value = printed(c.Format, v, decimals)
	}
	if se := s.Spread(c, row); se != nil && *se > 0 {
		shown.Spread = printed(table.Format{}, *se*math.Pow10(places(c.Format)), decimals)
		shown.Exact += " ± " + table.Number(*se).Exact()
	}
	if judged == nil {
		return shown
	}
	shown.mark, shown.Why, shown.Expected = markOf(*judged), judged.Sentence(), judged.PaperName
	_, shown.Beside = judged.Sides()
	theirs, expected := s.Theirs(c, row), judged.Expected()
	_, isFloat := theirs.Float()
	switch {
	case shown.Expected != "":
	case !theirs.IsMissing() && !isFloat: // a count, which may be compared in another unit
		shown.Expected = count(theirs)
	case expected != nil:
		shown.Expected = printed(c.Format, *expected, judged.Decimals-places(c.Format))
	}
	return shown
}

// count is a count with commas, and any other cell as it is.
func count(of table.Cell) string {
	if n, err := strconv.ParseInt(of.Exact(), 10, 64); err == nil && !of.IsText() {
		return display.Thousands(n)
	}
	return of.Exact()
}

// spellings are words of column names that are no plain words.
var spellings = map[string]string{
	"en": "EN", "ibn": "IBN", "hbn": "HBN", "ts": "TS-Neyman", "flops": "FLOPs", "alpha": "α", "m0": "m₀",
	"se": "s.e.", "sd": "s.d.", "theta": "θ", "mse": "MSE", "m": "m", "w": "w",
}

// heading is the name of a column for people: "Tuned EN" of tuned_en.
func heading(column string) string {
	words := strings.Split(column, "_")
	for i, word := range words {
		words[i] = cmp.Or(spellings[word], word)
	}
	if spellings[strings.Split(column, "_")[0]] == "" {
		words[0] = capital(words[0])
	}
	return strings.Join(words, " ")
}

// capital is text with a capital letter.
func capital(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):]
}
