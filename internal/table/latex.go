package table

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// LaTeX writes t as a complete booktabs tabular to be \input inside a table
// environment; the document needs \usepackage{booktabs} and nothing else. The
// comments come first, one line each, then the caption and the label, as
// comments too: where they go is the author's choice.
func LaTeX(w io.Writer, t Table, comments ...string) error {
	p, err := Print(t)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range comments {
		fmt.Fprintf(&b, "%% %s\n", oneLine(c))
	}
	fmt.Fprintf(&b, "%% \\caption{%s}\n%% \\label{%s}\n", p.Caption, p.Label)
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n  \\toprule\n", p.Align)
	writeLines(&b, p.Heads)
	b.WriteString("  \\midrule\n")
	writeLines(&b, p.Body)
	b.WriteString("  \\bottomrule\n")
	writeLines(&b, p.Notes)
	b.WriteString("\\end{tabular}%\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func writeLines(b *strings.Builder, lines []string) {
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
}

// oneLine keeps a comment a comment.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func texAligns(columns []Column) string {
	var b strings.Builder
	for _, c := range columns {
		b.WriteByte("rlc"[c.Align])
	}
	return b.String()
}

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
	if h.TeX != "" {
		return h.TeX
	}
	return Escape(h.Plain)
}

// latex is the cell as LaTeX, rounded by its column's format.
func (c Cell) latex(f Format) string {
	var s string
	switch c.kind {
	case missing:
		s = "---"
	case number:
		s = texNumber(f.format(c.number))
	case integer:
		s = texNumber(strconv.FormatInt(c.int, 10))
	case text:
		if s = c.tex; s == "" {
			s = Escape(c.text)
		}
	}
	if c.spread != nil {
		s += "{\\scriptsize$\\pm$" + f.formatSpread(c.number, *c.spread) + "}"
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

var formats = regexp.MustCompile(`^(\+?)\.(\d)(%|pt|ms|G)?(~?)$`)

// ParseFormat reads a format: decimals behind a point, "+" before them for a Signed one and
// "~" behind for a Fine one; "%" for percent, "pt" for percentage points, "ms" of seconds and
// "G" for billions. ".1%" is 24.6%, "+.2pt" is +1.25. The empty one has no decimals.
func ParseFormat(s string) (f Format) {
	m := formats.FindStringSubmatch(s)
	if m == nil {
		if s != "" {
			panic(fmt.Sprintf("%q is no format", s))
		}
		return f
	}
	f.Decimals, _ = strconv.Atoi(m[2])
	f.Signed, f.Fine, f.Percent = m[1] != "", m[4] != "", m[3] == "%"
	f.Scale = map[string]float64{"pt": 100, "ms": 1000, "G": 1e-9}[m[3]]
	return f
}

// Print is a number as it is printed in plain text.
func (f Format) Print(v float64) string { return f.format(v) }

// Minus is a printed number with a minus sign in place of a hyphen.
func Minus(printed string) string {
	if digits, negative := strings.CutPrefix(printed, "-"); negative {
		return "−" + digits
	}
	return printed
}

// format rounds v for print.
func (f Format) format(v float64) string {
	if f.Scale != 0 {
		v *= f.Scale
	}
	decimals, suffix := f.Decimals, ""
	if f.Percent {
		v, suffix = 100*v, "%"
	}
	if f.Fine && math.Abs(v) < math.Pow10(1-decimals) {
		decimals++
	}
	if f.Shortest {
		decimals = -1
	}
	s := unsignedZero(strconv.FormatFloat(v, 'f', decimals, 64))
	if f.Signed && v > 0 && strings.Trim(s, "0.") != "" {
		s = "+" + s
	}
	return s + suffix
}

// formatSpread rounds the spread of a number for print: in the same unit, which
// it does not name, and with as many decimals.
func (f Format) formatSpread(number, spread float64) string {
	_, fraction, _ := strings.Cut(strings.TrimSuffix(f.format(number), "%"), ".")
	f.Signed, f.Fine, f.Decimals = false, false, len(fraction)
	return strings.TrimSuffix(f.format(spread), "%")
}

// unsignedZero drops the sign of a number that was rounded to zero.
func unsignedZero(s string) string {
	if v, err := strconv.ParseFloat(s, 64); err == nil && v == 0 && s[0] == '-' {
		return s[1:]
	}
	return s
}

// plain is the cell as text, rounded by its column's format.
func (c Cell) plain(f Format) string {
	var s string
	switch c.kind {
	case missing:
		s = "—"
	case number:
		s = f.format(c.number)
	case integer:
		s = strconv.FormatInt(c.int, 10)
	case text:
		s = c.text
	}
	if c.spread != nil {
		s += " ±" + f.formatSpread(c.number, *c.spread)
	}
	return s + c.mark
}

// head is the printed heading of a column.
func (c Column) head() Head {
	if c.Head == (Head{}) {
		return Head{Plain: c.Name}
	}
	return c.Head
}

// span is a run of adjacent columns, [from, to), under one group heading.
type span struct {
	head     Head
	from, to int
}

// spans cuts the columns into runs of the same group; a column without a
// group is a run of its own. grouped says whether any group has a name.
func (t Table) spans() (runs []span, grouped bool) {
	for j, c := range t.Columns {
		named := c.Group != (Head{})
		grouped = grouped || named
		if last := len(runs) - 1; named && last >= 0 && runs[last].head == c.Group {
			runs[last].to = j + 1
			continue
		}
		runs = append(runs, span{head: c.Group, from: j, to: j + 1})
	}
	return runs, grouped
}
