package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"speceval/internal/phrase"
	"speceval/internal/table"
	"speceval/stages/report/files"
)

// JSON writes the comparison as one document.
func (d *Diff) JSON(w io.Writer) error {
	compared, changed, beyond := d.Cells()
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		*Diff
		Compared int  `json:"compared"`
		Changed  int  `json:"changed"`
		Beyond   int  `json:"beyond"`
		Same     bool `json:"same"` // nothing differs beyond noise
	}{d, compared, changed, beyond, d.Same()})
}

// Text writes the comparison for a terminal: of each table the first changed cells,
// unless all are asked for.
func (d *Diff) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A: %s\nB: %s\n", table.Visible(d.Folders[0]), table.Visible(d.Folders[1]))
	for _, made := range d.Made {
		b.WriteString(table.Wrap("made  ", "      ", table.Visible(made)))
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

// onlyText names what one folder alone has.
func onlyText(b *strings.Builder, what string, only [2][]string) {
	const few = 6
	for side, names := range only {
		if len(names) == 0 {
			continue
		}
		var shown []string
		for _, name := range names[:min(few, len(names))] {
			shown = append(shown, table.Visible(name))
		}
		text := fmt.Sprintf("%c has %s of: %s", 'A'+side, phrase.Count(len(names), what, what+"s"), strings.Join(shown, ", "))
		if n := len(names) - len(shown); n > 0 {
			text += fmt.Sprintf(" and %d more", n)
		}
		b.WriteString(table.Wrap("only  ", "      ", text))
	}
}

// text shows a table that differs: what one folder alone has, the cells that
// changed, the paper's apart from ours. Errors that changed are counted.
func (t *Table) text(b *strings.Builder, all bool) error {
	if len(t.Changed) == 0 && t.onlyOne() == 0 {
		return nil
	}
	kinds := map[string][]Cell{}
	for _, c := range t.Changed {
		kinds[c.Kind] = append(kinds[c.Kind], c)
	}
	fmt.Fprintf(b, "\n%s: %d of %d cells changed, %d beyond noise\n", table.Visible(t.Table), len(t.Changed), t.Compared, t.beyond())
	onlyText(b, "row", t.OnlyRows)
	onlyText(b, "column", t.OnlyColumns)
	noise := len(kinds[Noise])
	if !all {
		delete(kinds, Noise)
	}
	for _, kind := range []string{Result, Paper, Noise} {
		if err := cellsText(b, kind, kinds[kind], all); err != nil {
			return err
		}
	}
	if !all && noise > 0 {
		fmt.Fprintf(b, "%s changed, which is not judged (--all)\n", phrase.Count(noise, "standard error or spread", "standard errors or spreads"))
	}
	return nil
}

// cellsText is a table of changed cells, which it sorts: those beyond noise first.
func cellsText(b *strings.Builder, kind string, cells []Cell, all bool) error {
	const few = 12
	g := table.Grid{Heads: []string{"<row", "<column", "A", "B", "B − A", "s.e.", "SEs", "<"}}
	if kind == Paper {
		g.Title = "numbers of the paper"
	}
	within := map[bool]int{false: 1}
	slices.SortStableFunc(cells, func(x, y Cell) int { return within[x.Beyond] - within[y.Beyond] })
	if !all && len(cells) > few+1 {
		g.Notes = []string{fmt.Sprintf("… and %d more (--all)", len(cells)-few)}
		cells = cells[:few]
	}
	for _, c := range cells {
		g.Add(c.line()...)
	}
	return g.Write(b)
}

func (c Cell) line() []string {
	difference, se, ses := table.None, table.None, table.None
	if c.Difference != nil {
		difference = fmt.Sprintf("%.4g", *c.Difference)
	}
	if c.SE != nil {
		se = fmt.Sprintf("%.2g", *c.SE)
		if c.Difference != nil && c.step == 0 { // a step is no multiple of an error
			ses = inErrors(*c.Difference / *c.SE)
		}
	}
	verdict := "within noise"
	switch {
	case c.Kind == Noise:
		verdict = "not judged"
	case c.Beyond && c.SE == nil:
		verdict = "changed, and has no noise"
	case c.Beyond:
		verdict = "beyond noise"
	}
	return []string{table.Visible(c.Row), table.Visible(c.Column), shown(c.Stored[0]), shown(c.Stored[1]), difference, se, ses, verdict}
}

// inErrors is a distance in standard errors: with a decimal, or as a power of ten
// where so many are that only their order matters.
func inErrors(ses float64) string {
	if math.Abs(ses) < 1e4 {
		return fmt.Sprintf("%.1f", ses)
	}
	return fmt.Sprintf("%.2g", ses)
}

// shown is a field as it is shown: numbers to ten digits, text as it is.
func shown(field string) string {
	if v, ok := files.Number(field); ok {
		return fmt.Sprintf("%.10g", v)
	}
	return cmp.Or(table.Visible(field), table.None)
}
