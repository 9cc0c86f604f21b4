package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"speceval/internal/table"
)

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
