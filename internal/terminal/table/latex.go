package table

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printed is a table set in LaTeX, in the parts that a document places as it
// likes.
type Printed struct {
	Caption string // raw LaTeX, on one line
	Label   string
	Align   string // the letters of the columns: "@{}lrr@{}"
	Rows    int    // printed lines, headings of sections among them

	Heads, Body, Notes []string // lines: headings with the rules between them, rows and sections, notes with the space before them

	columns int
	width   int // characters of the longest cells of the columns
}

// Print sets a table in LaTeX. A table that Validate refuses is an error.
func Print(t Table) (Printed, error) {
	p := Printed{Caption: Escape(t.Title), Label: oneLine(t.Label), Align: "@{}", Rows: len(t.Rows) + len(t.Sections), columns: len(t.Columns)}
	if err := t.Validate(); err != nil {
		return p, err
	}
	for j, c := range t.Columns {
		p.Align += string("rlc"[c.Align])
		width := utf8.RuneCountInString(c.head().Plain)
		for _, row := range t.Rows {
			width = max(width, utf8.RuneCountInString(row[j].plain(c.Format)))
		}
		p.width += width
	}
	p.Align += "@{}"
	p.Heads, p.Body, p.Notes = texHeads(t), texBody(t), texNotes(t)
	return p, nil
}

// LaTeX writes t as a complete booktabs tabular to be \input inside a table
// environment; the document needs \usepackage{booktabs} and nothing else. The
// comments come first, one line each, then the caption and the label, as
// comments too: where they go is the author's choice.
func LaTeX(w io.Writer, t Table, comments ...string) error {
	p, err := Print(t)
	if err != nil {
		return err
	}
	var lines []string
	for _, c := range comments {
		lines = append(lines, "% "+oneLine(c))
	}
	lines = slices.Concat(lines, []string{`% \caption{` + p.Caption + `}`, `% \label{` + p.Label + `}`, `\begin{tabular}{` + p.Align + `}`, `  \toprule`},
		p.Heads, []string{`  \midrule`}, p.Body, []string{`  \bottomrule`}, p.Notes, []string{`\end{tabular}%`, ""})
	_, err = io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

// Long is the table as a longtable, which runs over pages and repeats its
// headings; the document needs booktabs and longtable. Caption and label stand
// at its beginning.
func (p Printed) Long() string {
	return strings.Join(slices.Concat([]string{`\begin{longtable}{` + p.Align + `}`, fmt.Sprintf(`  \caption{%s}\label{%s}\\`, p.Caption, p.Label), `  \toprule`}, p.Heads,
		[]string{`  \midrule`, `  \endfirsthead`, `  \toprule`}, p.Heads, []string{`  \midrule`, `  \endhead`, `  \midrule`,
			fmt.Sprintf(`  \multicolumn{%d}{@{}r@{}}{\footnotesize\emph{continued on the next page}} \\`, p.columns), `  \endfoot`, `  \bottomrule`},
		p.Notes, []string{`  \endlastfoot`}, p.Body, []string{`\end{longtable}`, ""}), "\n")
}

// oneLine keeps a comment a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// texHeads is the line of group headings with their rules, if there are groups,
// and the line of column headings.
func texHeads(t Table) (lines []string) {
	if runs, grouped := t.spans(); grouped {
		heads := make([]string, len(runs))
		var rules []string
		for i, r := range runs {
			if r.head == (Head{}) {
				continue
			}
			heads[i] = fmt.Sprintf("\\multicolumn{%d}{c}{%s}", r.to-r.from, r.head.latex())
			rules = append(rules, fmt.Sprintf("\\cmidrule(lr){%d-%d}", r.from+1, r.to))
		}
		lines = append(lines, texLine(heads), "  "+strings.Join(rules, " "))
	}
	heads := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		heads[j] = c.head().latex()
	}
	return append(lines, texLine(heads))
}

// texBody is a line for every row, the headings of sections before them.
func texBody(t Table) (lines []string) {
	for i, row := range t.Rows {
		if head, ok := t.section(i); ok {
			if i > 0 {
				lines = append(lines, `  \addlinespace`)
			}
			lines = append(lines, fmt.Sprintf("  \\multicolumn{%d}{@{}l}{\\emph{%s}} \\\\", len(t.Columns), head.latex()))
		}
		cells := make([]string, len(row))
		for j, c := range row {
			cells[j] = c.latex(t.Columns[j].Format)
		}
		lines = append(lines, texLine(cells))
	}
	return lines
}

