// Package model is a table of the report: a value that knows its columns,
// what each of them means and how a cell of it is computed, what the paper says, and by
// which rule the two are compared.
// Everything that shows, stores, judges, explains or compares tables reads these
// values; none of them knows a table by its name.
package model

import (
	"slices"
	"strings"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/terminal/table"
	"speceval/stages/report/stored"
)

// Table is a table of the report: what it is called, what it is made of, and how.
type Table struct {
	Base  string // file name in tables/, without extension; what verdicts call it, and package paper its numbers
	Label string // LaTeX label
	Where string // the paper's numbers stand; empty: in the table with the number of Base
	Words string // what columns are, a name and its words each: see words.go

	Reads stored.Reads

	// Has reports whether an experiment has the table; nil: every one.
	Has func(*stored.Settings) bool

	Judged string // what the verdicts beneath it call it; Base where empty

	// Live tables hold what was measured against what was predicted.
	Live bool

	// Chapter is the section of the document that shows the table, and Remarks are
	// sentences before it, as latex.prose reads them.
	Chapter string
	Remarks []string

	// Make makes the rows and columns of stored results. What is not there leaves
	// rows out.
	Make func(*stored.Source) (*Sheet, error)

	// Macros are the numbers of the table that a text quotes, in the order of
	// numbers.tex; nil: none.
	Macros func(*stored.Source) ([]Macro, error)
}

// Of is those among tables that an experiment has.
func Of(all []*Table, s *stored.Settings) []*Table {
	return slices.DeleteFunc(slices.Clone(all), func(t *Table) bool { return t.Has != nil && !t.Has(s) })
}

// Sheet makes the table of stored results. Where some are not there it has fewer
// rows, and says which stage has not run.
func (t *Table) Sheet(src *stored.Source) (*Sheet, error) {
	src = src.Anew()
	s, err := t.Make(src)
	if err != nil {
		return nil, err
	}
	s.Table = t
	s.complete()
	if t.Reads.Paper {
		s.Paper, err = stored.Paper(src)
	}
	s.Lacking = src.Lacking()
	return s, err
}

// Macro is a LaTeX command that stands for a number in running text.
type Macro struct{ Name, Value string }

// keys are the names of key columns, in the order in which labels of rows have their words.
var keys = []string{"provenance", "benchmark", "model", "n_tasks", "budget", "policy", "donors", "rewards", "strategy", "task_id"}

// Column is a column of a sheet. Functions take the index of a row.
type Column struct {
	Name  string // in CSV: part of a contract; empty for a column of the printed form alone
	Of    string // the column whose error, spread or number in the paper this is; empty: it has a number of its own
	Words string // what it is: by which formula, named as in the paper, of which stored rows

	// The printed form; a column without a head is in CSV alone, unless it is Shown.
	Head, Group table.Head
	Align       table.Align
	Format      table.Format
	Shown       func(row int) table.Cell // what is printed where that is not Cell
	PlusMinus   bool                     // its error is printed behind ±
	Paired      bool                     // the paper's number is printed next to it

	Cell func(row int) table.Cell

	Rule *Rule // how it is compared with the paper's; nil: not at all

	Claim func(row int) agreement.Comparison // with what was predicted, none without a verdict; nil: not at all
}

// IsKey reports whether the column tells rows apart.
func (c Column) IsKey() bool { return slices.Contains(keys, c.Name) }

// IsPaper reports whether the column has the paper's numbers.
func (c Column) IsPaper() bool { return strings.HasPrefix(c.Name, PaperPrefix) }

// Printed reports whether the column is in the printed form.
func (c Column) Printed() bool { return c.Head != (table.Head{}) || c.Shown != nil }

// Sheet is a table with its rows.
type Sheet struct {
	*Table
	Title   string // of the printed form
	Columns []Column
	Rows    int
	Notes   []string
	Lacking []string // stages that would have to run for all of it

	Paper *paper.Numbers // nil: the profiles are not the paper's

	Heading func(row int) table.Head // of the section of rows that a row is in; nil: its budget, where that is not printed
	Layout  func(*table.Table)       // sets columns and rows of the printed form otherwise than in order; nil: in order

	// Comparisons beyond the rules of the columns.
	PaperRows []paper.Key                                    // that are compared; nil: all of the section
	Absent    string                                         // why a row or a number that is not there cannot be compared
	Lack      func(row int) string                           // why another row cannot be; nil: all can
	Extra     func(stored.Experiment) []agreement.Comparison // of numbers that are in no column
}

