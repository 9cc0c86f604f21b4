package agreement

import (
	"fmt"
	"slices"
	"strings"

	"speceval/internal/table"
)

// Comparisons is what was compared, cell by cell, in the order of its tables.
type Comparisons []Comparison

// Of is the cells of a table.
func (all Comparisons) Of(table string) Comparisons {
	return all.where(func(c Comparison) bool { return c.Table == table })
}

// InClass is the cells of a class.
func (all Comparisons) InClass(class Class) Comparisons {
	return all.where(func(c Comparison) bool { return c.Class == class })
}

// Deciding is the cells of the classes by which the whole passes or fails.
func (all Comparisons) Deciding() Comparisons {
	return all.where(func(c Comparison) bool { return c.Class.Decides() })
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

// Passed reports that no cell of a deciding class differs, or is missing though its
// stage has run.
func (all Comparisons) Passed() bool {
	deciding := all.Deciding()
	return deciding.Agreeing() == deciding.Judged()
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

// Tally counts the cells by class, and says how many of each agree. It is empty
// where there is nothing to count.
func (all Comparisons) Tally() string {
	var parts []string
	for _, class := range Classes {
		if part := all.InClass(class).tally(class); part != "" {
			parts = append(parts, part)
		}
	}
	if n := all.Missing(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of stages that have not run", n))
	}
	return strings.Join(parts, "; ")
}

// tally counts cells of one class.
func (all Comparisons) tally(class Class) string {
	judged, shown := all.Judged(), all.count(func(v Verdict) bool { return v == Shown })
	switch {
	case class == InFit && judged+shown > 0:
		return fmt.Sprintf("%s %d", class, judged+shown)
	case class == Predicted && judged == 0 && shown > 0:
		return fmt.Sprintf("%s %d, not judged: the suite was executed once", class, shown)
	case judged == 0:
		return ""
	case class == Predicted:
		return all.foretold(judged)
	case class == Measured:
		return fmt.Sprintf("%s %d of %d agree with their predictions", class, all.Agreeing(), judged)
	}
	return fmt.Sprintf("%s %d of %d agree", class, all.Agreeing(), judged)
}

// foretold counts forecasts, and scores them.
func (all Comparisons) foretold(judged int) string {
	text := fmt.Sprintf("%s %d: %d within %d s.d.", Predicted, judged, all.Agreeing(), Deviations)
	if n := all.count(func(v Verdict) bool { return v == Differs }); n > 0 {
		text += fmt.Sprintf(", %d %s", n, map[bool]string{true: "differs", false: "differ"}[n == 1])
	}
	if n := all.count(func(v Verdict) bool { return v == Absent }); n > 0 {
		text += fmt.Sprintf(", %d missing", n)
	}
	if s := all.Score(); s.Cells > 0 {
		text += fmt.Sprintf(", score %.2f points, naive fleet %.2f", 100*s.CRPS, 100*s.Naive)
	}
	return text
}

// Block is the cells of one table as a table for people, with its tally.
func (all Comparisons) Block(name string) table.Table {
	t := table.Table{Title: name}
	if tally := all.Tally(); tally != "" {
		t.Title = fmt.Sprintf("%s (%s)", name, tally)
	}
	obtained, expected := all[0].Sides()
	t.Columns = table.Named("row", "column", obtained, expected, "difference", "s.e.", "SEs", "verdict")
	for _, left := range []int{0, 1, 7} {
		t.Columns[left].Align = table.Left
	}
	for _, c := range all {
		t.Rows = append(t.Rows, c.Line())
	}
	if all[0].Live { // all are measured
		return t
	}
	t.Columns = slices.Insert(t.Columns, 2, table.Column{Name: "class", Align: table.Left})
	for i, c := range all {
		t.Rows[i] = slices.Insert(t.Rows[i], 2, table.Text(string(c.Class)))
	}
	return t
}
