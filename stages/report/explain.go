package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"speceval/internal/results/agreement"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// Explainer traces numbers of the tables in an output folder to their origin: the formula of
// the column, the paper's number, and the files, units, keys, seeds and sources behind it.
type Explainer struct {
	Settings stored.Settings
	Out      string       // the folder
	Records  []dag.Record // of the units of the experiment that the settings are of
}

// Table is the table that word names, made of the stored results. The error is a
// *display.NameError if it names none.
func (x *Explainer) Table(word string) (*model.Sheet, error) {
	var bases []string
	all := tables.Of(&x.Settings)
	for _, t := range all {
		bases = append(bases, t.Base)
	}
	i, err := display.Locate("table", strings.TrimSuffix(word, ".csv"), bases)
	if err != nil {
		return nil, err
	}
	sheet, err := all[i].Sheet(x.source())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bases[i], err)
	}
	return sheet, nil
}

func (x *Explainer) source() *stored.Source {
	return stored.NewSource(&x.Settings, stored.Folder(x.Out))
}

// Explanation is where a cell of a table comes from.
type Explanation struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Column string `json:"column"`

	// Value is the number, null for text and for an empty cell; Stored is what CSV has.
	Value  *float64 `json:"value"`
	Stored string   `json:"stored"`

	Formula string    `json:"formula"`
	Paper   *Compared `json:"paper"` // or the prediction; null where there is neither

	Origin
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
func (x *Explainer) Explain(t *model.Sheet, row, column int) *Explanation {
	c := t.Stored()[column]
	cell := c.Cell(row)
	e := &Explanation{Table: t.Base, Row: t.Labels()[row], Column: c.Name, Stored: cell.Exact(), Value: cell.Value(), Formula: c.Words}
	e.Origin = originOf(x.Records, stored.Own(t.Base))
	if benchmark, of := t.Column("benchmark"), t.Column("model"); benchmark != nil && of != nil {
		e.Profile = model.ProfileName(benchmark.Cell(row).Exact(), of.Cell(row).Exact())
	}
	e.Warnings = append([]string{}, e.stale()...)
	if t.Paper == nil && !t.Live {
		return e
	}
	experiment, err := stored.Facts(x.source())
	if err != nil {
		e.Warnings = append(e.Warnings, "no verdict: "+err.Error())
		return e
	}
	compared := t.Compare(experiment)
	of := strings.TrimPrefix(e.Column, model.PaperPrefix)
	if i := slices.IndexFunc(compared, func(c agreement.Comparison) bool { return c.Row == e.Row && c.Column == of }); i >= 0 {
		e.Paper = &Compared{compared[i], compared[i].Reason()}
	}
	return e
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
	if err := cmp.Or(e.files().Write(&b), e.units(e.Profile, all).Write(&b), e.sources(e.Profile, all).Write(&b)); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
