package tables

import (
	"cmp"
	"fmt"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// HBNSchedule is the paper's Table 5, and ENSchedule its Table 6: the selected
// (m, w) by task count and budget.
var (
	HBNSchedule = schedule{
		policy: policy.HBN, section: paper.HBNSchedule, decimals: 2,
		title: "HBN's design, fixed by the reference prior before any outcome: pilot size and stage weight (m, w) by task count N and average budget b.",
	}.table("tab:hbn-ex-ante-schedule", `<ref table5_hbn_schedule> is HBN's design, chosen under the reference prior before any profile is seen.`, `
m        HBN's pilot size: the integer m = 1, …, b−1 whose least risk (Eq. 12) under the reference prior is smallest, the smaller of equals. The selected hbn row in replay/designs.parquet.
w        HBN's stage weight of the pilot: w = B/(A + B) (Eq. 12), with the prior-averaged masses A = N·v̄/m, known exactly, and B = E[Σ ṽ_i/L_i] (Eq. 10), the mean over prior-predictive
         pilot panels of the replicates. The selected hbn row in replay/designs.parquet.
risk     The Bayes risk relative to Uniform at that (m, w): b·w/m, which is Eq. 11 at the optimum of Eq. 12. The selected hbn row in replay/designs.parquet.
risk_se  The Monte Carlo standard error of risk: from the spread of B over the independent replicates, to first order. The selected hbn row in replay/designs.parquet.
`)
	ENSchedule = schedule{
		policy: policy.EN, section: paper.ENSchedule, decimals: 3,
		title: "EN's design, tuned in hindsight on the profiles with as many tasks: pilot size and stage weight (m, w) by task count N and average budget b.",
	}.table("tab:en-tuned-schedule", `<ref table6_en_schedule> is that of EN, tuned in hindsight.`, `
m        EN's pilot size, chosen in hindsight: the integer m = 1, …, b−1 whose least risk (Eq. 19) on the profiles with this task count is smallest, the smaller of equals. The selected
         tuned_en row in replay/designs.parquet.
w        EN's stage weight of the pilot: w = C/(1/m + C) (Eq. 19), with the continuation mass C of Eq. 17, the mean over the profiles with this task count. The selected tuned_en row in
         replay/designs.parquet.
risk     EN's mean variance relative to Uniform on these profiles at that (m, w): b·{w²/m + (1−w)²·C} (Eq. 18). The selected tuned_en row in replay/designs.parquet.
risk_se  The Monte Carlo standard error of risk: from the spread of C over batches of the pilot draws, to first order. The selected tuned_en row in replay/designs.parquet.
`)
)

// schedule is the difference between Tables 5 and 6.
type schedule struct {
	policy   *policy.Policy
	section  string // of the paper's numbers
	title    string
	decimals int // of w, in print
}

type scheduleRow struct {
	NTasks int32   `csv:"n_tasks"`
	Budget int32   `csv:"budget"`
	M      int32   `csv:"m" paper:"0"`
	W      float64 `csv:"w" paper:"0"`
	Risk   float64 `csv:"risk"`
	RiskSE float64 `csv:"risk_se"`
}

func (k schedule) table(label, remark, words string) *model.Table {
	return &model.Table{
		Base: k.section, Label: label, Words: words,
		Reads:   stored.Reads{Units: []dag.Ref{stored.DesignsRef}, Paper: true},
		Chapter: "Designs and constants", Remarks: []string{remark},
		Make: k.make,
	}
}

func (k schedule) make(src *stored.Source) (*model.Sheet, error) {
	all, err := stored.Designs(src)
	if err != nil {
		return nil, err
	}
	numbers, _ := stored.Paper(src) // whose error the sheet finds as well
	selected := slices.DeleteFunc(slices.Clone(all), func(d variance.Design) bool { return !d.Selected || d.Key() != k.policy.Key() })
	slices.SortFunc(selected, func(a, b variance.Design) int {
		return cmp.Or(cmp.Compare(a.NTasks, b.NTasks), cmp.Compare(a.Budget, b.Budget))
	})
	var rows []scheduleRow
	for _, d := range selected {
		rows = append(rows, scheduleRow{d.NTasks, d.Budget, d.M, d.W, d.Risk, d.RiskSE})
	}
	s := model.NewSheet(k.title, rows)
	theirs := func(key paper.Key) (m int32, w float64) {
		v, _ := numbers.At(k.section, "m", key)
		w, _ = numbers.At(k.section, "w", key)
		return int32(v), w
	}
	s.Absent = "no such design is stored"
	s.Lack = func(i int) string {
		if m, _ := theirs(s.Key(i)); designAt(all, k.policy, s.Key(i), m).M == 0 {
			return s.Absent
		}
		return ""
	}
	judged := func(i int) (m, w agreement.Comparison) {
		theirM, theirW := theirs(s.Key(i))
		return judgePair(designAt(all, k.policy, s.Key(i), theirM), selected[i], theirW, k.decimals)
	}
	s.Column("m").Rule.Judge = func(i int, _ float64) agreement.Comparison { m, _ := judged(i); return m }
	s.Column("w").Rule.Judge = func(i int, _ float64) agreement.Comparison { _, w := judged(i); return w }
	s.Column("w").Rule.Decimals = k.decimals
	if k.policy == policy.HBN {
		s.Extra = func(stored.Experiment) []agreement.Comparison { return judgeEnds(selected, numbers) }
	}

	// print has task counts in lines and budgets in columns; a cell that differs from the
	// paper's is marked, and a note gives the paper's
	var places []model.Place
	printed := func(m int32, w float64) string { return fmt.Sprintf("(%d, %.*f)", m, k.decimals, w) }
	for _, d := range selected {
		cell := table.Text(printed(d.M, d.W))
		if m, w := theirs(keyOf(d)); m > 0 && printed(m, w) != printed(d.M, d.W) {
			cell = cell.Marked(model.Dagger)
			s.Notes = append(s.Notes, fmt.Sprintf("%s paper, N = %d, b = %d: %s", model.Dagger, d.NTasks, d.Budget, printed(m, w)))
		}
		places = append(places, model.Place{Lead: []table.Cell{table.Integer(d.NTasks)}, Budget: d.Budget, Cells: []table.Cell{cell}})
	}
	s.SideBySide([]table.Column{{Head: table.Head{Plain: "N", TeX: "$N$"}}}, func(b int32) []table.Column {
		return []table.Column{{Head: model.BudgetHead(b), Align: table.Center}}
	}, places)
	return s, nil
}

// judgeEnds counts the selected pilot sizes that are the least or the greatest of
// those searched: the paper's text has none.
func judgeEnds(rows []variance.Design, numbers *paper.Numbers) []agreement.Comparison {
	const column = "designs_at_an_end"
	want := numbers.Number(paper.HBNSchedule, column)
	c := agreement.Lacking(want, 0, "no design is stored")
	if len(rows) > 0 {
		ends := 0
		for _, d := range rows {
			if d.M == 1 || d.M == d.Budget-1 {
				ends++
			}
		}
		c = agreement.Compare(exactly(float64(ends)), want, 0, 0).Noted(fmt.Sprintf("of %d designs, searched from m = 1 to b − 1", len(rows)))
	}
	return []agreement.Comparison{c.In(paper.HBNSchedule, "all", column)}
}

// keyOf is the row of the paper that a design is.
func keyOf(d variance.Design) paper.Key { return paper.Key{NTasks: d.NTasks, Budget: d.Budget} }

// designAt is the candidate of a policy with a pilot size, of none where it is not stored.
func designAt(all []variance.Design, of *policy.Policy, key paper.Key, m int32) (d variance.Design) {
	if i := slices.IndexFunc(all, func(d variance.Design) bool { return d.Policy == of.Name && keyOf(d) == key && d.M == m }); i >= 0 {
		d = all[i]
	}
	return d
}

// judgePair compares a selected design with a printed (m, w): theirs is the candidate with
// that m.
//
// The weight is compared at the paper's pilot size, whether or not we select
// it: rounding plus noise. Where m differs, or w does beyond noise, the risk
// decides: how much worse is the paper's (m, w) than our selection under our
// own masses? Common random numbers make the noise of that difference, GapSE,
// small, so a tie is a statement of substance.
func judgePair(theirs, ours variance.Design, paperW float64, decimals int) (m, w agreement.Comparison) {
	m = agreement.Compare(exactly(float64(ours.M)), float64(theirs.M), 0, 0)
	w = agreement.Compare(agreement.Estimate{Value: theirs.W, SE: variance.WeightSE(theirs)}, paperW, decimals, 0)
	loss := theirs.RiskAt(nearest(theirs.W, paperW, decimals)) - ours.Risk
	note := fmt.Sprintf("the paper's (m, w) has a risk %.6f higher", loss)
	if m.Verdict == agreement.Differs {
		m = agreement.Choice(m, loss, theirs.GapSE).Noted(note)
		w.Note = fmt.Sprintf("ours at m = %d", theirs.M)
	}
	if w.Verdict == agreement.Differs {
		w = agreement.Choice(w, loss, theirs.GapSE).Noted(note)
	}
	return m, w
}

// nearest is the number closest to v among the numbers that print as paper.
func nearest(v, paper float64, decimals int) float64 {
	beyond := agreement.BeyondRounding(v, paper, decimals)
	if v < paper {
		return v + beyond
	}
	return v - beyond
}
