package report

import (
	"fmt"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// ProfileTable is every replayed ratio, as stored, in the data; in print, HBN
// beside the Oracle on every profile.
func ProfileTable(ratios []variance.Ratio) Sheet {
	s := Sheet{Base: "profile_ratios", Print: profilePrint(ratios)}
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	s.Data.Columns = names("benchmark", "model", "n_tasks", "budget", "policy",
		"alpha", "m", "w", "variance_ratio", "ratio_se", "draws")
	for _, r := range ratios {
		s.Data.Rows = append(s.Data.Rows, []table.Cell{
			table.Text(r.Benchmark), table.Text(r.Model), table.Integer(r.NTasks), table.Integer(r.Budget),
			table.Text(r.Policy), table.Optional(r.Alpha), optionalInt(r.M), table.Optional(r.W),
			table.Number(r.VarianceRatio), table.Number(r.RatioSE), table.Integer(r.Draws),
		})
	}
	return s
}

// profilePrint has a row per profile, in stored order, and per budget the
// ratios of HBN and the Oracle.
func profilePrint(ratios []variance.Ratio) table.Table {
	t := table.Table{
		Label:   "tab:profile-ratios",
		Title:   "Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget b.",
		Caption: `Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget~$b$.`,
		Columns: []table.Column{
			{Head: table.Head{Plain: "Benchmark"}, Align: table.Left},
			{Head: table.Head{Plain: "Checkpoint"}, Align: table.Left},
			{Head: table.Head{Plain: "N", TeX: "$N$"}},
		},
	}
	shown := []string{variance.HBN, variance.Oracle}
	all := budgets(ratios)
	for _, b := range all {
		group := table.Head{Plain: fmt.Sprintf("b = %d", b), TeX: fmt.Sprintf("$b=%d$", b)}
		for _, policy := range shown {
			t.Columns = append(t.Columns, table.Column{
				Head: table.Head{Plain: policyName[policy]}, Group: group, Format: table.Format{Decimals: 3}})
		}
	}
	type entry struct {
		budget int32
		policy string
	}
	column := map[entry]int{}
	for i, b := range all {
		for j, policy := range shown {
			column[entry{b, policy}] = 3 + i*len(shown) + j
		}
	}
	row := map[string]int{}
	for _, r := range ratios {
		if _, seen := row[name(r)]; !seen {
			row[name(r)] = len(t.Rows)
			line := make([]table.Cell, len(t.Columns))
			line[0], line[1], line[2] = table.Text(r.Benchmark), table.Text(modelName(r.Model)), table.Integer(r.NTasks)
			t.Rows = append(t.Rows, line)
		}
		if j, ok := column[entry{r.Budget, r.Policy}]; ok {
			t.Rows[row[name(r)]][j] = table.Number(r.VarianceRatio)
		}
	}
	return t
}
