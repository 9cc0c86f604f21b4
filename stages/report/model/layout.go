package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/store/profile"
	"speceval/internal/terminal/table"
)

// Dagger marks a printed value that differs from the paper's.
const Dagger = "†"

// Print is the printed form, rounded: columns in order, each with the paper's
// next to it if it is paired, unless the sheet has a layout of its own.
func (s *Sheet) Print() table.Table {
	t := table.Table{Title: s.Title, Label: s.Label, Notes: slices.Clone(s.Notes)}
	if s.Layout != nil {
		s.Layout(&t)
	} else {
		s.inOrder(&t)
	}
	for _, stage := range s.Lacking {
		t.Notes = append(t.Notes, fmt.Sprintf("Not all is here: the %s stage has not run.", stage))
	}
	return t
}

func (s *Sheet) inOrder(t *table.Table) {
	var shown []Column
	for _, c := range s.Columns {
		if !c.Printed() {
			continue
		}
		if c.Paired && s.Paper != nil {
			shown = append(shown, c, Column{Head: Theirs, Align: c.Align, Format: c.Format, Shown: func(row int) table.Cell { return s.Theirs(c, row) }})
			last := len(shown) - 1
			shown[last-1].Head, shown[last-1].Group, shown[last].Group = Ours, c.Head, c.Head
			continue
		}
		shown = append(shown, c)
	}
	for _, c := range shown {
		t.Columns = append(t.Columns, table.Column{Head: c.Head, Group: c.Group, Align: c.Align, Format: c.Format})
	}
	heading := s.Heading
	if b := s.Column("budget"); heading == nil && b != nil && !b.Printed() {
		heading = func(i int) table.Head { return BudgetHead(int32(*b.Cell(i).Value())) }
	}
	for i := range s.Rows {
		if heading != nil && (i == 0 || heading(i) != heading(i-1)) {
			t.Sections = append(t.Sections, table.Section{Row: i, Head: heading(i)})
		}
		var line []table.Cell
		for _, c := range shown {
			line = append(line, s.printed(c, i))
		}
		t.Rows = append(t.Rows, line)
	}
}

// printed is a cell as it is printed.
func (s *Sheet) printed(c Column, row int) table.Cell {
	cell := c.Cell
	if c.Shown != nil {
		cell = c.Shown
	}
	if se := s.Spread(c, row); c.PlusMinus && se != nil {
		return cell(row).PlusMinus(*se)
	}
	return cell(row)
}

// Place is a row of a sheet in a layout that sets budgets side by side.
type Place struct {
	Lead   []table.Cell // of the line that it is on, with the names that tell lines apart
	Budget int32
	At     int          // the first of its columns among those of the budget
	Cells  []table.Cell // none: it is not shown
}

// SideBySide has the sheet printed by places: a line for each Lead in the order of the first
// of them, and for each budget the columns under it.
func (s *Sheet) SideBySide(lead []table.Column, under func(budget int32) []table.Column, places []Place) {
	s.Layout = func(t *table.Table) {
		var budgets []int32
		for _, p := range places {
			budgets = append(budgets, p.Budget)
		}
		slices.Sort(budgets)
		t.Columns = lead
		first := map[int32]int{}
		for _, b := range slices.Compact(budgets) {
			first[b] = len(t.Columns)
			t.Columns = append(t.Columns, under(b)...)
		}
		at := map[string]int{}
		for _, p := range places {
			name := fmt.Sprint(p.Lead)
			if _, seen := at[name]; !seen {
				at[name] = len(t.Rows)
				t.Rows = append(t.Rows, append(p.Lead, make([]table.Cell, len(t.Columns)-len(p.Lead))...))
			}
			copy(t.Rows[at[name]][first[p.Budget]+p.At:], p.Cells)
		}
	}
}

// Heads of paired columns.
var (
	Ours   = table.Head{Plain: "ours"}
	Theirs = table.Head{Plain: "paper"}
)

// BudgetHead is a budget as a heading of columns or of a section.
func BudgetHead(budget int32) table.Head {
	return table.Head{Plain: fmt.Sprintf("b = %d", budget), TeX: fmt.Sprintf("$b=%d$", budget)}
}

// ProfileName is a profile as files spell it.
func ProfileName(benchmark, model string) string {
	return profile.Profile{Benchmark: benchmark, Model: model}.Name()
}

var modelID = regexp.MustCompile(`^qwen(\d+)_(\d+)_(\d+)b$`)

// ModelName is a checkpoint as the paper prints it; an identifier of another
// form is its own name.
func ModelName(id string) string { return modelID.ReplaceAllString(id, "Qwen$1.$2-${3}B") }

// ProfileTitle is a profile as the paper prints it.
func ProfileTitle(benchmark, model string) string { return benchmark + ", " + ModelName(model) }

// Between is the least and the greatest of some counts: "107", or "3 to 107".
func Between(counts []int) string {
	if least, most := slices.Min(counts), slices.Max(counts); least != most {
		return fmt.Sprintf("%d to %d", least, most)
	}
	return fmt.Sprint(counts[0])
}

// Spelled is a number as the words of its digits: 64 is SixFour.
func Spelled(n int32) string {
	words := [10]string{"Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"}
	var b strings.Builder
	for _, digit := range strconv.Itoa(int(n)) {
		b.WriteString(words[digit-'0'])
	}
	return b.String()
}
