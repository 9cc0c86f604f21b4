package tables

import (
	"fmt"
	"io"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/display"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Findings writes what the replay has found on profiles of one's own, for the end of a run:
// Table 1, and the rollouts of a task with which Uniform would have HBN's variance (Section 4.3).
func Findings(w io.Writer, src *stored.Source) error {
	s, err := Variance.Sheet(src)
	if err != nil {
		return err
	}
	rows, err := means(src)
	budget, profiles := s.Column("budget"), 0
	budget.Head, budget.Shown, budget.Align = table.Head{Plain: "budget"}, nil, table.Right
	for _, r := range rows {
		profiles = max(profiles, len(r[0].Ratios))
	}
	s.Add(model.Column{Head: table.Head{Plain: "Uniform needs"}, Format: table.Format{Decimals: 1}, Shown: func(i int) table.Cell {
		return table.Finite(variance.MeanEquivalent(meanOf(rows[i], policy.HBN).Ratios))
	}})
	t := s.Print()
	if t.Notes = nil; src.Few != "" {
		t.Notes = []string{src.Few}
	}
	t.Title = fmt.Sprintf("Variance relative to Uniform's, the mean over %s,\nand the budget that Uniform needs for HBN's precision:", display.Count(profiles, "profile", "profiles"))
	if err == nil {
		err = table.WriteText(w, t)
	}
	return err
}
