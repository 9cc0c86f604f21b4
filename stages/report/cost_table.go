package report

import (
	"fmt"
	"strings"

	"speceval/internal/measurement"
	"speceval/internal/table"
)

// costTable is the paper's Table 2, 3 or 4: a row for each provenance and
// budget. paper is nil where the profiles are not the paper's.
func costTable(kind costKind, costs Costs, paper *Targets) (Sheet, error) {
	rows, err := costRows(kind, costs)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: kind.base, Data: costData(kind, rows, paper), Print: costPrint(kind, rows, paper)}
	s.Data.Title, s.Data.Label = kind.title, kind.label
	s.Print.Title, s.Print.Caption, s.Print.Label = kind.title, kind.caption, kind.label
	return s, nil
}

func costData(kind costKind, rows []costRow, paper *Targets) table.Table {
	t := table.Table{Columns: names(kind.stored()...)}
	if paper != nil {
		for _, c := range kind.columns {
			t.Columns = append(t.Columns, table.Column{Name: "paper_" + c.name})
		}
	}
	for _, r := range rows {
		line := r.stored(kind)
		if paper != nil {
			for _, c := range kind.columns {
				line = append(line, found(at(kind.budgets(paper), c.paper(paper), r.budget)))
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// stored is the columns of the CSV form that are not the paper's.
func (k costKind) stored() []string {
	out := []string{"budget", "provenance"}
	for _, c := range k.columns {
		out = append(out, c.name)
	}
	for _, c := range k.columns {
		out = append(out, c.noiseName())
	}
	out = append(out, "profiles", "repeats")
	if k.differing != nil {
		out = append(out, "budgets_differing")
	}
	return out
}

// noiseName is the column of a number's noise: its Monte Carlo standard error,
// or its standard deviation over executions.
func (c costColumn) noiseName() string {
	if c.replayed {
		return c.name + "_se"
	}
	return c.name + "_sd"
}

// stored is the row in the columns of that name.
func (r costRow) stored(kind costKind) []table.Cell {
	line := []table.Cell{table.Integer(r.budget), table.Text(r.provenance)}
	for _, c := range r.cells {
		line = append(line, table.Number(c.Value))
	}
	for i, c := range kind.columns {
		if c.replayed {
			line = append(line, table.Number(r.cells[i].SE))
		} else {
			line = append(line, table.Optional(r.cells[i].sd))
		}
	}
	line = append(line, table.Integer(r.profiles), table.Integer(r.repeats))
	if kind.differing != nil {
		line = append(line, table.Integer(r.differing))
	}
	return line
}

// costPrint sets the table as the paper does, a section for each provenance.
// A published number that prints otherwise than the paper's is marked, and a
// note gives the paper's, row by row.
func costPrint(kind costKind, rows []costRow, paper *Targets) table.Table {
	t := table.Table{Columns: []table.Column{{Head: table.Head{Plain: "b", TeX: "$b$"}}}}
	for _, c := range kind.columns {
		t.Columns = append(t.Columns, table.Column{Head: c.head, Group: c.group, Align: table.Center, Format: c.format})
	}
	for i, r := range rows {
		if i == 0 || rows[i-1].provenance != r.provenance {
			t.Sections = append(t.Sections, table.Section{Row: i, Head: table.Head{Plain: sectionHead(rows, r.provenance)}})
		}
		line := []table.Cell{table.Integer(r.budget)}
		var theirs []string
		for j := range kind.columns {
			cell, differs := costCellPrint(kind, r, j, paper)
			line = append(line, cell)
			if differs != "" {
				theirs = append(theirs, differs)
			}
		}
		t.Rows = append(t.Rows, line)
		if len(theirs) > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s paper, b = %d: %s", dagger, r.budget, strings.Join(theirs, "; ")))
		}
	}
	t.Notes = append(t.Notes, benefitNotes(kind, rows)...)
	return t
}

// costCellPrint is a printed number, and the paper's where a published one
// prints otherwise.
func costCellPrint(kind costKind, r costRow, column int, paper *Targets) (cell table.Cell, differs string) {
	c := kind.columns[column]
	cell = table.Number(r.cells[column].Value)
	if sd := r.cells[column].sd; sd != nil {
		cell = cell.PlusMinus(*sd)
	}
	if paper == nil || r.provenance != measurement.Published {
		return cell, ""
	}
	want, ok := at(kind.budgets(paper), c.paper(paper), r.budget)
	if !ok || beyondRounding(r.cells[column].Value, want, c.decimals(want)) == 0 {
		return cell, ""
	}
	return cell.Marked(dagger), strings.ReplaceAll(c.name, "_", " ") + " " + c.format.Print(want)
}

// sectionHead says where the rows of a provenance come from, and how many
// profiles and repeats are in them.
func sectionHead(rows []costRow, provenance string) string {
	var profiles, repeats []int
	drawn := false
	for _, r := range rows {
		if r.provenance == provenance {
			drawn = r.drawn
			profiles, repeats = append(profiles, r.profiles), append(repeats, r.repeats)
		}
	}
	head := fmt.Sprintf("%s (profiles: %s", provenanceName[provenance], between(profiles))
	if repeats[0] > 1 {
		head += fmt.Sprintf("; mean of %s repeats ± standard deviation of one", between(repeats))
	}
	if drawn {
		head += "; lengths of answers drawn from the length model"
	}
	return head + ")"
}

var provenanceName = map[string]string{
	measurement.Published: "Published measurements",
	measurement.Simulated: "Simulated fleet",
	measurement.Measured:  "Measured on real servers",
}
