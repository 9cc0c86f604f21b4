package tables

import (
	"fmt"
	"io"

	"speceval/internal/display"
	"speceval/internal/policy"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/stored"
)

// Findings writes what the replay has found, for the end of a run: by average budget, what
// each policy of Table 1 leaves of Uniform's variance, the mean over the profiles, and the
// rollouts of a task with which Uniform would have HBN's variance (Section 4.3). It is an
// error if the replay has not run.
func Findings(w io.Writer, src *stored.Source) error {
	rows, err := means(src)
	if err != nil {
		return err
	}
	t := table.Table{Columns: []table.Column{{Head: table.Head{Plain: "budget"}}}}
	for _, p := range meanPolicies {
		t.Columns = append(t.Columns, table.Column{Head: table.Head{Plain: p.Label}, Format: percent1})
	}
	t.Columns = append(t.Columns, table.Column{Head: table.Head{Plain: "Uniform needs"}, Format: table.Format{Decimals: 1}})
	profiles := 0
	for _, r := range rows {
		profiles = max(profiles, r.Profiles)
		row := []table.Cell{table.Integer(int(r.Budget))}
		for _, p := range meanPolicies {
			cell := table.Missing()
			if mean, ok := r.Of[p]; ok {
				cell = table.Number(mean.Value)
			}
			row = append(row, cell)
		}
		worth := table.Missing()
		if hbn, ok := r.Of[policy.HBN]; ok {
			worth = table.Number(variance.MeanEquivalent(hbn.Ratios))
		}
		t.Rows = append(t.Rows, append(row, worth))
	}
	t.Title = fmt.Sprintf("Variance relative to Uniform's, the mean over %s,\nand the budget that Uniform needs for HBN's precision:", display.Count(profiles, "profile", "profiles"))
	return table.WriteText(w, t)
}