// Add adds columns.
func (s *Sheet) Add(columns ...Column) { s.Columns = append(s.Columns, columns...) }

// Column is the column of that name, nil if there is none.
func (s *Sheet) Column(name string) *Column {
	return s.first(func(c Column) bool { return c.Name == name })
}

// ErrorOf is the first column that is the error of a column, nil if there is none.
func (s *Sheet) ErrorOf(name string) *Column {
	return s.first(func(c Column) bool { return c.Of == name })
}

func (s *Sheet) first(is func(Column) bool) *Column {
	if i := slices.IndexFunc(s.Columns, is); i >= 0 {
		return &s.Columns[i]
	}
	return nil
}

// Stored is the columns of the CSV form, those of the paper's numbers last.
func (s *Sheet) Stored() []Column {
	var ours, theirs []Column
	for _, c := range s.Columns {
		if c.Name == "" {
			continue
		}
		ours = append(ours, c)
		if s.Paper != nil && c.Rule != nil {
			theirs = append(theirs, s.paperColumn(c))
		}
	}
	return append(ours, theirs...)
}

// Names are the names of these columns.
func (s *Sheet) Names() (names []string) {
	for _, c := range s.Stored() {
		names = append(names, c.Name)
	}
	return names
}

// PaperPrefix begins the names of columns with the paper's numbers.
const PaperPrefix = "paper_"

// paperColumn is the column of the paper's numbers for a column.
func (s *Sheet) paperColumn(c Column) Column {
	where := s.Where
	if where == "" {
		_, where = paper.Number(s.Base)
	}
	words := s.wordsOf(PaperPrefix + c.Name)
	if words == "" {
		words = "The number that the paper prints for " + c.Name + " (" + where + "), as " + paper.File + " has it: rounded, and with no error of its own given."
	}
	return Column{Name: PaperPrefix + c.Name, Of: c.Name, Words: words, Format: c.Format,
		Cell: func(row int) table.Cell { return s.Theirs(c, row) }}
}

// Key is the row of the paper that a row is, by its keys.
func (s *Sheet) Key(row int) (k paper.Key) {
	for _, name := range keys {
		c := s.Column(name)
		if c == nil {
			continue
		}
		switch cell := c.Cell(row); name {
		case "provenance":
			k.Provenance = cell.Exact()
		case "model":
			k.Model = cell.Exact()
		case "n_tasks":
			k.NTasks = int32(*cell.Value())
		case "budget":
			k.Budget = int32(*cell.Value())
		}
	}
	return k
}

// Theirs is the paper's number for a cell, missing where it has none.
func (s *Sheet) Theirs(c Column, row int) table.Cell {
	if s.Paper == nil || c.Rule == nil {
		return table.Missing()
	}
	return s.theirs(c, s.Key(row))
}

func (s *Sheet) theirs(c Column, key paper.Key) table.Cell {
	if c.Rule.Cell != nil && s.Paper.Has(s.Base, key) {
		return c.Rule.Cell(key)
	}
	if v, ok := s.Paper.At(s.Base, c.Name, key); ok {
		return table.Number(v)
	}
	return table.Missing()
}

// Data is the CSV form.
func (s *Sheet) Data() table.Table {
	t := table.Table{Title: s.Title, Label: s.Label}
	columns := s.Stored()
	for _, c := range columns {
		t.Columns = append(t.Columns, table.Column{Name: c.Name})
	}
	for i := range s.Rows {
		line := make([]table.Cell, len(columns))
		for j, c := range columns {
			line[j] = c.Cell(i)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// Labels names the rows by their keys, in the order of keys, as verdicts do and as
// `speceval explain` reads it: "b=8", "published b=8", "N=19 b=8", a checkpoint,
// or "aime24__model=qwen3_5_4b b=8 hbn".
func (s *Sheet) Labels() []string {
	labels := make([]string, s.Rows)
	for i := range labels {
		var words []string
		benchmark := ""
		for _, name := range keys {
			c := s.Column(name)
			if c == nil {
				continue
			}
			word := c.Cell(i).Exact()
			switch {
			case word == "", name == "donors" && word == policy.None.Name, name == "n_tasks" && benchmark != "":
				continue
			case name == "benchmark" && s.Column("model") != nil:
				benchmark = word
				continue
			case name == "model" && benchmark != "":
				word = ProfileName(benchmark, word)
			case name == "n_tasks":
				word = "N=" + word
			case name == "budget":
				word = "b=" + word
			}
			words = append(words, word)
		}
		labels[i] = strings.Join(words, " ")
	}
	return labels
}
