package report

import (
	"slices"

	"speceval/internal/table"
)

// overview is Table 1 in a form to be taken in at a glance: a row for each
// budget, each policy's mean beside the paper's.
func (v Verdicts) overview() table.Table {
	t := table.Table{
		Title:   "Table 1: mean variance relative to Uniform over the profiles",
		Columns: []table.Column{{Name: "budget", Align: table.Left}},
	}
	for _, policy := range policies {
		group := table.Head{Plain: policyName[policy]}
		t.Columns = append(t.Columns,
			table.Column{Head: table.Head{Plain: "obtained"}, Group: group, Format: table.Format{Decimals: 4}},
			table.Column{Head: table.Head{Plain: "paper"}, Group: group, Format: table.Format{Decimals: 3}},
		)
	}
	for _, c := range v.Cells {
		at := slices.Index(policies, c.Column)
		if c.Table != "table1_variance" || at < 0 {
			continue
		}
		if at == 0 {
			t.Rows = append(t.Rows, []table.Cell{table.Text(c.Row)})
		}
		last := &t.Rows[len(t.Rows)-1]
		*last = append(*last, number(c.Obtained), number(c.Paper))
	}
	return t
}

// costOverview is Table 2, 3 or 4 likewise: a row for each provenance and
// budget, each number beside the paper's.
func (v Verdicts) costOverview(kind costKind) table.Table {
	t := table.Table{Title: kind.overview, Columns: []table.Column{{Name: "row", Align: table.Left}}}
	for _, c := range kind.columns {
		group := table.Head{Plain: c.name}
		t.Columns = append(t.Columns,
			table.Column{Head: table.Head{Plain: "obtained"}, Group: group, Format: c.format},
			table.Column{Head: table.Head{Plain: "paper"}, Group: group, Format: c.format})
	}
	for _, cell := range v.Cells {
		at := slices.IndexFunc(kind.columns, func(c costColumn) bool { return c.name == cell.Column })
		if cell.Table != kind.base || at < 0 {
			continue
		}
		if at == 0 {
			t.Rows = append(t.Rows, []table.Cell{table.Text(cell.Row)})
		}
		last := &t.Rows[len(t.Rows)-1]
		*last = append(*last, number(cell.Obtained), number(cell.Paper))
	}
	return t
}

// number is a cell with a number, or a missing one.
func number(v *float64) table.Cell {
	if v == nil {
		return table.Missing()
	}
	return table.Number(*v)
}
