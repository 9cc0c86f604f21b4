package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/lineage"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
)

// The difference of two output folders compares their tables cell by cell, and each
// change of a number with its Monte Carlo noise.

// Diff is the differences between the tables of two output folders.
type Diff struct {
	Folders [2]string    `json:"folders"`
	Made    []string     `json:"made"`   // how the two were made in different ways
	Only    [2][]string  `json:"only"`   // tables that one folder alone has
	Tables  []*TableDiff `json:"tables"` // those that both have, by name
}

// TableDiff is the differences between two tables of one name.
type TableDiff struct {
	Table       string      `json:"table"`
	OnlyRows    [2][]string `json:"only_rows"` // labels of rows that one folder alone has
	OnlyColumns [2][]string `json:"only_columns"`
	Compared    int         `json:"compared"` // cells that both have
	Changed     []Cell      `json:"changed"`  // of these
}

// Kinds of cells of a table, as far as a change of one is judged.
const (
	Result = "result" // a number or name that was obtained
	Paper  = "paper"  // the paper's, which has no noise
	Noise  = "noise"  // a standard error or spread, which is not judged
)

// Cell is a cell that is not the same in two folders.
type Cell struct {
	Row    string    `json:"row"`
	Column string    `json:"column"`
	Kind   string    `json:"kind"`
	Stored [2]string `json:"stored"`

	Difference *float64 `json:"difference"` // second minus first; null unless both are numbers
	SE         *float64 `json:"se"`         // of Difference; null where a number has none
	Beyond     bool     `json:"beyond"`     // it is more than noise; never for Noise

	step float64 // by which noise moves the number at once
}

// DiffFolders compares every table of two output folders, row by row by their labels
// and column by column. A folder without tables is a *files.NoFolderError.
func DiffFolders(a, b string) (*Diff, error) {
	d := &Diff{Folders: [2]string{a, b}, Tables: []*TableDiff{}}
	var bases [2][]string
	for side, folder := range d.Folders {
		var err error
		if bases[side], err = report.StoredTables(folder); err != nil {
			return nil, err
		}
	}
	d.Only = onlyIn(bases)
	for _, base := range bases[0] {
		if !slices.Contains(bases[1], base) {
			continue
		}
		known, err := columnsOf(base)
		if err != nil {
			return nil, err
		}
		var both [2]report.StoredTable
		for side, folder := range d.Folders {
			if both[side], err = report.ReadTable(folder, base, model.Keys(known.Columns)); err != nil {
				return nil, err
			}
		}
		d.Tables = append(d.Tables, compare(known, both))
	}
	var err error
	d.Made, err = lineage.MadeDifferently(d.Folders)
	return d, err
}

// columnsOf is a table without rows; one that this version does not know has no
// columns.
func columnsOf(base string) (*model.Sheet, error) {
	if t := tables.Named(base); t != nil {
		return t.Blank()
	}
	return &model.Sheet{}, nil
}

// onlyIn are the names that one of two lists alone has.
func onlyIn(lists [2][]string) [2][]string {
	only := [2][]string{{}, {}}
	for side, list := range lists {
		others := map[string]bool{}
		for _, name := range lists[1-side] {
			others[name] = true
		}
		for _, name := range list {
			if !others[name] {
				only[side] = append(only[side], name)
			}
		}
	}
	return only
}

// compare compares two tables with the columns that are known. Rows are named by
// their numbers in a table whose labels are not distinct.
func compare(known *model.Sheet, both [2]report.StoredTable) *TableDiff {
	for side := range both {
		if both[side].Distinct() != nil {
			both[side].NumberRows()
		}
	}
	a, b := both[0], both[1]
	at := map[string]int{} // rows of b
	for i, label := range b.Labels {
		at[label] = i
	}
	t := &TableDiff{Table: a.Base, OnlyRows: onlyIn([2][]string{a.Labels, b.Labels}), OnlyColumns: onlyIn([2][]string{a.Columns, b.Columns}), Changed: []Cell{}}
	for i, label := range a.Labels {
		k, there := at[label]
		if !there {
			continue
		}
		rows := [2]map[string]string{a.Fields(i), b.Fields(k)}
		for _, column := range a.Columns {
			if _, there := rows[1][column]; !there {
				continue
			}
			t.Compared++
			if c, changed := compareCell(known, column, rows); changed {
				c.Row = label
				t.Changed = append(t.Changed, c)
			}
		}
	}
	return t
}

