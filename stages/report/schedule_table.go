package report

import (
	"fmt"
	"slices"

	"speceval/internal/table"
	"speceval/internal/variance"
)

// scheduleKind is what tells Table 5 from Table 6.
type scheduleKind struct {
	base, label, policy, title, caption string
	decimals                            int // of w, in print
	targets                             func(*Targets) scheduleTargets
}

var hbnSchedule = scheduleKind{
	base: "table5_hbn_schedule", label: "tab:hbn-ex-ante-schedule", policy: variance.HBN, decimals: 2,
	title:   "HBN's design, fixed by the reference prior before any outcome: pilot size and stage weight (m, w) by task count N and average budget b.",
	caption: `HBN's design, fixed by the reference prior before any outcome: pilot size and stage weight $(m,w)$ by task count~$N$ and average budget~$b$.`,
	targets: func(t *Targets) scheduleTargets { return t.Table5 },
}

var enSchedule = scheduleKind{
	base: "table6_en_schedule", label: "tab:en-tuned-schedule", policy: variance.TunedEN, decimals: 3,
	title:   "EN's design, tuned in hindsight on the profiles with as many tasks: pilot size and stage weight (m, w) by task count N and average budget b.",
	caption: `EN's design, tuned in hindsight on the profiles with as many tasks: pilot size and stage weight $(m,w)$ by task count~$N$ and average budget~$b$.`,
	targets: func(t *Targets) scheduleTargets { return t.Table6 },
}

// scheduleTable is the paper's Table 5 or 6: the selected (m, w) by task count
// and budget. A printed cell that differs from the paper's is marked, and a
// note gives the paper's.
func scheduleTable(kind scheduleKind, designs []variance.Design, paper *Targets) Sheet {
	rows := newSchedules(designs).of(kind.policy)
	s := Sheet{Base: kind.base, Data: scheduleData(kind, rows, paper), Print: scheduleGrid(kind, rows, paper)}
	s.Data.Title, s.Data.Label = kind.title, kind.label
	s.Print.Title, s.Print.Caption, s.Print.Label = kind.title, kind.caption, kind.label
	return s
}

func scheduleData(kind scheduleKind, rows []variance.Design, paper *Targets) table.Table {
	t := table.Table{Columns: names("n_tasks", "budget", "m", "w", "risk", "risk_se")}
	if paper != nil {
		t.Columns = append(t.Columns, names("paper_m", "paper_w")...)
	}
	for _, d := range rows {
		line := []table.Cell{table.Integer(d.NTasks), table.Integer(d.Budget), table.Integer(d.M),
			table.Number(d.W), table.Number(d.Risk), table.Number(d.RiskSE)}
		if paper != nil {
			if p, ok := paper.schedule(kind.targets(paper), d.NTasks, d.Budget); ok {
				line = append(line, table.Integer(p.m), table.Number(p.w))
			} else {
				line = append(line, table.Missing(), table.Missing())
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// scheduleGrid sets task counts in rows and budgets in columns.
func scheduleGrid(kind scheduleKind, rows []variance.Design, paper *Targets) table.Table {
	t := table.Table{Columns: []table.Column{{Head: table.Head{Plain: "N", TeX: "$N$"}}}}
	var counts, budgets []int32
	for _, d := range rows {
		counts, budgets = append(counts, d.NTasks), append(budgets, d.Budget)
	}
	slices.Sort(counts)
	slices.Sort(budgets)
	counts, budgets = slices.Compact(counts), slices.Compact(budgets)
	for _, b := range budgets {
		t.Columns = append(t.Columns, table.Column{
			Head:  budgetHead(b),
			Align: table.Center, Format: table.Format{Decimals: kind.decimals},
		})
	}
	for _, n := range counts {
		line := []table.Cell{table.Integer(n)}
		for _, b := range budgets {
			cell, note := scheduleCell(kind, rows, n, b, paper)
			line = append(line, cell)
			if note != "" {
				t.Notes = append(t.Notes, note)
			}
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// scheduleCell is a cell of the grid, with a note where it prints otherwise
// than the paper's.
func scheduleCell(kind scheduleKind, rows []variance.Design, n, b int32, paper *Targets) (table.Cell, string) {
	i := slices.IndexFunc(rows, func(d variance.Design) bool { return d.NTasks == n && d.Budget == b })
	if i < 0 {
		return table.Missing(), ""
	}
	cell := table.Pair(int64(rows[i].M), rows[i].W)
	if paper == nil {
		return cell, ""
	}
	p, ok := paper.schedule(kind.targets(paper), n, b)
	printed := func(m int32, w float64) string { return fmt.Sprintf("(%d, %.*f)", m, kind.decimals, w) }
	if want := printed(p.m, p.w); ok && want != printed(rows[i].M, rows[i].W) {
		return cell.Marked(dagger), fmt.Sprintf("%s paper, N = %d, b = %d: %s", dagger, n, b, want)
	}
	return cell, ""
}
