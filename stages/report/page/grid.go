package page

import (
	"cmp"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/table"
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
	stored := s.Stored()
	errorOf, paperOf := map[string]model.Column{}, map[string]model.Column{}
	var values []model.Column
	for _, c := range stored {
		_, taken := errorOf[c.Of]
		switch {
		case c.IsKey():
		case c.IsPaper():
			paperOf[c.Of] = c
		case c.Of != "" && !taken && slices.ContainsFunc(stored, func(of model.Column) bool { return of.Name == c.Of }):
			errorOf[c.Of] = c
		default:
			values = append(values, c)
		}
	}
	var last scale // with a unit, which bounds after it share
	for _, c := range values {
		numbers := column{scale: newScale(c)}
		if numbers.unit != "" {
			last = numbers.scale
		} else if last.unit != "" && (strings.HasSuffix(c.Name, "_low") || strings.HasSuffix(c.Name, "_high")) {
			numbers.scale = last
		}
		for i := range g.Rows {
			numbers.cells = append(numbers.cells, c.Cell(i))
			numbers.judged = append(numbers.judged, at[[2]string{g.Rows[i].Label, c.Name}])
			numbers.errors = append(numbers.errors, cellIn(errorOf, c.Name, i))
			numbers.paper = append(numbers.paper, cellIn(paperOf, c.Name, i))
		}
		g.Heads = append(g.Heads, head{c.Name, heading(c.Name), c.Words})
		for i, cell := range numbers.shown() {
			g.Rows[i].Cells = append(g.Rows[i].Cells, cell)
		}
	}
}

// cellIn is a cell of a column of a map, Missing where it has none.
func cellIn(columns map[string]model.Column, name string, row int) table.Cell {
	if c, ok := columns[name]; ok {
		return c.Cell(row)
	}
	return table.Missing()
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