// compareCell compares a cell of two rows. A column that is not known is a result
// without noise.
func compareCell(known *model.Sheet, column string, rows [2]map[string]string) (c Cell, changed bool) {
	c = Cell{Column: column, Kind: Result, Stored: [2]string{rows[0][column], rows[1][column]}}
	if c.Stored[0] == c.Stored[1] {
		return c, false
	}
	of := known.StoredColumn(column)
	if of == nil {
		of = &model.Column{Name: column}
	}
	switch c.step = of.Step; {
	case of.Role == model.Paper:
		c.Kind = Paper
	case of.Role.IsNoise():
		c.Kind = Noise
	}
	c.Beyond = c.Kind != Noise
	a, isNumber := report.Number(c.Stored[0])
	b, areNumbers := report.Number(c.Stored[1])
	if !isNumber || !areNumbers {
		return c, true
	}
	difference := b - a
	if difference == 0 {
		return c, false // written in another way
	}
	if !math.IsInf(difference, 0) {
		c.Difference = &difference
	}
	if se := math.Hypot(errorOf(known, of, rows[0]), errorOf(known, of, rows[1])); c.Kind == Result && se > 0 && !math.IsInf(se, 0) {
		c.SE = &se
		c.Beyond = math.Abs(difference) > agreement.Sigmas*se+c.step
	}
	return c, true
}

// errorOf is the Monte Carlo standard error of the number in a column, from other
// numbers of its row; NaN where they do not give one.
func errorOf(known *model.Sheet, of *model.Column, row map[string]string) float64 {
	number := func(column string) float64 {
		if v, ok := report.Number(row[column]); ok {
			return v
		}
		return math.NaN()
	}
	se := math.NaN()
	if of.Noise != nil {
		se = of.Noise(number)
	}
	for _, c := range known.Columns {
		switch {
		case of.Noise != nil || c.Of != of.Name:
		case c.Role == model.Error:
			se = number(c.Name)
		case c.Role == model.Spread: // of one execution of so many
			se = number(c.Name) / math.Sqrt(number("repeats"))
		}
	}
	if se < 0 || math.IsInf(se, 0) {
		return math.NaN()
	}
	return se
}

// Cells counts the cells that both folders have, those that changed, and those
// that changed beyond noise.
func (d *Diff) Cells() (compared, changed, beyond int) {
	for _, t := range d.Tables {
		compared += t.Compared
		changed += len(t.Changed)
		beyond += t.beyond()
	}
	return compared, changed, beyond
}

func (t *TableDiff) beyond() (n int) {
	for _, c := range t.Changed {
		if c.Beyond {
			n++
		}
	}
	return n
}

// onlyOne counts the rows and columns that one folder alone has.
func (t *TableDiff) onlyOne() int {
	return len(t.OnlyRows[0]) + len(t.OnlyRows[1]) + len(t.OnlyColumns[0]) + len(t.OnlyColumns[1])
}

// Same reports that nothing differs beyond noise: no cell, and no table, row or
// column that one folder alone has.
func (d *Diff) Same() bool {
	return len(d.Only[0])+len(d.Only[1]) == 0 && !slices.ContainsFunc(d.Tables, func(t *TableDiff) bool { return t.beyond()+t.onlyOne() > 0 })
}

// Summary is the comparison in one line.
func (d *Diff) Summary() string {
	compared, changed, beyond := d.Cells()
	alone, rest := len(d.Only[0])+len(d.Only[1]), 0
	for _, t := range d.Tables {
		rest += t.onlyOne()
	}
	s := fmt.Sprintf("diff: %d of %d cells of %s changed, %d beyond noise", changed, compared, display.Count(len(d.Tables), "table", "tables"), beyond)
	if alone+rest > 0 {
		s += fmt.Sprintf("; in one folder alone: %s, and %s of the others", display.Count(alone, "table", "tables"), display.Count(rest, "row or column", "rows or columns"))
	}
	return s
}

// JSON writes the comparison as one document.
func (d *Diff) JSON(w io.Writer) error {
	compared, changed, beyond := d.Cells()
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		*Diff
		Compared int  `json:"compared"`
		Changed  int  `json:"changed"`
		Beyond   int  `json:"beyond"`
		Same     bool `json:"same"` // nothing differs beyond noise
	}{d, compared, changed, beyond, d.Same()})
}

