package tables

import (
	"fmt"
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

const equivalentBudget = "Equivalent rollout budget"

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
		{name: "continuous_budget", head: "continuous", group: equivalentBudget, format: table.Format{Decimals: 2}, macro: "ContinuousBudget"},
		{name: "rounded_budget", head: "rounded", group: equivalentBudget, format: table.Format{Decimals: 2}, macro: "RoundedBudget", executed: true},
		{name: "rounded_over_continuous", head: stacked("rounded/", "continuous"), group: equivalentBudget, format: points, macro: "RoundedOverContinuous"},
		{name: "uniform_equivalent_time", head: equivalentHead, group: actualTime, format: signed, macro: "EquivalentTime",
			of: slower(seconds(measurement.UniformEquivalent)), inFit: true},
		{name: "async_time", head: "HBN-async", group: actualTime, format: signed,
			of: slower(seconds(measurement.HBNAsync)), naive: slower(unhindered(measurement.HBNAsync))},
		{name: "delta", head: deltaHead, group: actualTime, format: signed, macro: "Benefit",
			of:    apart(seconds(measurement.UniformEquivalent), seconds(measurement.HBNAsync)),
			naive: apart(seconds(measurement.UniformEquivalent), unhindered(measurement.HBNAsync))},
	},
}

// Benefit is the paper's Table 4: HBN-async against the Uniform that has its
// variance.
var Benefit = &model.Table{
	Base: paper.Benefit, Label: "tab:systems-benefit",
	Reads: stored.Reads{Units: bothRefs, Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Chapter: "What speculation costs",
	Remarks: []string{`<ref table4_benefit> asks what the same variance would have cost with Uniform.`},
	Make:    benefitTable.make, Macros: benefitTable.macros,
	Words: `
continuous_budget           The Uniform budget that HBN's variance is worth: Σ N_j·b/r_j / Σ N_j, the mean weighted by tasks, with the hbn rows of replay/ratios.parquet at this budget
                            (Section 4.3).
rounded_budget              The equivalent budget that was executed: Σ N_j·B_j / Σ N_j, with the whole budget B_j of each uniform-equivalent run, ⌊b/r⌋ by the ratios that its schedule was made
                            of (Appendix B.5). <runs>
rounded_over_continuous     rounded_budget / continuous_budget: the share of the equivalent rollouts that rounding down leaves.
uniform_equivalent_time     How much longer Uniform at the rounded equivalent budget takes than Uniform: <slowdown>. <runs>
async_time                  How much longer HBN-async takes than Uniform: <slowdown>. <runs>
delta                       uniform_equivalent_time − async_time: what HBN-async saves at equal variance, as a share of the time of Uniform at the budget b. <runs>
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
func stacked(above, below string) string {
	return fmt.Sprintf(`%s%s|\begin{tabular}[c]{@{}c@{}}%s\\%s\end{tabular}`, above, below, above, below)
}

var equivalentHead = stacked("equivalent", " Uniform")

// equivalents fills in the equivalent budgets, means weighted by tasks, with their Monte Carlo
// standard errors, and how many were executed otherwise than the ratios have them. A published
// one was executed whatever this replay says. A setting that the replay does not cover is an error.
func (r *costRow) equivalents(g measurement.Group, res stored.Replay) error {
	replayed := map[string]variance.Ratio{}
	for _, ratio := range variance.Pick(res.Ratios, policy.HBN, r.Budget) {
		replayed[ratio.Profile()] = ratio
	}
	var ratios []variance.Ratio
	for _, s := range g.Settings {
		u := s.Uniform()
		ratio, ok := replayed[u.Profile()]
		if !ok || ratio.NTasks != u.NTasks {
			return fmt.Errorf("%s of %d tasks at budget %d is among the %s runs, but %s has no HBN ratio for it; run the replay stage on the same profiles",
				u.Profile(), u.NTasks, r.Budget, r.Provenance, variance.RatiosFile)
		}
		ratios = append(ratios, ratio)
	}
	worth, err := variance.Equivalents(res.Designs, ratios)
	if err != nil {
		return err
	}
	for i, s := range g.Settings {
		another := worth[i].Another()
		r.another = append(r.another, another)
		r.expected += another
		if s.Run(measurement.UniformEquivalent).Budget != worth[i].Rounded {
			r.differing++
		}
	}
	tasks := func(s measurement.Setting) float64 { return float64(s.Uniform().NTasks) }
	var c, d, share agreement.Estimate
	c.SE, d.SE, err = variance.EquivalentErrors(res.Designs, ratios)
	c.Value = measurement.Quotient(g.Settings, tasks, func(s measurement.Setting) float64 {
		return tasks(s) * float64(r.Budget) / replayed[s.Uniform().Profile()].VarianceRatio
	})
	d.Value = measurement.Quotient(g.Settings, tasks, func(s measurement.Setting) float64 {
		return tasks(s) * float64(s.Run(measurement.UniformEquivalent).Budget)
	})
	if r.Provenance == measurement.Published {
		d.SE = 0
	}
	share.Value = d.Value / c.Value
	share.SE = share.Value * math.Hypot(c.SE/c.Value, d.SE/d.Value)
	r.cells = []costCell{{Estimate: c}, {Estimate: d}, {Estimate: share}}
	return err
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
		c := agreement.Lacking(want, decimals, s.Absent)
		if at >= 0 {
			c.Note = s.Lack(at)
		}
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

// judgeBudgets compares the budgets that the authors executed with those of our
// replay, in every setting, and judges how many differ: each may, by noise.
func judgeBudgets(rows []*costRow) []agreement.Comparison {
	differing, another := 0, []float64(nil)
	for _, r := range rows {
		if r.Provenance == measurement.Published {
			differing += r.differing
			another = append(another, r.another...)
		}
	}
	c := agreement.Comparison{Verdict: agreement.Absent, Note: "no such row is stored"}
	if n := len(another); n > 0 {
		c = agreement.Counted(differing, another)
		c.Note = fmt.Sprintf("of %d, %s", n, c.Note)
	}
	return []agreement.Comparison{c.In(paper.Benefit, measurement.Published+" all", differingName)}
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
		settings[r.Provenance] += r.profiles
		differing[r.Provenance] += r.differing
		if r.Provenance == measurement.Published {
			expected += r.expected
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
