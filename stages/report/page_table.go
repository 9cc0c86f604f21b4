package report

import (
	"slices"
	"strings"

	"speceval/internal/page"
	"speceval/internal/profile"
	"speceval/internal/table"
	"speceval/stages/report/formula"
)

// mostRows is how many rows a table may have to be shown at once, with a line of
// explanation for every cell.
const mostRows = 64

// keyColumns are the columns that name a row, in the order of its label.
var keyColumns = []string{"provenance", "benchmark", "model", "n_tasks", "budget", "policy", "rewards", "strategy", "task_id"}

// layout is which columns of a sheet stand where on the page.
type layout struct {
	keys   []int // columns of the data
	values []valueColumn
}

// valueColumn is a column of numbers with those that stand in the same cells.
type valueColumn struct {
	at, spread, paper int // columns of the data; negative where there is none
	name, spreadName  string
}

// newLayout finds the columns that belong together: a number, its error, which
// is named alike and ends in _se or _sd, and the paper's.
func newLayout(columns []table.Column) layout {
	var l layout
	index := map[string]int{}
	for j, c := range columns {
		index[c.Name] = j
	}
	for _, key := range keyColumns {
		if j, ok := index[key]; ok {
			l.keys = append(l.keys, j)
		}
	}
	for j, c := range columns {
		_, error := errorOf(c.Name)
		if slices.Contains(l.keys, j) || strings.HasPrefix(c.Name, "paper_") || error && l.owner(c.Name) >= 0 {
			continue
		}
		v := valueColumn{at: j, spread: -1, paper: -1, name: c.Name}
		if p, ok := index["paper_"+c.Name]; ok {
			v.paper = p
		}
		l.values = append(l.values, v)
	}
	for j, c := range columns {
		if i := l.owner(c.Name); i >= 0 && !strings.HasPrefix(c.Name, "paper_") {
			l.values[i].spread = j
			l.values[i].spreadName, _ = errorOf(c.Name)
		}
	}
	return l
}

// errorOf tells the column of an error: "s.e." or "s.d.".
func errorOf(name string) (what string, ok bool) {
	switch {
	case strings.HasSuffix(name, "_se"):
		return "s.e.", true
	case strings.HasSuffix(name, "_sd"):
		return "s.d.", true
	}
	return "", false
}

// owner is the value column that a column of errors is of: hbn of hbn_se, or the
// nearest one of variance_ratio for ratio_se and worst_ratio for worst_se;
// negative for other columns.
func (l layout) owner(name string) int {
	if _, ok := errorOf(name); !ok {
		return -1
	}
	stem := name[:len(name)-len("_se")]
	near := -1
	for i, v := range l.values {
		if v.name == stem {
			return i
		}
		if v.name == name {
			return -1 // it stands alone
		}
		if strings.HasPrefix(v.name, stem+"_") || strings.HasSuffix(v.name, "_"+stem) {
			near = i
		}
	}
	return near
}

// fill puts the rows of a sheet into a table of the page.
func (b pageBuilder) fill(t *page.Table, s Sheet) {
	l := newLayout(s.Data.Columns)
	t.Folded = len(s.Data.Rows) > mostRows
	merged := l.mergesProfile(s.Data.Columns)
	for i, j := range l.keys {
		c := page.Column{Name: s.Data.Columns[j].Name, Head: heading(s.Data.Columns[j].Name), Key: true}
		if merged && i == 0 {
			c = page.Column{Name: "benchmark, model", Head: "Profile", Key: true}
		} else if merged && i == 1 {
			continue
		}
		t.Columns = append(t.Columns, c)
	}
	labels := s.Labels()
	formats := make([]format, len(l.values))
	for i, v := range l.values {
		cells := b.cells.column(t.ID, labels, v.name)
		formats[i] = newFormat(s.Data, v, cells)
		words, _ := formula.Of(t.ID, v.name)
		c := page.Column{Name: v.name, Head: heading(v.name), Spread: v.spreadName, Formula: words.Plain}
		c.Text = slices.ContainsFunc(s.Data.Rows, func(row []table.Cell) bool { return row[v.at].IsText() })
		if len(cells) > 0 && cells[0].Live {
			_, c.Beside = cells[0].sides()
		}
		t.Columns = append(t.Columns, c)
	}
	for i, row := range s.Data.Rows {
		line := page.Row{Label: labels[i], Keys: l.rowKeys(row, merged)}
		for k, v := range l.values {
			judged, _ := b.cells.take(t.ID, labels[i], v.name)
			line.Cells = append(line.Cells, formats[k].cell(row, v, judged))
		}
		t.Rows = append(t.Rows, line)
	}
}

// mergesProfile reports whether the first keys are a benchmark and a model.
func (l layout) mergesProfile(columns []table.Column) bool {
	return len(l.keys) > 1 && columns[l.keys[0]].Name == "benchmark" && columns[l.keys[1]].Name == "model"
}

// rowKeys is the keys of a row as shown.
func (l layout) rowKeys(row []table.Cell, merged bool) []string {
	var keys []string
	for _, j := range l.keys {
		keys = append(keys, row[j].Exact())
	}
	if merged {
		name := profile.Profile{Benchmark: keys[0], Model: keys[1]}.Name()
		keys = append([]string{name}, keys[2:]...)
	}
	return keys
}

// symbols are columns that have one.
var symbols = map[string]string{"n_tasks": "N", "budget": "b", "m": "m", "w": "w", "m0": "m₀", "alpha": "α"}

// spellings are words of column names that are no plain words.
var spellings = map[string]string{
	"en": "EN", "ibn": "IBN", "hbn": "HBN", "ts": "TS-Neyman", "flops": "FLOPs", "alpha": "α", "m0": "m₀",
	"se": "s.e.", "sd": "s.d.", "b8": "b = 8", "theta": "θ", "mse": "MSE",
}

// heading is the name of a column in words: "Tuned EN" of tuned_en.
func heading(column string) string {
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
