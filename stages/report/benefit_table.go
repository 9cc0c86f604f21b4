package report

import (
	"fmt"
	"math"

	"speceval/internal/measurement"
	"speceval/internal/table"
	"speceval/internal/variance"
)

var equivalentBudget = table.Head{Plain: "Equivalent rollout budget"}

// benefitTable is the paper's Table 4: HBN-async against the Uniform that has
// its variance.
var benefitTable = costKind{
	base: "table4_benefit", label: "tab:systems-benefit",
	overview: "Table 4: HBN-async against Uniform at the equivalent budget",
	title: "HBN-async against Uniform at the budget that has its variance. " +
		"Budgets are averages weighted by the number of tasks: b/r, with the replayed variance ratio r of HBN, " +
		"and what was executed, b/r rounded down. Times are relative to those of Uniform at budget b, from sums over profiles. " +
		"Delta: rounded-equivalent Uniform minus HBN-async.",
	caption: `HBN-async against Uniform at the budget that has its variance. ` +
		`Budgets are averages weighted by the number of tasks: $b/r$, with the replayed variance ratio~$r$ of HBN, ` +
		`and what was executed, $b/r$ rounded down. Times are relative to those of Uniform at budget~$b$, from sums over profiles. ` +
		`$\Delta$: rounded-equivalent Uniform minus HBN-async, in percentage points.`,
	strategies: []string{measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent},
	budgets:    func(t *Targets) []int32 { return t.Table4.Budget },
	figures:    benefitFigures,
	differing:  differingBudgets,
	columns: []costColumn{
		{name: "continuous_budget", head: table.Head{Plain: "continuous"}, group: equivalentBudget, format: rollouts, macro: "ContinuousBudget",
			paper: func(t *Targets) []float64 { return t.Table4.ContinuousBudget }, replayed: true},
		{name: "rounded_budget", head: table.Head{Plain: "rounded"}, group: equivalentBudget, format: rollouts, macro: "RoundedBudget",
			paper: func(t *Targets) []float64 { return t.Table4.RoundedBudget }, replayed: true},
		{name: "rounded_over_continuous", head: stacked("rounded/", "continuous"), group: equivalentBudget, format: points, macro: "RoundedOverContinuous",
			paper: func(t *Targets) []float64 { return t.Table4.RoundedOverContinuous }, replayed: true},
		{name: "uniform_equivalent_time", head: stacked("equivalent", " Uniform"), group: actualTime, format: change, macro: "EquivalentTime",
			paper: func(t *Targets) []float64 { return t.Table4.UniformEquivalentTime }, tolerance: timeTolerance},
		{name: "async_time", head: asyncHead, group: actualTime, format: change,
			paper: func(t *Targets) []float64 { return t.Table4.AsyncTime }, tolerance: timeTolerance},
		{name: "delta", head: deltaHead, group: actualTime, format: change, macro: "Benefit",
			paper: func(t *Targets) []float64 { return t.Table4.Delta }, tolerance: timeTolerance},
	},
}

// stacked is a heading in two lines.
func stacked(above, below string) table.Head {
	return table.Head{Plain: above + below,
		TeX: fmt.Sprintf(`\begin{tabular}[c]{@{}c@{}}%s\\%s\end{tabular}`, above, below)}
}

// Columns of Table 4 that others are made of.
const (
	continuousColumn = 0
	roundedColumn    = 1
)

func benefitFigures(costs Costs, settings []measurement.Setting) ([]Estimate, error) {
	ratios, err := hbnRatios(costs, settings)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(ratios))
	for i, r := range ratios {
		values[i] = r.VarianceRatio
	}
	b := measurement.BenefitOver(settings, values)
	continuous, rounded, err := budgetNoise(newSchedules(costs.Designs), ratios)
	if err != nil {
		return nil, err
	}
	if settings[0].Provenance == measurement.Published {
		rounded = 0 // it was executed whatever this replay says
	}
	share := b.Rounded / b.Continuous
	out := exact(b.Continuous, b.Rounded, share, b.EquivalentTime, b.AsyncTime, b.EquivalentTime-b.AsyncTime)
	out[0].SE, out[1].SE, out[2].SE = continuous, rounded, share*math.Hypot(continuous/b.Continuous, rounded/b.Rounded)
	return out, nil
}

