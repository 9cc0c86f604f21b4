package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"speceval/internal/display"
)

// WriteText writes t as aligned text for a terminal: title, headings, rows, notes.
func WriteText(w io.Writer, t Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	lines := textGrid(t)
	widths := make([]int, len(t.Columns))
	for _, line := range lines {
		for j, s := range line {
			widths[j] = max(widths[j], utf8.RuneCountInString(s))
		}
	}
	runs, grouped := t.spans()
	widen(widths, runs)

	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "%s\n\n", t.Title)
	}
	if grouped {
		writeGroups(&b, runs, widths)
	}
	for i, line := range lines {
		if head, ok := t.section(i - 1); ok {
			fmt.Fprintf(&b, "%s\n", display.EscapedLine(head.Plain))
		}
		writeLine(&b, t.Columns, line, widths)
		if i == 0 {
			fmt.Fprintln(&b, strings.Repeat("-", lineWidth(widths)))
		}
	}
	for _, note := range t.Notes {
		fmt.Fprintln(&b, note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const gap = 2 // spaces between columns

// textGrid is the heading line followed by a line of strings per row.
func textGrid(t Table) [][]string {
	lines := make([][]string, 0, len(t.Rows)+1)
	heads := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		heads[j] = display.EscapedLine(c.head().Plain)
	}
	lines = append(lines, heads)
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for j, c := range row {
			line[j] = display.EscapedLine(c.plain(t.Columns[j].Format))
		}
		lines = append(lines, line)
	}
	return lines
}

// widen makes every run of columns as wide as its group heading.
func widen(widths []int, runs []span) {
	for _, r := range runs {
		have := lineWidth(widths[r.from:r.to])
		if lack := utf8.RuneCountInString(r.head.Plain) - have; lack > 0 {
			widths[r.to-1] += lack
		}
	}
}

// lineWidth is the width of columns set side by side.
func lineWidth(widths []int) int {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func writeGroups(b *strings.Builder, runs []span, widths []int) {
	var line strings.Builder
	for i, r := range runs {
		if i > 0 {
			line.WriteString(strings.Repeat(" ", gap))
		}
		line.WriteString(pad(r.head.Plain, lineWidth(widths[r.from:r.to]), Center))
	}
	fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
}

func writeLine(b *strings.Builder, columns []Column, line []string, widths []int) {
	var out strings.Builder
	for j, s := range line {
		if j > 0 {
			out.WriteString(strings.Repeat(" ", gap))
		}
		out.WriteString(pad(s, widths[j], columns[j].Align))
	}
	fmt.Fprintln(b, strings.TrimRight(out.String(), " "))
}

// pad places s in width columns.
func pad(s string, width int, a Align) string {
	lack := max(0, width-utf8.RuneCountInString(s))
	left := 0
	switch a {
	case Right:
		left = lack
	case Center:
		left = lack / 2
	}
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", lack-left)
}

// Wrap breaks text into lines of a terminal's width, which begin with first and then
// with others.
func Wrap(first, others, text string) string { return WrapAt(100, first, others, text) }

// WrapAt is Wrap to a number of columns.
func WrapAt(width int, first, others, text string) string {
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = others
		case i > 0:
			line += " "
		}
		line += word
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// CSV writes t as RFC 4180 CSV: the column names on the first line, then
// every value at full precision, the shortest decimal that reads back as the
// same float64. A missing value is an empty field. There is no comment line,
// because CSV has no comments and readers choke on them.
func CSV(w io.Writer, t Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	record := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		record[j] = c.Name
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for _, row := range t.Rows {
		for j, c := range row {
			record[j] = c.Exact()
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Exact is the cell's value with nothing lost, empty where it is missing: its
// field in CSV.
func (c Cell) Exact() string {
	switch c.kind {
	case number:
		return strconv.FormatFloat(c.number, 'g', -1, 64)
	case integer:
		return strconv.FormatInt(c.int, 10)
	default:
		return c.text
	}
}

// Breakable is plain text as LaTeX in which a line may end after every character
// that is no letter or digit, and within long words.
func Breakable(s string) string {
	var b strings.Builder
	run := 0
	for _, r := range s {
		b.WriteString(Escape(string(r)))
		run++
		if word := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'; !word || run >= 16 {
			b.WriteString(`\allowbreak{}`)
			run = 0
		}
	}
	return b.String()
}

// Typewriter is a word in typewriter type, which may break anywhere.
func Typewriter(word string) string { return `\texttt{` + Breakable(word) + `}` }

// Breaking is a phrase that may break in LaTeX as Breakable says.
func Breaking(s string) Cell { return Math(s, Breakable(s)) }

// Ragged is the Align of a LaTeX column of a width in millimetres whose text breaks.
func Ragged(width int) string { return fmt.Sprintf(`>{\raggedright\arraybackslash}p{%dmm}`, width) }

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
		return float64(p.Width())*scriptsize + 2*separation*float64(p.columns-1)
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
