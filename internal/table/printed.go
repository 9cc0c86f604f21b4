package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Printed is a table set in LaTeX, in the parts that a document places as it
// likes.
type Printed struct {
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
