package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

var equivalentBudget = table.Head{Plain: "Equivalent rollout budget"}

// tasks weighs a setting by its tasks.
var tasks measurement.Term = func(s measurement.Setting) float64 { return float64(s.NTasks()) }

// executed is the whole budget of Uniform that was executed.
var executed measurement.Term = func(s measurement.Setting) float64 {
	return float64(s.NTasks()) * float64(s.Run(measurement.UniformEquivalent).Budget)
}

// continuous is the mean of b/r over the tasks.
func continuous(ratio func(measurement.Setting) float64) *measurement.Quotient {
	return &measurement.Quotient{Below: tasks, Above: []measurement.Term{
		func(s measurement.Setting) float64 { return float64(s.NTasks()) * float64(s.Budget()) / ratio(s) }}}
}

// naiveBenefit is HBN-async's saving on a fleet that it does not hinder.
var naiveBenefit = func() *measurement.Quotient {
	q := slower(seconds, measurement.UniformEquivalent)
	q.Less = slower(unhindered, measurement.HBNAsync)
	return q
}()

// rounded is the mean of the executed budgets over the tasks.
func rounded(func(measurement.Setting) float64) *measurement.Quotient {
	return &measurement.Quotient{Above: []measurement.Term{executed}, Below: tasks}
}

// roundedOver is the latter over the former.
func roundedOver(ratio func(measurement.Setting) float64) *measurement.Quotient {
	q := rounded(ratio)
	q.Over = continuous(ratio)
	return q
}

// Columns of Table 4 that come from the replay.
const (
	continuousColumn = iota
	roundedColumn
	roundedOverColumn
)

// computedMark marks numbers in published rows that are computed here.
const computedMark = "‡"

var benefitTable = &costTable{
	section: paper.Benefit, replayed: true,
	title: "HBN-async against Uniform at the budget that has its variance. " +
		"Budgets are averages weighted by the number of tasks: b/r, with the replayed variance ratio r of HBN, " +
		"and what was executed, b/r rounded down. Times are relative to those of Uniform at budget b, from sums over profiles. " +
		"Delta: rounded-equivalent Uniform minus HBN-async.",
	strategies: []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent},
	columns: []costColumn{
		{name: "continuous_budget", head: table.Head{Plain: "continuous"}, group: equivalentBudget, format: rollouts, macro: "ContinuousBudget", replayed: continuous,
			words: "The Uniform budget that HBN's variance is worth: Σ N_j·b/r_j / Σ N_j, the mean weighted by tasks, " +
				"with the hbn rows of replay/ratios.parquet at this budget (Section 4.3)."},
		{name: "rounded_budget", head: table.Head{Plain: "rounded"}, group: equivalentBudget, format: rollouts, macro: "RoundedBudget", replayed: rounded, executed: true,
			words: "The equivalent budget that was executed: Σ N_j·B_j / Σ N_j, with the whole budget B_j of each uniform-equivalent run, " +
				"⌊b/r⌋ by the ratios that its schedule was made of (Appendix B.5)." + runsWords},
		{name: "rounded_over_continuous", head: stacked("rounded/", "continuous"), group: equivalentBudget, format: points, macro: "RoundedOverContinuous", replayed: roundedOver,
			words: "rounded_budget / continuous_budget: the share of the equivalent rollouts that rounding down leaves."},
		{name: "uniform_equivalent_time", head: stacked("equivalent", " Uniform"), group: actualTime, format: change, macro: "EquivalentTime", inFit: true,
			words: slowdownWords("Uniform at the rounded equivalent budget") + "." + runsWords, quotient: slower(seconds, measurement.UniformEquivalent)},
		{name: "async_time", head: asyncHead, group: actualTime, format: change,
			words: slowdownWords("HBN-async") + "." + runsWords, quotient: slower(seconds, measurement.HBNAsync),
			naive: slower(unhindered, measurement.HBNAsync)},
		{name: "delta", head: deltaHead, group: actualTime, format: change, macro: "Benefit",
			words:    "uniform_equivalent_time − async_time: what HBN-async saves at equal variance, as a share of the time of Uniform at the budget b." + runsWords,
			quotient: apart(seconds, measurement.UniformEquivalent, measurement.HBNAsync),
			naive:    naiveBenefit},
	},
}

// Benefit is the paper's Table 4: HBN-async against the Uniform that has its
// variance.
var Benefit = &model.Table{
	Base: paper.Benefit, Section: paper.Benefit, Label: "tab:systems-benefit",
	Reads: stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}, Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Chapter: "What speculation costs",
	Remarks: []string{`<ref table4_benefit> asks what the same variance would have cost with Uniform.`},
	Make:    benefitTable.make, Macros: benefitTable.macros,
	Words: `
continuous_budget_se        The Monte Carlo standard error of continuous_budget: the errors of replay and design through the slope d(b/r)/dr = −b/r², weighted by tasks; designs are shared
                            within a task count.
rounded_budget_se           The Monte Carlo standard error of rounded_budget: that of continuous_budget, and the jumps of ⌊b/r⌋ by one, N_j²·s_j/√π each in squares for an error s_j of b/r.
                            It is 0 in published rows: that budget was executed whatever our replay says.
rounded_over_continuous_se  The Monte Carlo standard error of the quotient: the relative errors of both budgets added in squares.
budgets_differing           In how many settings the executed budget is not the ⌊b/r⌋ of the stored ratios: their noise, or another schedule's, moves it across a whole number.
budgets_differing_expected  How many of these budgets another replay of the same size, with noise of its own, is expected to round otherwise: Σ_j P(⌊b/r_j + √2·s_j·z⌋ ≠ ⌊b/r_j⌋) with a
                            normal z and the Monte Carlo error s_j of b/r_j.
`,
}