// Text writes the comparison for a terminal: of each table the first changed cells,
// unless all are asked for.
func (d *Diff) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A: %s\nB: %s\n", table.Visible(d.Folders[0]), table.Visible(d.Folders[1]))
	for _, made := range d.Made {
		b.WriteString(table.Wrap("made  ", "      ", table.Visible(made)))
	}
	onlyText(&b, "table", d.Only)
	for _, t := range d.Tables {
		if err := t.text(&b, all); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "\n%s\n", d.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// onlyText names what one folder alone has.
func onlyText(b *strings.Builder, what string, only [2][]string) {
	const few = 6
	for side, names := range only {
		if len(names) == 0 {
			continue
		}
		var shown []string
		for _, name := range names[:min(few, len(names))] {
			shown = append(shown, table.Visible(name))
		}
		text := fmt.Sprintf("%c has %s of: %s", 'A'+side, display.Count(len(names), what, what+"s"), strings.Join(shown, ", "))
		if n := len(names) - len(shown); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		b.WriteString(table.Wrap("only  ", "      ", text))
	}
}

// text shows a table that differs: what one folder alone has, the cells that
// changed, the paper's apart from ours. Errors that changed are counted.
func (t *TableDiff) text(b *strings.Builder, all bool) error {
	if len(t.Changed) == 0 && t.onlyOne() == 0 {
		return nil
	}
	kinds := map[string][]Cell{}
	for _, c := range t.Changed {
		kinds[c.Kind] = append(kinds[c.Kind], c)
	}
	fmt.Fprintf(b, "\n%s: %d of %d cells changed, %d beyond noise\n", table.Visible(t.Table), len(t.Changed), t.Compared, t.beyond())
	onlyText(b, "row", t.OnlyRows)
	onlyText(b, "column", t.OnlyColumns)
	noise := len(kinds[Noise])
	if !all {
		delete(kinds, Noise)
	}
	for _, kind := range []string{Result, Paper, Noise} {
		if err := cellsText(b, kind, kinds[kind], all); err != nil {
			return err
		}
	}
	if !all && noise > 0 {
		fmt.Fprintf(b, "%s changed, which is not judged (--all)\n", display.Count(noise, "standard error or spread", "standard errors or spreads"))
	}
	return nil
}

// cellsText is a table of changed cells, which it sorts: those beyond noise first.
func cellsText(b *strings.Builder, kind string, cells []Cell, all bool) error {
	const few = 12
	g := table.Grid{Heads: []string{"<row", "<column", "A", "B", "B − A", "s.e.", "SEs", "<"}}
	if kind == Paper {
		g.Title = "numbers of the paper"
	}
	within := map[bool]int{false: 1}
	slices.SortStableFunc(cells, func(x, y Cell) int { return within[x.Beyond] - within[y.Beyond] })
	if !all && len(cells) > few+1 {
		g.Notes = []string{fmt.Sprintf("… and %d more (--all)", len(cells)-few)}
		cells = cells[:few]
	}
	for _, c := range cells {
		g.Add(c.line()...)
	}
	return g.Write(b)
}

func (c Cell) line() []string {
	difference, se, ses := table.None, table.None, table.None
	if c.Difference != nil {
		difference = fmt.Sprintf("%.4g", *c.Difference)
	}
	if c.SE != nil {
		se = fmt.Sprintf("%.2g", *c.SE)
		if c.Difference != nil && c.step == 0 { // a step is no multiple of an error
			ses = inErrors(*c.Difference / *c.SE)
		}
	}
	verdict := "within noise"
	switch {
	case c.Kind == Noise:
		verdict = "not judged"
	case c.Beyond && c.SE == nil:
		verdict = "changed, and has no noise"
	case c.Beyond:
		verdict = "beyond noise"
	}
	return []string{table.Visible(c.Row), table.Visible(c.Column), shown(c.Stored[0]), shown(c.Stored[1]), difference, se, ses, verdict}
}

// inErrors is a distance in standard errors: with a decimal, or as a power of ten
// where so many are that only their order matters.
func inErrors(ses float64) string {
	if math.Abs(ses) < 1e4 {
		return fmt.Sprintf("%.1f", ses)
	}
	return fmt.Sprintf("%.2g", ses)
}

// shown is a field as it is shown: numbers to ten digits, text as it is.
func shown(field string) string {
	if v, ok := report.Number(field); ok {
		return fmt.Sprintf("%.10g", v)
	}
	return cmp.Or(table.Visible(field), table.None)
}
