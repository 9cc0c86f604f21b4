// Package diff compares the tables of two output folders cell by cell, and holds
// each change of a number against its Monte Carlo noise.
package diff

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/phrase"
	"speceval/pipeline/lineage"
	"speceval/stages/report/files"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
)

// Diff is the differences between the tables of two output folders.
type Diff struct {
	Folders [2]string   `json:"folders"`
	Made    []string    `json:"made"`   // how the two were made in different ways
	Only    [2][]string `json:"only"`   // tables that one folder alone has
	Tables  []*Table    `json:"tables"` // those that both have, by name
}

// Table is the differences between two tables of one name.
type Table struct {
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

// Folders compares every table of two output folders, row by row by their labels
// and column by column. A folder without tables is a *files.NoFolderError.
func Folders(a, b string) (*Diff, error) {
	d := &Diff{Folders: [2]string{a, b}, Tables: []*Table{}}
	var bases [2][]string
	for side, folder := range d.Folders {
		var err error
		if bases[side], err = files.Stored(folder); err != nil {
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
		var both [2]files.Table
		for side, folder := range d.Folders {
			if both[side], err = files.Read(folder, base, model.Keys(known.Columns)); err != nil {
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
func compare(known *model.Sheet, both [2]files.Table) *Table {
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
	t := &Table{Table: a.Base, OnlyRows: onlyIn([2][]string{a.Labels, b.Labels}), OnlyColumns: onlyIn([2][]string{a.Columns, b.Columns}), Changed: []Cell{}}
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
	a, isNumber := files.Number(c.Stored[0])
	b, areNumbers := files.Number(c.Stored[1])
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
		if v, ok := files.Number(row[column]); ok {
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

func (t *Table) beyond() (n int) {
	for _, c := range t.Changed {
		if c.Beyond {
			n++
		}
	}
	return n
}

// onlyOne counts the rows and columns that one folder alone has.
func (t *Table) onlyOne() int {
	return len(t.OnlyRows[0]) + len(t.OnlyRows[1]) + len(t.OnlyColumns[0]) + len(t.OnlyColumns[1])
}

// Same reports that nothing differs beyond noise: no cell, and no table, row or
// column that one folder alone has.
func (d *Diff) Same() bool {
	return len(d.Only[0])+len(d.Only[1]) == 0 && !slices.ContainsFunc(d.Tables, func(t *Table) bool { return t.beyond()+t.onlyOne() > 0 })
}

// Summary is the comparison in one line.
func (d *Diff) Summary() string {
	compared, changed, beyond := d.Cells()
	alone, rest := len(d.Only[0])+len(d.Only[1]), 0
	for _, t := range d.Tables {
		rest += t.onlyOne()
	}
	s := fmt.Sprintf("diff: %d of %d cells of %s changed, %d beyond noise", changed, compared, phrase.Count(len(d.Tables), "table", "tables"), beyond)
	if alone+rest > 0 {
		s += fmt.Sprintf("; in one folder alone: %s, and %s of the others", phrase.Count(alone, "table", "tables"), phrase.Count(rest, "row or column", "rows or columns"))
	}
	return s
}
