package agreement

import (
	"fmt"
	"slices"

	"speceval/internal/table"
)

// Comparisons is what was compared, cell by cell, in the order of its tables.
type Comparisons []Comparison

// Of is the cells of a table.
func (all Comparisons) Of(table string) Comparisons {
	return all.where(func(c Comparison) bool { return c.Table == table })
}

// Sides are the cells about the paper's numbers, and those about what was
// measured here.
func (all Comparisons) Sides() (paper, live Comparisons) {
	return all.where(func(c Comparison) bool { return !c.Live }), all.where(func(c Comparison) bool { return c.Live })
}

func (all Comparisons) where(holds func(Comparison) bool) Comparisons {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return !holds(c) })
}

// Tables is the tables that cells are of, each once, in their order.
func (all Comparisons) Tables() (tables []string) {
	for _, c := range all {
		if !slices.Contains(tables, c.Table) {
			tables = append(tables, c.Table)
		}
	}
	return tables
}

// Agreeing counts the cells that pass.
func (all Comparisons) Agreeing() int { return all.count(Verdict.Passes) }

// Judged counts the cells that pass or fail.
func (all Comparisons) Judged() int {
	return all.count(func(v Verdict) bool { return v != Shown && v != NotRun })
}

// Missing counts the cells of numbers whose stage has not run.
func (all Comparisons) Missing() int {
	return all.count(func(v Verdict) bool { return v == NotRun })
}

// count counts the cells whose verdict holds.
func (all Comparisons) count(holds func(Verdict) bool) (n int) {
	for _, c := range all {
		if holds(c.Verdict) {
			n++
		}
	}
	return n
}

// Tally says how many of the judged cells do what is said.
func (all Comparisons) Tally(what string) string {
	text := fmt.Sprintf("%d of %d %s", all.Agreeing(), all.Judged(), what)
	if n := all.Missing(); n > 0 {
		text += fmt.Sprintf("; %d more are of stages that have not run", n)
	}
	return text
}

// Block is the cells of one table as a table for people, with its tally.
func (all Comparisons) Block(name string) table.Table {
	t := table.Table{Title: fmt.Sprintf("%s (%d of %d agree)", name, all.Agreeing(), all.Judged())}
	obtained, expected := all[0].Sides()
	t.Columns = table.Named("row", "column", obtained, expected, "difference", "s.e.", "SEs", "verdict")
	for _, left := range []int{0, 1, 7} {
		t.Columns[left].Align = table.Left
	}
	for _, c := range all {
		t.Rows = append(t.Rows, c.Line())
	}
	return t
}
