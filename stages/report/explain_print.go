package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"speceval/internal/table"
)

// JSON writes the explanation as one document, with every part.
func (e *Explanation) JSON(w io.Writer) error { return writeJSON(w, e) }

// writeJSON writes a document for scripts.
func writeJSON(w io.Writer, document any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(document)
}

// fewParts is how many parts are shown unless all are asked for.
const fewParts = 5

// Text writes the explanation for a terminal: of the parts the five that weigh
// most, of the units a line for those alike, unless all are asked for.
func (e *Explanation) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, row %q, column %s: %s\n", e.Table, e.Row, e.Column, cmp.Or(e.Stored, "— (no value)"))
	for _, warning := range e.Warnings {
		fmt.Fprintf(&b, "\n%s", wrapped("! ", "  ", warning))
	}
	fmt.Fprintf(&b, "\n%s", wrapped("  ", "  ", e.Formula.Plain))
	e.paperText(&b)
	for _, section := range []func(io.Writer, bool) error{e.errorsText, e.partsText, e.repeatsText, e.filesText, e.unitsText, e.sourcesText} {
		if err := section(&b, all); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Explanation) paperText(b *strings.Builder) {
	p := e.Paper
	if p == nil {
		return
	}
	line := "paper: "
	if p.Live {
		line = "predicted: "
	}
	switch expected := p.expected(); {
	case p.PaperName != "":
		line += p.PaperName
	case expected != nil:
		line += strconv.FormatFloat(*expected, 'g', -1, 64)
	case p.Live:
		line = "verdict"
	}
	if p.Difference != nil {
		line += fmt.Sprintf("; difference %+.6g", *p.Difference)
		if p.SE != nil {
			line += fmt.Sprintf(" ± %.2g", *p.SE)
		}
	}
	fmt.Fprintf(b, "\n%s", wrapped("  ", "  ", fmt.Sprintf("%s: %s (%s)", line, p.Verdict, p.Reason)))
}

func (e *Explanation) errorsText(w io.Writer, _ bool) error {
	if len(e.Errors) == 0 {
		return nil
	}
	t := table.Table{Title: "\nStandard error, by cause", Columns: columns("<cause", "s.e.", "<")}
	for _, x := range e.Errors {
		se := table.Missing()
		if x.SE != nil {
			se = table.Text(short(*x.SE, 3))
		}
		t.Rows = append(t.Rows, []table.Cell{table.Text(x.Cause), se, table.Text(x.About)})
	}
	return table.WriteText(w, t)
}

func (e *Explanation) partsText(w io.Writer, all bool) error {
	p := e.Parts
	if p == nil || p.Count == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s", wrapped("", "  ", fmt.Sprintf("Made of %d %s: %s", p.Count, p.Of, p.How)))
	if p.From != "" {
		fmt.Fprint(w, wrapped("  ", "  ", "from "+p.From))
	}
	rows := p.Rows
	if !all && p.Count > fewParts {
		rows = rows[:fewParts]
		fmt.Fprint(w, wrapped("  ", "  ", fmt.Sprintf("least %s %s (%s), greatest %s (%s); the first %d are:", p.Columns[0],
			short(p.Least.Numbers[0], 6), p.Least.Name, short(p.Most.Numbers[0], 6), p.Most.Name, fewParts)))
	}
	fmt.Fprintln(w)
	t := table.Table{Columns: columns("<")}
	t.Columns = append(t.Columns, columns(p.Columns...)...)
	shares := rows[0].Share != nil
	if shares {
		t.Columns = append(t.Columns, columns("share")...)
	}
	for _, part := range rows {
		line := []table.Cell{table.Text(part.Name)}
		for _, v := range part.Numbers {
			line = append(line, table.Text(short(v, 6)))
		}
		if shares {
			line = append(line, table.Text(short(*part.Share, 4)))
		}
		t.Rows = append(t.Rows, line)
	}
	if err := table.WriteText(w, t); err != nil {
		return err
	}
	if more := p.Count - len(rows); more > 0 {
		fmt.Fprintf(w, "… and %d more (--all)\n", more)
	}
	return nil
}

func (e *Explanation) repeatsText(w io.Writer, _ bool) error {
	if len(e.Repeats) == 0 {
		return nil
	}
	var values []string
	for _, v := range e.Repeats {
		values = append(values, short(v, 5))
	}
	_, err := fmt.Fprintf(w, "\n%s", wrapped("", "  ", fmt.Sprintf("Each of %d executions of the suite alone gives: %s", len(values), strings.Join(values, ", "))))
	return err
}

func (e *Explanation) filesText(w io.Writer, _ bool) error {
	if len(e.Files) == 0 {
		return nil
	}
	t := table.Table{Title: "\nStored files, as they were when the table was made", Columns: columns("<file", "rows", "<SHA-256", "<by")}
	for _, f := range e.Files {
		rows := table.Missing()
		if f.Rows >= 0 {
			rows = table.Integer(f.Rows)
		}
		t.Rows = append(t.Rows, []table.Cell{table.Text(f.Path), rows, table.Text(f.SHA256), table.Text(f.By)})
	}
	return table.WriteText(w, t)
}

// columns are those of a table for a terminal; "<" sets one to the left.
func columns(heads ...string) []table.Column {
	out := make([]table.Column, len(heads))
	for i, head := range heads {
		name, left := strings.CutPrefix(head, "<")
		out[i] = table.Column{Name: name}
		if left {
			out[i].Align = table.Left
		}
	}
	return out
}

// short is a number with so many significant digits at most.
func short(v float64, digits int) string { return strconv.FormatFloat(v, 'g', digits, 64) }

// wrapped breaks text into lines of a terminal's width.
func wrapped(first, others, text string) string {
	const width = 100
	var b strings.Builder
	line := strings.TrimRight(first, " ")
	indent := first[len(line):]
	n := utf8.RuneCountInString(line)
	b.WriteString(line)
	for i, word := range strings.Fields(text) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(indent)
			n += len(indent)
		case n+1+size > width:
			b.WriteString("\n" + others)
			n = len(others)
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += size
	}
	b.WriteByte('\n')
	return b.String()
}
