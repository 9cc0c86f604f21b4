package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"speceval/internal/terminal/display"
)

// WriteText writes t as aligned text for a terminal: title, headings, rows, notes.
func WriteText(w io.Writer, t Table) error {
	if err := t.Validate(); err != nil {
		return err
	}
	lines := make([][]string, len(t.Rows)+1) // the headings, and a line for each row
	widths := make([]int, len(t.Columns))
	for j, c := range t.Columns {
		lines[0] = append(lines[0], display.EscapedLine(c.head().Plain))
		for i, row := range t.Rows {
			lines[i+1] = append(lines[i+1], display.EscapedLine(row[j].plain(c.Format)))
		}
		for _, line := range lines {
			widths[j] = max(widths[j], utf8.RuneCountInString(line[j]))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "%s\n\n", t.Title)
	}
	runs, grouped := t.spans()
	var groups []string
	for _, r := range runs { // as wide as its columns, which are made as wide as its heading
		lack := utf8.RuneCountInString(r.head.Plain) - lineWidth(widths[r.from:r.to])
		widths[r.to-1] += max(0, lack)
		groups = append(groups, pad(r.head.Plain, lineWidth(widths[r.from:r.to]), Center))
	}
	if grouped {
		writeLine(&b, groups)
	}
	for i, line := range lines {
		if head, ok := t.section(i - 1); ok {
			fmt.Fprintf(&b, "%s\n", display.EscapedLine(head.Plain))
		}
		for j := range line {
			line[j] = pad(line[j], widths[j], t.Columns[j].Align)
		}
		if writeLine(&b, line); i == 0 {
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

// lineWidth is the width of columns set side by side.
func lineWidth(widths []int) int {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func writeLine(b *strings.Builder, cells []string) {
	fmt.Fprintln(b, strings.TrimRight(strings.Join(cells, strings.Repeat(" ", gap)), " "))
}

// pad places s in width columns.
func pad(s string, width int, a Align) string {
	lack := max(0, width-utf8.RuneCountInString(s))
	left := [...]int{Right: lack, Left: 0, Center: lack / 2}[a]
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", lack-left)
}

// plain is the cell as text, rounded by its column's format.
func (c Cell) plain(f Format) string {
	s := None
	if v, ok := c.Float(); ok {
		s = f.Print(v)
		if c.spread != nil {
			s += " ±" + f.spread(v, *c.spread)
		}
	} else if c.value != nil {
		s = c.Exact()
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
	records := make([][]string, len(t.Rows)+1)
	for _, c := range t.Columns {
		records[0] = append(records[0], c.Name)
	}
	for i, row := range t.Rows {
		for _, c := range row {
			records[i+1] = append(records[i+1], c.Exact())
		}
	}
	return csv.NewWriter(w).WriteAll(records)
}
