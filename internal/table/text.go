package table

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/shown"
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
			fmt.Fprintf(&b, "%s\n", shown.Line(head.Plain))
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
		heads[j] = shown.Line(c.head().Plain)
	}
	lines = append(lines, heads)
	for _, row := range t.Rows {
		line := make([]string, len(row))
		for j, c := range row {
			line[j] = shown.Line(c.plain(t.Columns[j].Format))
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
func Wrap(first, others, text string) string {
	const width = 100
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

// Visible is text that does nothing to a terminal, and is no longer than a line
// should be.
func Visible(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
