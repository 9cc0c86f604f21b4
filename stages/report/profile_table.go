package report

import (
	"fmt"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// profileTable is every replayed ratio, as stored, in the data; in print, HBN
// beside the Oracle on every profile.
func profileTable(ratios []variance.Ratio) Sheet {
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

// profilePrint has a row per profile and per budget the ratios of HBN and the
// Oracle.
func profilePrint(ratios []variance.Ratio) table.Table {
	p := newProfileRows(table.Table{
		Label:   "tab:profile-ratios",
		Title:   "Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget b.",
		Caption: `Uniform-normalized variance of HBN and of the Oracle on every profile, by average budget~$b$.`,
	})
	column := map[string]int{}
	key := func(budget int32, policy string) string { return fmt.Sprint(budget, policy) }
	for _, b := range budgets(ratios) {
		for _, policy := range []string{variance.HBN, variance.Oracle} {
			column[key(b, policy)] = len(p.Columns)
			p.Columns = append(p.Columns, table.Column{
				Head: table.Head{Plain: policyName[policy]}, Group: budgetHead(b), Format: table.Format{Decimals: 3}})
		}
	}
	for _, r := range ratios {
		row := p.of(r)
		if j, ok := column[key(r.Budget, r.Policy)]; ok {
			row[j] = table.Number(r.VarianceRatio)
		}
	}
	return p.Table
}

// profileRows is a printed table with a row per profile, in stored order.
type profileRows struct {
	table.Table
	places map[string]int // of rows, by profile
}

// newProfileRows adds the columns that name a profile to a table without any.
func newProfileRows(t table.Table) profileRows {
	t.Columns = []table.Column{
		{Head: table.Head{Plain: "Benchmark"}, Align: table.Left},
		{Head: table.Head{Plain: "Checkpoint"}, Align: table.Left},
		{Head: table.Head{Plain: "N", TeX: "$N$"}},
	}
	return profileRows{t, map[string]int{}}
}

// of is the row of a ratio's profile, empty behind its name when it is new. All
// columns must be there by then.
func (p *profileRows) of(r variance.Ratio) []table.Cell {
	at, seen := p.places[name(r)]
	if !seen {
		at = len(p.Rows)
		p.places[name(r)] = at
		row := make([]table.Cell, len(p.Columns))
		row[0], row[1], row[2] = table.Text(r.Benchmark), table.Text(modelName(r.Model)), table.Integer(r.NTasks)
		p.Rows = append(p.Rows, row)
	}
	return p.Rows[at]
}
