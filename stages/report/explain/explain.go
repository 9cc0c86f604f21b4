// Package explain traces a number of a stored table to its origin: the formula of its
// column, the paper's number, and the files, units, keys, seeds and sources behind it.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"speceval/internal/agreement"
	"speceval/internal/display"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/pipeline/lineage"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// Explainer explains the cells of the tables in an output folder. It is for one
// goroutine.
type Explainer struct {
	settings stored.Settings
	out      string
	records  []dag.Record

	verdicts func() (report.Verdicts, error)
}

// NewExplainer returns the explainer of an output folder. The records are those
// of the experiment that the settings are of.
func NewExplainer(s stored.Settings, outDir string, records []dag.Record) *Explainer {
	x := &Explainer{settings: s, out: outDir, records: records}
	x.verdicts = sync.OnceValues(func() (report.Verdicts, error) {
		if !s.Published && len(tables.Compared(&s)) == 0 {
			return report.Verdicts{}, nil
		}
		return report.VerifyFolder(s, outDir)
	})
	return x
}

// Table is a stored table.
type Table struct {
	report.StoredTable
	known *model.Sheet // the columns of this version, without rows
}

// MissingError is the error of a table that is not stored.
type MissingError struct{ Table, OutDir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("table %s is not there: %s/%s does not exist; run `speceval tables` first", e.Table, e.OutDir, report.TablePaths(e.Table)[0])
}

// Tables are the base names of the experiment's tables, in the report's order.
func (x *Explainer) Tables() (bases []string) {
	for _, t := range tables.Of(&x.settings) {
		bases = append(bases, t.Base)
	}
	return bases
}

// Table is the stored table that word names. The error is a *spelling.NameError if it names
// none, a *MissingError if the table is not stored.
func (x *Explainer) Table(word string) (Table, error) {
	bases := x.Tables()
	i, err := display.Locate("table", strings.TrimSuffix(word, ".csv"), bases)
	if err != nil {
		return Table{}, err
	}
	known, err := tables.Named(bases[i]).Blank()
	if err != nil {
		return Table{}, err
	}
	t, err := report.ReadTable(x.out, bases[i], model.Keys(known.Columns))
	if errors.Is(err, fs.ErrNotExist) {
		return Table{}, &MissingError{Table: bases[i], OutDir: x.out}
	}
	if err == nil {
		err = t.Distinct()
	}
	if err != nil {
		err = fmt.Errorf("%s is damaged (`speceval tables` writes it again): %w", bases[i], err)
	}
	return Table{t, known}, err
}

// Row is the index of the row that word names.
func (t Table) Row(word string) (int, error) {
	return display.Locate("row of "+t.Base, word, t.Labels)
}

// Column is the index of the column that word names.
func (t Table) Column(word string) (int, error) {
	return display.Locate("column of "+t.Base, word, t.Columns)
}

// Explanation is where a cell of a table comes from.
type Explanation struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Column string `json:"column"`

	// Value is the number as it is stored, null for text and for an empty cell;
	// Stored is the value in the file.
	Value  *float64 `json:"value"`
	Stored string   `json:"stored"`

	Formula string    `json:"formula"`
	Paper   *Compared `json:"paper"` // or the prediction; null where there is neither

	lineage.Origin
	Profile string `json:"profile,omitempty"` // that the row is about

	Warnings []string `json:"warnings"`
}

// Compared is the comparison of a number with the paper's or with the predicted one,
// and the reason for its verdict.
type Compared struct {
	agreement.Comparison
	Reason string `json:"reason"`
}

// Explain explains a cell. What cannot be found out is a warning of the explanation.
func (x *Explainer) Explain(t Table, row, column int) *Explanation {
	e := &Explanation{Table: t.Base, Row: t.Labels[row], Column: t.Columns[column], Stored: t.Rows[row][column], Warnings: []string{}}
	if v, ok := report.Number(e.Stored); ok {
		e.Value = &v
	}
	known := t.known.StoredColumn(e.Column)
	if known == nil {
		known = &model.Column{}
		e.Warnings = append(e.Warnings, "no table of this program has such a column: another version has stored it")
	}
	e.Formula = known.Words
	e.Origin = lineage.Of(x.records, stored.Own(t.Base))
	e.Profile = t.profile(row)
	e.Warnings = append(e.Warnings, stale(e.Origin)...)
	if err := x.compare(e); err != nil {
		e.Warnings = append(e.Warnings, "no verdict: "+err.Error())
	}
	return e
}

// stale warns where a table, or what it is made of, is not what this experiment would
// make now.
func stale(o lineage.Origin) []string {
	if len(o.Units) == 0 {
		return []string{"no unit of this experiment makes this table: where it comes from is not known"}
	}
	warnings := o.Stale()
	if len(warnings) == 0 && !o.Fresh() {
		return []string{"what the table is made of is not fresh: `speceval plan` says why"}
	}
	return warnings
}

// profile is the name of the profile that a row is about, empty where it is about
// none.
func (t Table) profile(row int) string {
	fields := t.Fields(row)
	if fields["benchmark"] == "" {
		return ""
	}
	return model.ProfileName(fields["benchmark"], fields["model"])
}

// compare finds the comparison of a cell.
func (x *Explainer) compare(e *Explanation) error {
	v, err := x.verdicts()
	column := strings.TrimPrefix(e.Column, model.PaperPrefix)
	i := slices.IndexFunc(v.Cells, func(c agreement.Comparison) bool { return c.Table == e.Table && c.Row == e.Row && c.Column == column })
	if err == nil && i >= 0 {
		e.Paper = &Compared{v.Cells[i], v.Cells[i].Reason()}
	}
	return err
}

// Text writes the explanation for a terminal. Units of one kind share a line unless all
// are asked for.
func (e *Explanation) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, row %q, column %s: %s\n", e.Table, e.Row, e.Column, cmp.Or(e.Stored, "— (no value)"))
	for _, warning := range e.Warnings {
		b.WriteString("\n" + table.Wrap("! ", "  ", warning))
	}
	b.WriteString("\n" + table.Wrap("  ", "  ", e.Formula))
	if e.Paper != nil {
		b.WriteString("\n" + table.Wrap("  ", "  ", e.Paper.Sentence()))
	}
	if err := e.Origin.Print(&b, e.Profile, all); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
