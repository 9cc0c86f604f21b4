package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"speceval/pipeline/dag"
	"speceval/stages/report/formula"
)

// Explainer says of every cell of an output folder's tables where it comes from.
type Explainer struct {
	settings Settings
	out      string
	units    []dag.Record

	evidence *evidence // what cells are taken apart with, read once
}

// NewExplainer returns the explainer of an output folder. The records are those
// of the experiment that the settings are of.
func NewExplainer(s Settings, outDir string, records []dag.Record) *Explainer {
	return &Explainer{settings: s, out: outDir, units: records, evidence: &evidence{out: outDir, in: folder(outDir), settings: s}}
}

// Explanation is where a cell of a table comes from.
type Explanation struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Column string `json:"column"`

	// Value is the number as it is stored, null for text and for an empty cell;
	// Stored is what stands in the file.
	Value  *float64 `json:"value"`
	Stored string   `json:"stored"`

	Formula formula.Formula `json:"formula"`
	Errors  []ErrorOf       `json:"errors"` // standard errors of Value, by cause
	Paper   *Beside         `json:"paper"`  // or the prediction; null where there is neither

	Parts   *Parts    `json:"parts"`             // what it is made of; null where that is a single stored number
	Repeats []float64 `json:"repeats,omitempty"` // the number as each single execution of the suite gives it

	Origin
	Warnings []string `json:"warnings"`
}

// ErrorOf is a standard error, or the part of one that comes from one cause.
type ErrorOf struct {
	Cause string   `json:"cause"`
	SE    *float64 `json:"se"` // null where nothing stored says
	About string   `json:"about"`
}

// Beside is the paper's number, or the predicted one, and the verdict of ours
// beside it.
type Beside struct {
	Cell
	Reason string `json:"reason"`
}

// MissingError says that the table of a cell is not among the stored ones.
type MissingError struct{ Table, OutDir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("table %s is not there: %s/%s/%s.csv does not exist; run `speceval tables` first", e.Table, e.OutDir, tablesDir, e.Table)
}

// Tables are the base names of the experiment's tables, in the report's order.
func (x *Explainer) Tables() []string {
	var bases []string
	for _, kind := range x.settings.tables() {
		bases = append(bases, kind.base)
	}
	return bases
}

// Table is the stored table that word means. A *NameError says that it means
// none, a *MissingError that the table is not stored.
func (x *Explainer) Table(word string) (Sheet, error) {
	bases := x.Tables()
	i, err := locateName("table", strings.TrimSuffix(word, ".csv"), bases)
	if err != nil {
		return Sheet{}, err
	}
	sheet, err := readSheet(x.out, bases[i])
	if notThere(err) {
		return Sheet{}, &MissingError{Table: bases[i], OutDir: x.out}
	}
	if err == nil {
		err = sheet.distinct()
	}
	if err != nil {
		return sheet, fmt.Errorf("%s is damaged (`speceval tables` writes it again): %w", bases[i], err)
	}
	return sheet, nil
}

// Row is the place of the row that word means.
func (s Sheet) Row(word string) (int, error) { return locateName("row of "+s.Base, word, s.Labels()) }

// Column is the place of the column that word means.
func (s Sheet) Column(word string) (int, error) {
	return locateName("column of "+s.Base, word, s.ColumnNames())
}

// Explain explains a cell of a stored table. What cannot be found out is a
// warning of the explanation.
func (x *Explainer) Explain(s Sheet, row, column int) *Explanation {
	at := place{base: s.Base, row: s.Labels()[row], column: s.Data.Columns[column].Name, fields: s.fields(row)}
	e := &Explanation{Table: s.Base, Row: at.row, Column: at.column, Stored: at.fields[at.column], Errors: []ErrorOf{}, Warnings: []string{}}
	if v, ok := numberIn(e.Stored); ok {
		e.Value = &v
	}
	var ok bool
	if e.Formula, ok = formula.Of(at.base, at.column); !ok {
		e.Warnings = append(e.Warnings, "no table of this program has such a column: another version has stored it")
	}
	e.Origin = x.origin(s.Base, at.fields)
	e.Warnings = append(e.Warnings, x.stale(s.Base)...)
	if err := x.beside(e, at); err != nil {
		e.Warnings = append(e.Warnings, "no verdict: "+err.Error())
	}
	if err := x.takeApart(e, at); err != nil {
		e.Warnings = append(e.Warnings, "what it is made of cannot be shown: "+err.Error())
	}
	return e
}

// beside finds the number that a cell stands beside, and the verdict.
func (x *Explainer) beside(e *Explanation, at place) error {
	cells, err := x.evidence.verdicts()
	if err != nil {
		return err
	}
	column := strings.TrimPrefix(at.column, "paper_")
	i := slices.IndexFunc(cells, func(c Cell) bool { return c.Table == at.base && c.Row == at.row && c.Column == column })
	if i >= 0 {
		e.Paper = &Beside{Cell: cells[i], Reason: cells[i].reason()}
	}
	return nil
}

// takeApart shows what a cell is made of, as far as it is made of anything.
func (x *Explainer) takeApart(e *Explanation, at place) error {
	if e.Stored == "" || slices.Contains(keyColumns, at.column) || strings.HasPrefix(at.column, "paper_") {
		return nil
	}
	take := dissections[at.base]
	if take == nil {
		return nil
	}
	d, err := take(x.evidence, at)
	if errors.Is(err, errNoParts) {
		return nil
	}
	if err != nil {
		return err
	}
	e.Errors, e.Parts, e.Repeats = append(e.Errors, d.errors...), d.parts, d.repeats
	if w := d.parts.contradicts(e.Value); w != "" {
		e.Warnings = append(e.Warnings, w)
	}
	return nil
}

// place is a cell with the fields of its row, by column.
type place struct {
	base, row, column string
	fields            map[string]string
}

// budget is that of the row, 0 where it has none.
func (p place) budget() int32 { return p.integer("budget") }

func (p place) integer(column string) int32 {
	v, _ := numberIn(p.fields[column])
	return int32(v)
}

// noise reports whether the column is the error or the spread of another, and
// which.
func (p place) noise() (of, suffix string) {
	if _, isError := errorOf(p.column); isError {
		at := len(p.column) - len("_se")
		return p.column[:at], p.column[at:]
	}
	return p.column, ""
}
