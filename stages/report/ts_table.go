package report

import (
	"fmt"
	"math"
	"strconv"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// paperTrajectories is the number of trajectories of every candidate on every
// profile in the paper.
const paperTrajectories = 8192

// tsRow is a row of Table 8: the best candidate of TS-Neyman at a budget, beside
// HBN.
type tsRow struct {
	best     variance.Search
	hbn      Estimate
	searched int      // candidates at the budget
	ties     []string // other finalists no worse than noise
}

// delta is TS-Neyman's mean MSE less HBN's, with its Monte Carlo error.
func (r tsRow) delta() Estimate {
	return Estimate{r.best.MSE - r.hbn.Value, math.Hypot(r.best.MSESE, r.hbn.SE)}
}

// tsRows computes Table 8: budgets at which a candidate was selected.
func tsRows(res Results, search []variance.Search) ([]tsRow, error) {
	designs := newSchedules(res.Designs)
	var rows []tsRow
	for _, b := range budgets(res.Ratios) {
		best, ok := selectedSearch(search, b)
		if !ok {
			continue
		}
		ratios := pick(res.Ratios, variance.HBN, b)
		if len(ratios) == 0 {
			continue
		}
		hbn, err := meanRatio(designs, ratios)
		if err != nil {
			return nil, err
		}
		row := tsRow{best: best, hbn: hbn}
		for _, s := range search {
			if s.Budget != b {
				continue
			}
			row.searched++
			loss, noise := s.MSE-best.MSE, math.Hypot(s.MSESE, best.MSESE)
			if s.Finalist && !s.Selected && loss <= sigmas*noise {
				row.ties = append(row.ties, fmt.Sprintf("(%g, %d)", s.Alpha, s.M0))
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// selectedSearch is the selected candidate at a budget.
func selectedSearch(search []variance.Search, budget int32) (variance.Search, bool) {
	for _, s := range search {
		if s.Budget == budget && s.Selected {
			return s, true
		}
	}
	return variance.Search{}, false
}

// searchTable is the paper's Table 8: the hindsight envelope of Bernoulli TS-Neyman
// against HBN. paper is nil where the profiles are not the paper's.
func searchTable(res Results, search []variance.Search, paper *Targets) (Sheet, error) {
	rows, err := tsRows(res, search)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{Base: tsTable, Data: tsData(rows, paper), Print: tsPrint(rows, paper)}
	s.Data.Title, s.Data.Label = s.Print.Title, s.Print.Label
	return s, nil
}

const tsTable = "table8_ts_neyman"

func tsData(rows []tsRow, paper *Targets) table.Table {
	t := table.Table{Columns: names("budget", "alpha", "m0", "ts", "ts_se", "hbn", "delta", "draws",
		"hbn_se", "delta_se", "raw", "raw_se", "candidates", "ties")}
	if paper != nil {
		t.Columns = append(t.Columns, names("paper_alpha", "paper_m0", "paper_ts", "paper_hbn", "paper_delta")...)
	}
	for _, r := range rows {
		best, delta := r.best, r.delta()
		line := []table.Cell{table.Integer(best.Budget), table.Number(best.Alpha), table.Integer(best.M0),
			table.Number(best.MSE), table.Number(best.MSESE), table.Number(r.hbn.Value), table.Number(delta.Value),
			table.Integer(best.Draws), table.Number(r.hbn.SE), table.Number(delta.SE),
			table.Number(best.Raw), table.Number(best.RawSE), table.Integer(r.searched), table.Integer(len(r.ties))}
		if paper != nil {
			line = append(line, paper.Table8.cells(best.Budget)...)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// cells are the paper's alpha, m0, ts, hbn and delta at a budget.
func (p tsTargets) cells(budget int32) []table.Cell {
	m0 := table.Missing()
	if v, ok := at(p.Budget, p.M0, budget); ok {
		m0 = table.Integer(v)
	}
	return []table.Cell{found(at(p.Budget, p.Alpha, budget)), m0, found(at(p.Budget, p.TS, budget)),
		found(at(p.Budget, p.HBN, budget)), found(at(p.Budget, p.Delta, budget))}
}

func tsPrint(rows []tsRow, paper *Targets) table.Table {
	t := table.Table{
		Label: "tab:ts-neyman-envelope",
		Title: "Bernoulli TS-Neyman against HBN: mean Uniform-normalized MSE over the profiles; lower is better. " +
			"At each budget the prior strength alpha and warm start m0 that do best in hindsight, the same on all profiles, " +
			"with Monte Carlo standard errors. Delta: TS-Neyman minus HBN.",
		Caption: "Bernoulli TS-Neyman against HBN: mean Uniform-normalized MSE over the profiles; lower is better. " +
			`At each budget the prior strength~$\alpha$ and warm start~$m_0$ that do best in hindsight, the same on all profiles, ` +
			`with Monte Carlo standard errors. $\Delta$: TS-Neyman minus HBN, in percentage points.`,
		Columns: []table.Column{{Head: table.Head{Plain: "b", TeX: "$b$"}}},
	}
	percent := table.Format{Decimals: 2, Percent: true}
	choice := table.Head{Plain: "(alpha, m0)", TeX: `$(\alpha, m_0)$`}
	heads := []table.Head{choice, {Plain: "TS-Neyman"}, {Plain: "HBN"}, deltaHead}
	formats := []table.Format{{}, percent, percent, percent}
	for i, head := range heads {
		if paper == nil {
			t.Columns = append(t.Columns, table.Column{Head: head, Align: table.Center, Format: formats[i]})
			continue
		}
		t.Columns = append(t.Columns,
			table.Column{Head: table.Head{Plain: "ours"}, Group: head, Align: table.Center, Format: formats[i]},
			table.Column{Head: table.Head{Plain: "paper"}, Group: head, Align: table.Center, Format: formats[i]})
	}
	for _, r := range rows {
		delta := r.delta()
		ours := []table.Cell{chosen(r.best.Alpha, r.best.M0), table.Number(r.best.MSE).PlusMinus(r.best.MSESE),
			table.Number(r.hbn.Value), table.Number(delta.Value).PlusMinus(delta.SE)}
		line := []table.Cell{table.Integer(r.best.Budget)}
		for i, cell := range ours {
			line = append(line, cell)
			if paper != nil {
				line = append(line, paper.Table8.printed(r.best.Budget)[i])
			}
		}
		t.Rows = append(t.Rows, line)
		t.Notes = append(t.Notes, r.note())
	}
	return t
}

// printed are the paper's choice, TS-Neyman, HBN and delta at a budget.
func (p tsTargets) printed(budget int32) []table.Cell {
	all := p.cells(budget)
	choice := table.Missing()
	if alpha, ok := at(p.Budget, p.Alpha, budget); ok {
		m0, _ := at(p.Budget, p.M0, budget)
		choice = chosen(alpha, m0)
	}
	return append([]table.Cell{choice}, all[2:]...)
}

func chosen(alpha float64, m0 int32) table.Cell {
	return table.Text("(" + strconv.FormatFloat(alpha, 'g', -1, 64) + ", " + strconv.Itoa(int(m0)) + ")")
}

// note says how thorough the search was at a budget, and which other finalists
// do as well.
func (r tsRow) note() string {
	note := fmt.Sprintf("b = %d: %d trajectories on each profile, the best of %d candidates", r.best.Budget, r.best.Draws, r.searched)
	switch n := len(r.ties); {
	case n == 1:
		note += "; as good within noise: " + r.ties[0]
	case n > 1:
		note += fmt.Sprintf("; as good within noise: %s and %d more", r.ties[0], n-1)
	}
	return note + "."
}
