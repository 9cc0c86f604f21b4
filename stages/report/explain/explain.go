// Package explain traces a number of a stored table to its origin: what its column is,
// its errors by cause, the paper's number, the stored rows that make it, and the units,
// seeds and sources behind them.
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

	source   *stored.Source
	sheets   map[string]*model.Sheet // as the stored results make them now
	verdicts func() (report.Verdicts, error)
}

// NewExplainer returns the explainer of an output folder. The records are those
// of the experiment that the settings are of.
func NewExplainer(s stored.Settings, outDir string, records []dag.Record) *Explainer {
	x := &Explainer{settings: s, out: outDir, records: records, sheets: map[string]*model.Sheet{}}
	x.source = stored.NewSource(&x.settings, stored.Folder(outDir))
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
	// Stored is what stands in the file.
	Value  *float64 `json:"value"`
	Stored string   `json:"stored"`

	Formula table.Formula   `json:"formula"`
	Errors  []model.ErrorOf `json:"errors"` // standard errors of Value, by cause
	Paper   *Compared       `json:"paper"`  // or the prediction; null where there is neither

	Parts   *model.Parts `json:"parts"`             // what it is made of; null where that is a single stored number
	Repeats []float64    `json:"repeats,omitempty"` // the number as each single execution of the suite gives it

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
	e := &Explanation{Table: t.Base, Row: t.Labels[row], Column: t.Columns[column], Stored: t.Rows[row][column],
		Errors: []model.ErrorOf{}, Warnings: []string{}}
	if v, ok := report.Number(e.Stored); ok {
		e.Value = &v
	}
	warn := func(what string, err error) {
		if err != nil {
			e.Warnings = append(e.Warnings, what+err.Error())
		}
	}
	known := t.known.StoredColumn(e.Column)
	if known == nil {
		known = &model.Column{}
		e.Warnings = append(e.Warnings, "no table of this program has such a column: another version has stored it")
	}
	e.Formula = known.Formula()
	chain := lineage.Of(x.records, stored.Own(t.Base))
	e.Origin = chain.Origin()
	e.Profile = t.profile(row)
	e.Warnings = append(e.Warnings, stale(chain)...)
	warn("no verdict: ", x.compare(e))
	if known.Break != nil && e.Stored != "" {
		warn("what it is made of cannot be shown: ", x.breakDown(e))
	}
	return e
}

// stale warns where a table, or what it is made of, is not what this experiment would
// make now.
func stale(chain lineage.Chain) []string {
	if len(chain) == 0 {
		return []string{"no unit of this experiment makes this table: where it comes from is not known"}
	}
	warnings := chain.Stale()
	if len(warnings) == 0 && !chain.Fresh() {
		return []string{"what the table is made of is not fresh: `speceval plan` says why"}
	}
	return warnings
}

// profile is the name of the profile that a row is about, empty where it is about
// none.
func (t Table) profile(row int) string {
	fields, words := t.Fields(row), map[model.KeyKind]string{}
	for _, c := range model.Keys(t.known.Columns) {
		words[c.Kind] = fields[c.Name]
	}
	if words[model.ByBenchmark] == "" {
		return ""
	}
	return model.ProfileName(words[model.ByBenchmark], words[model.ByModel])
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

// breakDown shows the errors and the parts of a cell, as the results that are
// stored now make them.
func (x *Explainer) breakDown(e *Explanation) error {
	s := x.sheets[e.Table]
	if s == nil {
		var err error
		if s, err = tables.Named(e.Table).Sheet(x.source); err != nil {
			return err
		}
		x.sheets[e.Table] = s
	}
	row, column := slices.Index(s.Labels(), e.Row), s.Column(e.Column)
	if row < 0 || column == nil || column.Break == nil {
		return errors.New("the stored results have no such number any more")
	}
	d, err := column.Break(row)
	if err != nil {
		return err
	}
	e.Errors, e.Parts, e.Repeats = append(e.Errors, d.Errors...), d.Parts, d.Repeats
	if w := d.Parts.Contradicts(e.Value); w != "" {
		e.Warnings = append(e.Warnings, w)
	}
	return nil
}

// Text writes the explanation for a terminal: of the parts the five that weigh
// most, of the units a line for those alike, unless all are asked for.
func (e *Explanation) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, row %q, column %s: %s\n", e.Table, e.Row, e.Column, cmp.Or(e.Stored, "— (no value)"))
	for _, warning := range e.Warnings {
		b.WriteString("\n" + table.Wrap("! ", "  ", warning))
	}
	b.WriteString("\n" + table.Wrap("  ", "  ", e.Formula.Plain))
	if e.Paper != nil {
		b.WriteString("\n" + table.Wrap("  ", "  ", e.Paper.Sentence()))
	}
	if err := errors.Join(e.causes().Write(&b), e.parts(&b, all).Write(&b)); err != nil {
		return err
	}
	if n := len(e.Repeats); n > 0 {
		b.WriteString("\n" + table.Wrap("", "  ", fmt.Sprintf("Each of %d executions of the suite alone gives: %s", n, e.repeats())))
	}
	if err := e.Origin.Print(&b, e.Profile, all); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Explanation) causes() *table.Grid {
	g := &table.Grid{Title: "\nStandard error, by cause", Heads: []string{"<cause", "s.e.", "<"}}
	for _, x := range e.Errors {
		se := table.None
		if x.SE != nil {
			se = fmt.Sprintf("%.3g", *x.SE)
		}
		g.Add(x.Cause, se, x.About)
	}
	return g
}

// parts introduces the parts, and lists those that weigh most, or all.
func (e *Explanation) parts(b *strings.Builder, all bool) *table.Grid {
	const few = 5
	g, p := &table.Grid{Heads: []string{"<"}}, e.Parts
	if p == nil || p.Count == 0 {
		return g
	}
	b.WriteString("\n" + table.Wrap("", "  ", fmt.Sprintf("Made of %d %s: %s", p.Count, p.Of, p.How)))
	if p.From != "" {
		b.WriteString(table.Wrap("  ", "  ", "from "+p.From))
	}
	rows := p.Rows
	if !all && p.Count > few {
		rows = rows[:few]
		b.WriteString(table.Wrap("  ", "  ", fmt.Sprintf("least %s %.6g (%s), greatest %.6g (%s); the first %d are:", p.Columns[0],
			p.Least.Numbers[0], p.Least.Name, p.Most.Numbers[0], p.Most.Name, few)))
		g.Notes = []string{fmt.Sprintf("… and %d more (--all)", p.Count-few)}
	}
	b.WriteString("\n")
	g.Heads = append(g.Heads, p.Columns...)
	if rows[0].Share != nil {
		g.Heads = append(g.Heads, "share")
	}
	for _, part := range rows {
		line := []string{part.Name}
		for _, v := range part.Numbers {
			line = append(line, fmt.Sprintf("%.6g", v))
		}
		if part.Share != nil {
			line = append(line, fmt.Sprintf("%.4g", *part.Share))
		}
		g.Add(line...)
	}
	return g
}

func (e *Explanation) repeats() string {
	var values []string
	for _, v := range e.Repeats {
		values = append(values, fmt.Sprintf("%.5g", v))
	}
	return strings.Join(values, ", ")
}
