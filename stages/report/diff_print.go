package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"speceval/internal/table"
)

// JSON writes the comparison as one document.
func (d *Diff) JSON(w io.Writer) error {
	compared, changed, beyond := d.Cells()
	return writeJSON(w, struct {
		*Diff
		Compared int  `json:"compared"`
		Changed  int  `json:"changed"`
		Beyond   int  `json:"beyond"`
		Same     bool `json:"same"` // nothing differs beyond noise
	}{d, compared, changed, beyond, d.Same()})
}

// fewCells is how many changed cells of a table are shown unless all are asked
// for.
const fewCells = 12

// Text writes the comparison for a terminal.
func (d *Diff) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A: %s\nB: %s\n", visible(d.Folders[0]), visible(d.Folders[1]))
	for _, made := range d.Made {
		b.WriteString(wrapped("made  ", "      ", visible(made)))
	}
	onlyText(&b, "table", d.Only)
	for _, t := range d.Tables {
		if err := t.text(&b, all); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "\n%s\n", d.Summary())
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is the comparison in one line.
func (d *Diff) Summary() string {
	compared, changed, beyond := d.Cells()
	rest := 0
	for _, t := range d.Tables {
		rest += t.onlyOne()
	}
	s := fmt.Sprintf("diff: %d of %d cells of %d %s changed, %d beyond noise", changed, compared, len(d.Tables), plural("table", len(d.Tables)), beyond)
	if tables := len(d.Only[0]) + len(d.Only[1]); tables+rest > 0 {
		s += fmt.Sprintf("; in one folder alone: %d %s, and %d %s of the others", tables, plural("table", tables), rest, plural("row or column", rest))
	}
	return s
}

// onlyText names what one folder alone has.
func onlyText(b *strings.Builder, what string, only [2][]string) {
	const few = 6
	for side, names := range only {
		if len(names) == 0 {
			continue
		}
		shown := make([]string, 0, few)
		for _, name := range names[:min(few, len(names))] {
			shown = append(shown, visible(name))
		}
		more := ""
		if n := len(names) - len(shown); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		b.WriteString(wrapped("only  ", "      ", fmt.Sprintf("%c has %d %s of: %s%s", 'A'+side, len(names), plural(what, len(names)), strings.Join(shown, ", "), more)))
	}
}

// plural is what, or several of it: "s" ends each of its words before " or ".
func plural(what string, n int) string {
	if n == 1 {
		return what
	}
	return strings.ReplaceAll(what, " or ", "s or ") + "s"
}

// text shows a table that differs: what one folder alone has, the cells that
// changed, the paper's apart from ours. Errors that changed are counted.
func (t *TableDiff) text(b *strings.Builder, all bool) error {
	if len(t.Changed) == 0 && t.onlyOne() == 0 {
		return nil
	}
	noise := 0
	kinds := map[string][]CellDiff{}
	for _, c := range t.Changed {
		if kinds[c.Kind] = append(kinds[c.Kind], c); c.Kind == NoiseCell {
			noise++
		}
	}
	fmt.Fprintf(b, "\n%s: %d of %d cells changed, %d beyond noise\n", visible(t.Table), len(t.Changed), t.Compared, t.beyond())
	onlyText(b, "row", t.OnlyRows)
	onlyText(b, "column", t.OnlyColumns)
	for _, kind := range []string{ResultCell, PaperCell} {
		if err := cellsText(b, kind, kinds[kind], all); err != nil {
			return err
		}
	}
	if all {
		return cellsText(b, NoiseCell, kinds[NoiseCell], all)
	}
	if noise > 0 {
		fmt.Fprintf(b, "%d %s changed, which is not judged (--all)\n", noise, plural("standard error or spread", noise))
	}
	return nil
}

// cellsText is a table of changed cells, those beyond noise first.
func cellsText(b *strings.Builder, kind string, cells []CellDiff, all bool) error {
	if len(cells) == 0 {
		return nil
	}
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(x, y CellDiff) int {
		if x.Beyond == y.Beyond {
			return 0
		} else if x.Beyond {
			return -1
		}
		return 1
	})
	t := table.Table{Columns: columns("<row", "<column", "A", "B", "B − A", "s.e.", "SEs", "<")}
	if kind == PaperCell {
		t.Title = "numbers of the paper"
	}
	for i, c := range cells {
		if i == fewCells && !all && len(cells) > fewCells+1 {
			t.Notes = []string{fmt.Sprintf("… and %d more (--all)", len(cells)-fewCells)}
			break
		}
		t.Rows = append(t.Rows, c.line())
	}
	return table.WriteText(b, t)
}

func (c CellDiff) line() []table.Cell {
	difference, se, ses := table.Missing(), table.Missing(), table.Missing()
	if c.Difference != nil {
		difference = table.Text(strconv.FormatFloat(*c.Difference, 'g', 4, 64))
	}
	if c.SE != nil {
		se = table.Text(short(*c.SE, 2))
		if c.Difference != nil && stepOf(c.Column) == 0 { // a step is no multiple of an error
			ses = table.Text(countedErrors(*c.Difference / *c.SE))
		}
	}
	verdict := "within noise"
	switch {
	case c.Kind == NoiseCell:
		verdict = "not judged"
	case c.Beyond && c.SE == nil:
		verdict = "changed, and has no noise"
	case c.Beyond:
		verdict = "beyond noise"
	}
	return []table.Cell{table.Text(visible(c.Row)), table.Text(visible(c.Column)),
		table.Text(shownField(c.Stored[0])), table.Text(shownField(c.Stored[1])), difference, se, ses, table.Text(verdict)}
}

// countedErrors is a distance in standard errors: with a decimal, or as a power of
// ten where so many are that only their order matters.
func countedErrors(ses float64) string {
	if math.Abs(ses) < 1e4 {
		return strconv.FormatFloat(ses, 'f', 1, 64)
	}
	return strconv.FormatFloat(ses, 'g', 2, 64)
}

// shownField is a field as it is shown: numbers to ten digits, text as it is.
func shownField(field string) string {
	if v, ok := numberIn(field); ok {
		return short(v, 10)
	}
	return cmp.Or(visible(field), none)
}

// visible is text that does nothing to a terminal, and is no longer than a line
// should be.
func visible(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
