package table

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Printed is a table set in LaTeX, in the parts that a document places as it
// likes.
type Printed struct {
	Comments []string // the first lines of what ReadLaTeX has read, without their percent signs

	Caption string // raw LaTeX, on one line
	Label   string
	Align   string // the letters of the columns: "@{}lrr@{}"

	Heads []string // lines of headings, with the rules between them
	Body  []string // lines of rows and sections
	Notes []string // lines under the table, with the space before them

	columns int
}

// Print sets a table in LaTeX. A table that Validate refuses is an error.
func Print(t Table) (Printed, error) {
	if err := t.Validate(); err != nil {
		return Printed{}, err
	}
	return Printed{
		Caption: oneLine(t.caption()), Label: oneLine(t.Label), Align: "@{}" + texAligns(t.Columns) + "@{}",
		Heads: texHeads(t), Body: texBody(t), Notes: texNotes(t), columns: len(t.Columns),
	}, nil
}

// ReadLaTeX reads what LaTeX has written. Any other text is an error.
func ReadLaTeX(text []byte) (Printed, error) {
	var p Printed
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	part := &p.Comments
	for i, line := range lines {
		comment, isComment := strings.CutPrefix(line, "% ")
		switch word := strings.TrimSpace(line); {
		case isComment && p.Align == "":
			p.comment(comment)
		case p.Align == "" && strings.HasPrefix(word, `\begin{tabular}{`):
			p.Align = strings.TrimSuffix(strings.TrimPrefix(word, `\begin{tabular}{`), "}")
			p.columns = len(strings.ReplaceAll(p.Align, "@{}", ""))
		case p.Align == "":
			return Printed{}, fmt.Errorf("line %d: no tabular begins", i+1)
		case word == `\toprule`:
			part = &p.Heads
		case word == `\midrule` && part == &p.Heads:
			part = &p.Body
		case word == `\bottomrule`:
			part = &p.Notes
		case word == `\end{tabular}%` && i == len(lines)-1 && part == &p.Notes && len(p.Heads) > 0:
			return p, nil
		default:
			*part = append(*part, line)
		}
	}
	return Printed{}, errors.New("the tabular does not end: want a file that a table was written to")
}

// comment takes a line before the table.
func (p *Printed) comment(line string) {
	inner := func(command string) (string, bool) {
		rest, ok := strings.CutPrefix(line, command+"{")
		return strings.TrimSuffix(rest, "}"), ok
	}
	if caption, ok := inner(`\caption`); ok {
		p.Caption = caption
	} else if label, ok := inner(`\label`); ok {
		p.Label = label
	} else {
		p.Comments = append(p.Comments, line)
	}
}

// Rows is the number of printed lines, headings of sections among them.
func (p Printed) Rows() int {
	n := 0
	for _, line := range p.Body {
		if strings.HasSuffix(line, `\\`) {
			n++
		}
	}
	return n
}

// Long is the table as a longtable, which runs over pages and repeats its
// headings; the document needs booktabs and longtable. Caption and label stand
// at its beginning. An empty caption leaves both out.
func (p Printed) Long() string {
	var b strings.Builder
	write := func(lines ...string) {
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	write(`\begin{longtable}{` + p.Align + `}`)
	if p.Caption != "" {
		write(fmt.Sprintf(`  \caption{%s}\label{%s}\\`, p.Caption, p.Label))
	}
	write(`  \toprule`)
	write(p.Heads...)
	write(`  \midrule`, `  \endfirsthead`, `  \toprule`)
	write(p.Heads...)
	write(`  \midrule`, `  \endhead`, `  \midrule`,
		fmt.Sprintf(`  \multicolumn{%d}{@{}r@{}}{\footnotesize\emph{continued on the next page}} \\`, p.columns), `  \endfoot`, `  \bottomrule`)
	write(p.Notes...)
	write(`  \endlastfoot`)
	write(p.Body...)
	write(`\end{longtable}`)
	return b.String()
}

// Columns is the number of columns.
func (p Printed) Columns() int { return p.columns }

// command is TeX that prints nothing, or one sign.
var command = regexp.MustCompile(`\\[a-zA-Z]+|[\\{}$]`)

// Width is about how many characters the columns hold side by side: those of the
// longest cell of each, headings of the last line and rows.
func (p Printed) Width() int {
	widths := make([]int, p.columns)
	for _, line := range slices.Concat(p.Heads[len(p.Heads)-1:], p.Body) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), `\\`), " & ")
		if len(cells) != p.columns {
			continue // a heading of a section
		}
		for j, cell := range cells {
			widths[j] = max(widths[j], len(command.ReplaceAllString(strings.TrimSpace(cell), "")))
		}
	}
	sum := 0
	for _, w := range widths {
		sum += w
	}
	return sum
}