// texNotes is the notes, each in a box of no width, so that no column grows.
func texNotes(t Table) (lines []string) {
	if len(t.Notes) > 0 {
		lines = append(lines, `  \addlinespace[2pt]`)
	}
	for _, note := range t.Notes {
		lines = append(lines, fmt.Sprintf("  \\multicolumn{%d}{@{}l@{}}{\\makebox[0pt][l]{\\footnotesize %s}} \\\\", len(t.Columns), Escape(note)))
	}
	return lines
}

// texLine is one line of a tabular. An opening bracket or a star at its start
// would be read as an argument of the \\ or the rule before it.
func texLine(cells []string) string {
	line := strings.TrimLeft(strings.Join(cells, " & "), " ")
	if strings.HasPrefix(line, "[") || strings.HasPrefix(line, "*") {
		line = "{}" + line
	}
	return fmt.Sprintf("  %s \\\\", line)
}

func (h Head) latex() string {
	return cmp.Or(h.TeX, Escape(h.Plain))
}

// latex is the cell as LaTeX, rounded by its column's format.
func (c Cell) latex(f Format) string {
	s := "---"
	switch v := c.value.(type) {
	case float64:
		s = texNumber(f.Print(v))
		if c.spread != nil {
			s += "{\\scriptsize$\\pm$" + f.spread(v, *c.spread) + "}"
		}
	case int64:
		s = texNumber(c.Exact())
	case string:
		s = cmp.Or(c.tex, Escape(v))
	}
	if c.bold {
		s = "\\textbf{" + s + "}"
	}
	if c.mark != "" {
		s += "\\makebox[0pt][l]{" + Escape(c.mark) + "}" // no width: numbers stay aligned
	}
	return s
}

// texNumber sets a minus sign, which text mode would print as a hyphen, and
// escapes the percent sign.
func texNumber(s string) string {
	s = strings.ReplaceAll(s, "%", `\%`)
	if digits, negative := strings.CutPrefix(s, "-"); negative {
		return "$-$" + digits
	}
	return s
}

// texSpecial maps characters that LaTeX reads as commands, or that its
// standard encodings lack, to what prints them.
var texSpecial = map[rune]string{
	'\\': `\textbackslash{}`,
	'{':  `\{`,
	'}':  `\}`,
	'$':  `\$`,
	'&':  `\&`,
	'#':  `\#`,
	'%':  `\%`,
	'_':  `\_`,
	'^':  `\textasciicircum{}`,
	'~':  `\textasciitilde{}`,
	'<':  `\textless{}`,
	'>':  `\textgreater{}`,
	'|':  `\textbar{}`,
	'`':  `\textasciigrave{}`,
	'—':  `---`,
	'–':  `--`,
	'−':  `$-$`,
	'×':  `$\times$`,
	'±':  `$\pm$`,
	'≤':  `$\le$`,
	'≥':  `$\ge$`,
	'√':  `$\surd$`,
	'·':  `$\cdot$`,
	'‡':  `$\sp\ddagger$`,
	'†':  `$\sp\dagger$`, // the text dagger is a bitmap font in a plain TeX
	'α':  `$\alpha$`,
	'θ':  `$\theta$`,
}

// Escape turns plain text into LaTeX that prints it, in text mode and on one
// line. A character that standard LaTeX fonts lack prints as its code point
// in brackets, so that a foreign name is visible instead of an error.
func Escape(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		tex, special := texSpecial[r]
		switch {
		case special:
			b.WriteString(tex)
		case r == '-' && last == '-':
			b.WriteString("{}-") // two hyphens, not the ligature of a dash
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r < ' ' || r > '~':
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// Widths of a page, upright and sideways, in points, and that of a character in
// the type size of long tables.
const (
	upright, sideways = 455, 680
	scriptsize        = 3.75
)

// Fitted is the table over pages, sideways or in smaller type where it would be too
// wide for the page; the document needs pdflscape in addition to the packages that Long needs.
func (p Printed) Fitted() string {
	separation, size := 4.0, `\scriptsize`
	width := func() float64 {
		return float64(p.width)*scriptsize + 2*separation*float64(p.columns-1)
	}
	if width() > upright {
		separation = 2.2
	}
	before, after := "", ""
	if width() > upright {
		before, after = "\\begin{landscape}\n", "\\end{landscape}"
		if width() > sideways {
			size = `\tiny`
		}
	}
	return fmt.Sprintf("%s{%s\\setlength{\\tabcolsep}{%gpt}\n%s}%s", before, size, separation, p.Long(), after)
}