// differingBudgets counts the settings whose executed equivalent budget is not
// ⌊b/r⌋ of the stored ratio.
func differingBudgets(costs Costs, settings []measurement.Setting) (int, error) {
	ratios, err := hbnRatios(costs, settings)
	if err != nil {
		return 0, err
	}
	n := 0
	for i, s := range settings {
		want, err := variance.EquivalentBudget(s.Budget, ratios[i].VarianceRatio)
		if err != nil {
			return 0, fmt.Errorf("%s: %s at budget %d: %w", variance.RatiosFile, s.Profile(), s.Budget, err)
		}
		if s.Runs[measurement.UniformEquivalent].Budget != want {
			n++
		}
	}
	return n, nil
}

// hbnRatios is HBN's ratio in each setting. A setting that the replay does not
// cover is an error.
func hbnRatios(costs Costs, settings []measurement.Setting) ([]variance.Ratio, error) {
	byProfile := map[string]variance.Ratio{}
	for _, r := range pick(costs.Ratios, variance.HBN, settings[0].Budget) {
		byProfile[name(r)] = r
	}
	out := make([]variance.Ratio, len(settings))
	for i, s := range settings {
		r, ok := byProfile[s.Profile()]
		if !ok || r.NTasks != s.NTasks {
			return nil, fmt.Errorf("%s of %d tasks at budget %d is among the %s runs, but %s has no HBN ratio for it; run the replay stage on the same profiles",
				s.Profile(), s.NTasks, s.Budget, s.Provenance, variance.RatiosFile)
		}
		out[i] = r
	}
	return out, nil
}

// budgetNoise is the Monte Carlo standard errors of the average b/r and of the
// average ⌊b/r⌋, weighted by tasks.
//
// Continuous: d(N·b/r)/dr = −N·b/r², for replay and design noise alike.
//
// Rounded: noise of sd s in b/r makes ⌊b/r⌋ jump by one in a share of runs
// that does not depend on where b/r is, on average. Two replays differ by
// √2·s·√(2/π) in the mean absolute value, which is the variance of the
// jump, and half of it is each one's: s/√π. What moves all of them at once,
// the noise of a shared design, is in the continuous error.
func budgetNoise(designs schedules, ratios []variance.Ratio) (continuous, rounded float64, err error) {
	weights := make([]float64, len(ratios))
	var tasks, jumps float64
	for i, r := range ratios {
		n := float64(r.NTasks)
		slope := float64(r.Budget) / (r.VarianceRatio * r.VarianceRatio)
		se, err := totalSE(designs, r)
		if err != nil {
			return 0, 0, err
		}
		weights[i] = n * slope
		tasks += n
		jumps += n * n * slope * se / math.SqrtPi
	}
	if continuous, err = sumSE(designs, ratios, weights); err != nil {
		return 0, 0, err
	}
	return continuous / tasks, math.Hypot(continuous, math.Sqrt(jumps)) / tasks, nil
}

// kept is the share of the rollouts beyond b that rounding leaves, with its
// Monte Carlo error.
func (r costRow) kept() Estimate {
	c, d := r.cells[continuousColumn], r.cells[roundedColumn]
	b := float64(r.budget)
	benefit := measurement.Benefit{Continuous: c.Value, Rounded: d.Value}
	share := benefit.Kept(r.budget)
	return Estimate{share, math.Abs(share) * math.Hypot(c.SE/(c.Value-b), d.SE/(d.Value-b))}
}

// benefitNotes says what the printed budgets leave out: their Monte Carlo
// errors, and how many executed budgets are not those of the stored ratios.
func benefitNotes(kind costKind, rows []costRow) []string {
	if kind.differing == nil || len(rows) == 0 {
		return nil
	}
	worst := 0.0
	settings, differing := map[string]int{}, map[string]int{}
	for _, r := range rows {
		worst = max(worst, r.cells[continuousColumn].SE)
		settings[r.provenance] += r.profiles
		differing[r.provenance] += r.differing
	}
	notes := []string{fmt.Sprintf("Monte Carlo standard errors of the continuous budgets are at most %.3f.", worst)}
	for _, p := range provenances {
		if differing[p] > 0 {
			notes = append(notes, fmt.Sprintf("In %d of the %d %s settings this replay's b/r rounds down to another budget than was executed.",
				differing[p], settings[p], p))
		}
	}
	return notes
}