// stacked is a heading in two lines.
func stacked(above, below string) table.Head {
	return table.Head{Plain: above + below,
		TeX: fmt.Sprintf(`\begin{tabular}[c]{@{}c@{}}%s\\%s\end{tabular}`, above, below)}
}

// budgetErrors fills in the Monte Carlo standard errors of the equivalent budgets. A
// published one was executed whatever this replay says.
func (r *costRow) budgetErrors() error {
	c, d, share := &r.cells[continuousColumn].Estimate, &r.cells[roundedColumn].Estimate, &r.cells[roundedOverColumn].Estimate
	var err error
	if c.SE, d.SE, err = variance.EquivalentErrors(r.designs, r.ratios); err != nil {
		return err
	}
	if r.Provenance == measurement.Published {
		d.SE = 0
	}
	share.SE = share.Value * math.Hypot(c.SE/c.Value, d.SE/d.Value)
	return nil
}

// kept is the share of the rollouts beyond b that rounding leaves, with its
// Monte Carlo error.
func (r *costRow) kept() agreement.Estimate {
	c, d := r.cells[continuousColumn], r.cells[roundedColumn]
	b := float64(r.Budget)
	share := (d.Value - b) / (c.Value - b)
	return agreement.Estimate{Value: share, SE: math.Abs(share) * math.Hypot(c.SE/(c.Value-b), d.SE/(d.Value-b))}
}

// judgeKept compares that share at b = 8, a number of the paper's text, in the rows of
// every provenance.
func judgeKept(s *model.Sheet, e stored.Experiment, rows []*costRow, numbers *paper.Numbers) (all []agreement.Comparison) {
	const decimals = 4
	want := numbers.Number(paper.Benefit, "extra_budget_kept_b8")
	for _, key := range s.PaperRows {
		if key.Budget != 8 || !e.Has(8) {
			continue
		}
		at := slices.IndexFunc(rows, func(r *costRow) bool { return r.Provenance == key.Provenance && r.Budget == 8 })
		c := agreement.Lacking(want, decimals, s.Lack(at, key))
		if c.Note == "" {
			if c = agreement.Compare(rows[at].kept(), want, decimals, 0); key.Provenance == measurement.Measured {
				c = rows[at].shown(rows[at].kept().Value, want, decimals)
			}
		}
		all = append(all, c.As(benefitTable.columns[roundedOverColumn].class(key.Provenance)).In(s.Base, key.Label(), "extra_budget_kept"))
	}
	return all
}

const differingName = "budgets_differing"

// executedBudgets are the equivalent budgets of settings that were executed, one by
// one, and those of the stored ratios.
type executedBudgets struct {
	executed, wanted []int32
	another          []float64 // the probability that a replay of the authors' gives another than ours
	differing        int
}

// executedBudgets is the executed budget of each setting, and ⌊b/r⌋ of the stored
// ratio.
func (r *costRow) executedBudgets() (all executedBudgets, err error) {
	worth, err := variance.Equivalents(r.designs, r.ratios)
	if err != nil {
		return all, err
	}
	for i, s := range r.Settings {
		executed := s.Run(measurement.UniformEquivalent).Budget
		all.executed, all.wanted = append(all.executed, executed), append(all.wanted, worth[i].Rounded)
		all.another = append(all.another, worth[i].Another())
		if executed != worth[i].Rounded {
			all.differing++
		}
	}
	return all, nil
}

// expected is how many differ by the noise of two replays.
func (all executedBudgets) expected() (n float64) {
	for _, p := range all.another {
		n += p
	}
	return n
}

// judgeBudgets compares the budgets that the authors executed with those of our
// replay, in every setting, and judges how many differ: each may, by noise.
func judgeBudgets(rows []*costRow) []agreement.Comparison {
	var all executedBudgets
	for _, r := range rows {
		if r.Provenance == measurement.Published {
			all.differing += r.budgets.differing
			all.another = append(all.another, r.budgets.another...)
		}
	}
	c := agreement.Comparison{Verdict: agreement.Absent, Note: "no such row is stored"}
	if n := len(all.another); n > 0 {
		c = agreement.Counted(all.differing, all.another)
		c.Note = fmt.Sprintf("of %d, %s", n, c.Note)
	}
	return []agreement.Comparison{c.As(agreement.Computed).In(paper.Benefit, measurement.Published+" all", differingName)}
}

// budgetNotes say what the printed budgets leave out: which of them are not the
// authors', their Monte Carlo errors, and how many executed budgets are not those of
// the stored ratios.
func budgetNotes(rows []*costRow) []string {
	if len(rows) == 0 {
		return nil
	}
	worst, expected := 0.0, 0.0
	settings, differing := map[string]int{}, map[string]int{}
	for _, r := range rows {
		worst = max(worst, r.cells[continuousColumn].SE)
		settings[r.Provenance] += len(r.Settings)
		differing[r.Provenance] += r.budgets.differing
		if r.Provenance == measurement.Published {
			expected += r.budgets.expected()
		}
	}
	var notes []string
	if settings[measurement.Published] > 0 {
		notes = append(notes, computedMark+" Computed here, by the ratios of our own replay: the continuous budgets, and what is over them. The budgets that were executed and the times are the authors'.")
	}
	notes = append(notes, fmt.Sprintf("Monte Carlo standard errors of the continuous budgets are at most %.3f.", worst))
	for _, p := range measurement.Provenances {
		if differing[p] == 0 {
			continue
		}
		note := fmt.Sprintf("In %d of the %d %s settings this replay's b/r rounds down to another budget than was executed", differing[p], settings[p], p)
		if p == measurement.Published {
			note += fmt.Sprintf("; %.1f are expected by the noise of both replays", expected)
		}
		notes = append(notes, note+".")
	}
	return notes
}
