package report

import (
	"fmt"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// equivalent is the Uniform budget that HBN's variance on a profile is worth.
type equivalent struct {
	hbn     variance.Ratio
	budget  Estimate // b/r
	rounded int32    // ⌊b/r⌋
}

// equivalents are those of every profile and budget, in stored order.
func equivalents(res Results) ([]equivalent, error) {
	designs := newSchedules(res.Designs)
	var all []equivalent
	for _, r := range res.Ratios {
		if r.Policy != variance.HBN {
			continue
		}
		se, err := totalSE(designs, r)
		if err != nil {
			return nil, err
		}
		rounded, err := variance.EquivalentBudget(r.Budget, r.VarianceRatio)
		if err != nil {
			return nil, fmt.Errorf("%s: %s at budget %d: %w", variance.RatiosFile, name(r), r.Budget, err)
		}
		b := float64(r.Budget)
		all = append(all, equivalent{r, Estimate{b / r.VarianceRatio, b / (r.VarianceRatio * r.VarianceRatio) * se}, rounded})
	}
	return all, nil
}

// equivalentTable is what HBN's precision is worth on every profile, in rollouts
// of Uniform; the paper has the average alone (Table 4).
func equivalentTable(res Results) (Sheet, error) {
	rows, err := equivalents(res)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: "budget_equivalents", Print: equivalentPrint(rows)}
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	s.Data.Columns = names("benchmark", "model", "n_tasks", "budget", "hbn", "equivalent_budget", "equivalent_se", "rounded")
	for _, e := range rows {
		s.Data.Rows = append(s.Data.Rows, []table.Cell{table.Text(e.hbn.Benchmark), table.Text(e.hbn.Model),
			table.Integer(e.hbn.NTasks), table.Integer(e.hbn.Budget), table.Number(e.hbn.VarianceRatio),
			table.Number(e.budget.Value), table.Number(e.budget.SE), table.Integer(e.rounded)})
	}
	return s, nil
}

// equivalentPrint has a row per profile and a column per budget.
func equivalentPrint(rows []equivalent) table.Table {
	p := newProfileRows(table.Table{
		Label: "tab:budget-equivalents",
		Title: "Rollouts per task with which Uniform would have the variance of HBN, b/r with the replayed variance ratio r, " +
			"on every profile and by the average budget b of HBN.",
		Caption: `Rollouts per task with which Uniform would have the variance of HBN, $b/r$ with the replayed variance ratio~$r$, ` +
			`on every profile and by the average budget~$b$ of HBN.`,
	})
	var ratios []variance.Ratio
	for _, e := range rows {
		ratios = append(ratios, e.hbn)
	}
	column := map[int32]int{}
	for _, b := range budgets(ratios) {
		column[b] = len(p.Columns)
		p.Columns = append(p.Columns, table.Column{Head: budgetHead(b), Format: table.Format{Decimals: 2}})
	}
	for _, e := range rows {
		p.of(e.hbn)[column[e.hbn.Budget]] = table.Number(e.budget.Value)
	}
	return p.Table
}
