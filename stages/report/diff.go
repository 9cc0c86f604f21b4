package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Diff is what tells the tables of two output folders apart.
type Diff struct {
	Folders [2]string    `json:"folders"`
	Made    []string     `json:"made"`   // how the two were made in different ways
	Only    [2][]string  `json:"only"`   // tables that one folder alone has
	Tables  []*TableDiff `json:"tables"` // those that both have, by name
}

// TableDiff is what tells two tables of one name apart.
type TableDiff struct {
	Table       string      `json:"table"`
	OnlyRows    [2][]string `json:"only_rows"` // labels of rows that one folder alone has
	OnlyColumns [2][]string `json:"only_columns"`
	Compared    int         `json:"compared"` // cells that both have
	Changed     []CellDiff  `json:"changed"`  // of these
}

// Kinds of cells of a table, as far as a change of one is judged.
const (
	ResultCell = "result" // a number or name that was obtained
	PaperCell  = "paper"  // the paper's, which has no noise
	NoiseCell  = "noise"  // a standard error or spread, which is not judged
)

// CellDiff is a cell that is not the same in two folders.
type CellDiff struct {
	Row    string    `json:"row"`
	Column string    `json:"column"`
	Kind   string    `json:"kind"`
	Stored [2]string `json:"stored"`

	Difference *float64 `json:"difference"` // second minus first; null unless both are numbers
	SE         *float64 `json:"se"`         // of Difference; null where a number has none
	Beyond     bool     `json:"beyond"`     // it is more than noise; never for a NoiseCell
}

// DiffFolders compares every table of two output folders, row by row by their
// labels and column by column. A folder without tables is an error.
func DiffFolders(a, b string) (*Diff, error) {
	d := &Diff{Folders: [2]string{a, b}, Made: []string{}, Only: [2][]string{{}, {}}, Tables: []*TableDiff{}}
	var bases [2][]string
	for side, folder := range d.Folders {
		found, err := storedTables(folder)
		if err != nil {
			return nil, err
		}
		bases[side] = found
	}
	d.Only = onlyIn(bases)
	for _, base := range bases[0] {
		if !slices.Contains(bases[1], base) {
			continue
		}
		var sheets [2]Sheet
		for side, folder := range d.Folders {
			var err error
			if sheets[side], err = readSheet(folder, base); err != nil {
				return nil, err
			}
		}
		d.Tables = append(d.Tables, diffSheets(sheets))
	}
	var err error
	d.Made, err = madeDifferently(a, b)
	return d, err
}

// NoFolderError says that a folder has no tables.
type NoFolderError struct{ Folder string }

func (e *NoFolderError) Error() string {
	return fmt.Sprintf("%s is no output folder with tables: there is no %s", e.Folder, filepath.Join(e.Folder, tablesDir, "*.csv"))
}

// storedTables are the base names of the tables in a folder, sorted.
func storedTables(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(globbed(folder), tablesDir, "*.csv"))
	if err != nil || len(paths) == 0 {
		return nil, &NoFolderError{folder}
	}
	bases := make([]string, len(paths))
	for i, path := range paths {
		bases[i] = strings.TrimSuffix(filepath.Base(path), ".csv")
	}
	slices.Sort(bases)
	return bases, nil
}

// globbed is a path as a pattern that matches it alone.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
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

// rowsOfSheet are the labels of the rows, their numbers where labels do not tell
// them apart.
func rowsOfSheet(s Sheet) []string {
	labels := s.Labels()
	if s.distinct() != nil {
		for i := range labels {
			labels[i] = fmt.Sprintf("row %d", i+1)
		}
	}
	return labels
}

func diffSheets(sheets [2]Sheet) *TableDiff {
	var rows, columns [2][]string
	for side, s := range sheets {
		rows[side], columns[side] = rowsOfSheet(s), s.ColumnNames()
	}
	at := map[string]int{} // rows of the second
	for i, label := range rows[1] {
		at[label] = i
	}
	d := &TableDiff{Table: sheets[0].Base, OnlyRows: onlyIn(rows), OnlyColumns: onlyIn(columns), Changed: []CellDiff{}}
	for i, label := range rows[0] {
		k, both := at[label]
		if !both {
			continue
		}
		fields := [2]map[string]string{sheets[0].fields(i), sheets[1].fields(k)}
		for _, column := range columns[0] {
			if _, both := fields[1][column]; !both {
				continue
			}
			d.Compared++
			if c, changed := diffCell(label, column, fields); changed {
				d.Changed = append(d.Changed, c)
			}
		}
	}
	return d
}

func diffCell(row, column string, fields [2]map[string]string) (CellDiff, bool) {
	c := CellDiff{Row: row, Column: column, Kind: kindOfColumn(column), Stored: [2]string{fields[0][column], fields[1][column]}}
	if c.Stored[0] == c.Stored[1] {
		return c, false
	}
	var values, ses [2]float64
	numbers, noisy := true, c.Kind == ResultCell
	for side, f := range fields {
		var ok bool
		values[side], ok = numberIn(f[column])
		numbers = numbers && ok
		ses[side], ok = noiseOf(column, f)
		noisy = noisy && ok
	}
	c.Beyond = c.Kind != NoiseCell
	if !numbers {
		return c, true
	}
	difference := values[1] - values[0]
	if difference == 0 {
		return c, false // written in another way
	}
	if finite(difference) {
		c.Difference = &difference
	}
	if se := math.Hypot(ses[0], ses[1]); noisy && se > 0 && finite(se) {
		c.SE = &se
		c.Beyond = math.Abs(difference) > sigmas*se+stepOf(column)
	}
	return c, true
}

func kindOfColumn(column string) string {
	if strings.HasPrefix(column, "paper_") {
		return PaperCell
	}
	if _, isError := errorOf(column); isError {
		return NoiseCell
	}
	return ResultCell
}

// stepOf is by how much noise moves a number at once that is rounded down to a
// whole one.
func stepOf(column string) float64 {
	if column == "rounded" {
		return 1
	}
	return 0
}

// noiseOf is the standard error of a number, from other fields of its row.
func noiseOf(column string, fields map[string]string) (se float64, ok bool) {
	read := func(name string) float64 {
		v, there := numberIn(fields[name])
		ok = ok && there
		return v
	}
	ok = true
	has := func(name string) bool { return fields[name] != "" }
	switch {
	case has(column + "_se"):
		se = read(column + "_se")
	case has(column + "_sd"): // of one execution of so many
		se = read(column+"_sd") / math.Sqrt(read("repeats"))
	case column == "variance_ratio" && has("ratio_se"):
		se = read("ratio_se")
	case column == "variance_ratio" && has("replay_se"):
		se = math.Hypot(read("replay_se"), read("design_se"))
	case column == "worst_ratio":
		se = read("worst_se")
	case column == "equivalent_budget", column == "rounded":
		se = read("equivalent_se")
	case column == "hbn" && has("equivalent_se"): // r of b/r
		r := read("hbn")
		se = read("equivalent_se") * r * r / read("budget")
	case column == "w" && has("risk_se"): // risk = b·w/m
		se = read("risk_se") * read("m") / read("budget")
	default:
		return 0, false
	}
	return se, ok && se >= 0 && finite(se)
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
	for _, t := range d.Tables {
		if t.beyond() > 0 || t.onlyOne() > 0 {
			return false
		}
	}
	return len(d.Only[0]) == 0 && len(d.Only[1]) == 0
}
