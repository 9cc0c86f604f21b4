package tables

import (
	"testing"

	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Sizes is how many profiles HBN was replayed on, by budget.
var Sizes = &model.Table{
	Base: "sizes", Label: "tab:sizes",
	Reads: stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}},
	Make:  makeSizes,
}

func makeSizes(src *stored.Source) (*model.Sheet, error) {
	rows, err := meanRows(src)
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{Rows: len(rows), Title: "Profiles, and HBN's mean variance on them."}
	s.Add(
		model.BudgetColumn(func(i int) int32 { return rows[i].Budget }),
		model.Column{Name: "profiles", Role: model.Count, Words: "The profiles that HBN was replayed on.", Head: table.Head{Plain: "Profiles"},
			Cell: model.Counts(func(i int) int { return rows[i].Profiles })},
		model.Column{Name: "hbn", Words: "HBN's entry of Table 1.", Head: table.Head{Plain: "HBN"}, Format: percent1,
			Cell:  model.Numbers(func(i int) float64 { return rows[i].Of[policy.HBN].Value }),
			Break: func(i int) (model.Breakdown, error) { return mean{rows[i].Of[policy.HBN], src}.breakdown() }})
	return s, nil
}

// TestTheExampleOfTheManual: docs/tables.md shows this table.
func TestTheExampleOfTheManual(t *testing.T) {
	s, err := Sizes.Blank()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"budget", "profiles", "hbn"} {
		if s.StoredColumn(name) == nil {
			t.Errorf("the table of the manual has no column %q", name)
		}
	}
}
