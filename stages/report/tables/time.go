package tables

import (
	"fmt"
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

var (
	actualTime     = table.Head{Plain: "Actual time vs. Uniform"}
	normalizedTime = table.Head{Plain: "Useful-FLOP-normalized time vs. Uniform"}
	syncHead       = table.Head{Plain: "HBN-sync"}
	asyncHead      = table.Head{Plain: "HBN-async"}
	deltaHead      = table.Head{Plain: "Delta", TeX: `$\Delta$`}
)

// seconds is the time of a strategy's run.
func seconds(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 { return s.Runs[strategy].TimeSeconds }
}

// normalized is that time rescaled to Uniform's useful FLOPs.
func normalized(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 {
		run := s.Runs[strategy]
		return run.TimeSeconds * s.Uniform().UsefulFLOPs / run.UsefulFLOPs
	}
}

// slower is how much longer a time is than Uniform's, in sum over the settings.
func slower(time func(strategy string) measurement.Term, strategy string) *measurement.Quotient {
	return &measurement.Quotient{Above: []measurement.Term{time(strategy)}, Below: seconds(measurement.Uniform), Change: true}
}

// apart is by how much longer one time is than another, over Uniform's.
func apart(time func(strategy string) measurement.Term, one, other string) *measurement.Quotient {
	q := slower(time, one)
	q.Less = slower(time, other)
	return q
}

// unhindered is the time that a strategy would take on a naive fleet, which is as
// fast whatever waits and wastes nothing: Uniform's time in proportion to the useful
// FLOPs. Its time rescaled to Uniform's useful FLOPs is Uniform's.
func unhindered(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 {
		return s.Uniform().TimeSeconds * s.Runs[strategy].UsefulFLOPs / s.Uniform().UsefulFLOPs
	}
}

var timeTable = &costTable{
	section: paper.Time, where: "Table 3",
	title: "Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget b. " +
		"Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. " +
		"Delta: HBN-sync minus HBN-async.",
	strategies: []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync},
	columns: []costColumn{
		{name: "sync_time", head: syncHead, group: actualTime, format: change, macro: "SyncTime",
			words: slowdownWords("HBN-sync") + "." + runsWords, quotient: slower(seconds, measurement.HBNSync),
			naive: slower(unhindered, measurement.HBNSync)},
		{name: "async_time", head: asyncHead, group: actualTime, format: change, macro: "AsyncTime",
			words: slowdownWords("HBN-async") + "." + runsWords, quotient: slower(seconds, measurement.HBNAsync),
			naive: slower(unhindered, measurement.HBNAsync)},
		{name: "delta_time", head: deltaHead, group: actualTime, format: points, macro: "DeltaTime",
			words:    "sync_time − async_time: what filling the barrier saves." + runsWords,
			quotient: apart(seconds, measurement.HBNSync, measurement.HBNAsync),
			naive:    apart(unhindered, measurement.HBNSync, measurement.HBNAsync)},
		{name: "sync_normalized", head: syncHead, group: normalizedTime, format: change, macro: "SyncNormalized",
			words: slowdownWords("HBN-sync") + ", " + normalizedWords + "." + runsWords, quotient: slower(normalized, measurement.HBNSync)},
		{name: "async_normalized", head: asyncHead, group: normalizedTime, format: change, macro: "AsyncNormalized",
			words: slowdownWords("HBN-async") + ", " + normalizedWords + "." + runsWords, quotient: slower(normalized, measurement.HBNAsync)},
		{name: "delta_normalized", head: deltaHead, group: normalizedTime, format: points, macro: "DeltaNormalized",
			words:    "sync_normalized − async_normalized." + runsWords,
			quotient: apart(normalized, measurement.HBNSync, measurement.HBNAsync)},
	},
}

// Time is the paper's Table 3: how much longer HBN takes than Uniform.
var Time = &model.Table{
	Base: paper.Time, Section: paper.Time, Label: "tab:systems-time",
	Reads: stored.Reads{Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Overview: "Table 3: time relative to Uniform",
	Chapter:  "What speculation costs",
	Remarks: []string{
		`<ref table3_time> has the times. HBN-sync waits for the whole pilot before it allocates; HBN-async speculates on allocations while rewards come in.`,
	},
	Make: timeTable.make, Macros: timeTable.macros,
}

var equivalentBudget = table.Head{Plain: "Equivalent rollout budget"}

// tasks weighs a setting by its tasks.
var tasks measurement.Term = func(s measurement.Setting) float64 { return float64(s.NTasks) }

// executed is the whole budget of Uniform that was executed.
var executed measurement.Term = func(s measurement.Setting) float64 {
	return float64(s.NTasks) * float64(s.Runs[measurement.UniformEquivalent].Budget)
}

// continuous is the mean of b/r over the tasks.
func continuous(ratio func(measurement.Setting) float64) *measurement.Quotient {
	return &measurement.Quotient{Below: tasks, Above: []measurement.Term{
		func(s measurement.Setting) float64 { return float64(s.NTasks) * float64(s.Budget) / ratio(s) }}}
}

// naiveBenefit is what HBN-async would save on a fleet that it does not hinder.
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
	section: paper.Benefit, where: "Table 4", replayed: true,
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

// budgetErrorWords are the errors of the equivalent budgets.
var budgetErrorWords = map[string]string{
	"continuous_budget": "The Monte Carlo standard error of continuous_budget: the errors of replay and design through the slope d(b/r)/dr = −b/r², weighted by tasks; designs are shared within a task count.",
	"rounded_budget": "The Monte Carlo standard error of rounded_budget: that of continuous_budget, and the jumps of ⌊b/r⌋ by one, N_j²·s_j/√π each in squares for an error s_j of b/r. " +
		"It is 0 in published rows: that budget was executed whatever our replay says.",
	"rounded_over_continuous": "The Monte Carlo standard error of the quotient: the relative errors of both budgets added in squares.",
}

// Benefit is the paper's Table 4: HBN-async against the Uniform that has its
// variance.
var Benefit = &model.Table{
	Base: paper.Benefit, Section: paper.Benefit, Label: "tab:systems-benefit",
	Reads: stored.Reads{Units: []dag.Ref{stored.DesignsRef, stored.RatiosRef}, Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Overview: "Table 4: HBN-async against Uniform at the equivalent budget",
	Chapter:  "What speculation costs",
	Remarks:  []string{`<ref table4_benefit> asks what the same variance would have cost with Uniform.`},
	Make:     benefitTable.make, Macros: benefitTable.macros,
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

// keptColumn compares that share at b = 8, a number of the paper's text.
func keptColumn(rows []*costRow, numbers *paper.Numbers) model.Column {
	const decimals = 4
	return model.Column{Name: "extra_budget_kept", Virtual: true, Rule: &model.Rule{
		Decimals: decimals,
		Want: func(key paper.Key) (float64, bool) {
			return numbers.Number(paper.Benefit, "extra_budget_kept_b8"), key.Budget == 8
		},
		ClassOf: func(key paper.Key) agreement.Class {
			return benefitTable.columns[roundedOverColumn].class(key.Provenance)
		},
		Judge: func(i int, want float64) agreement.Comparison {
			if rows[i].Provenance == measurement.Measured {
				return rows[i].shown(rows[i].kept().Value, want, decimals)
			}
			return agreement.Compare(rows[i].kept(), want, decimals, 0)
		},
	}}
}

// Printed forms of the numbers of Tables 2 to 4.
var (
	change   = table.Format{Decimals: 2, Percent: true, Signed: true} // of a cost, relative to Uniform
	points   = table.Format{Decimals: 2, Percent: true}               // a difference of two changes
	rollouts = table.Format{Decimals: 2}                              // an average budget
)

// Numbers of settings that quotients are made of.
var (
	extraRollouts measurement.Term = func(s measurement.Setting) float64 { return float64(s.Runs[measurement.HBNAsync].ExtraRollouts) }
	allRollouts   measurement.Term = func(s measurement.Setting) float64 { return float64(s.Uniform().AcceptedRollouts) }
	usefulFLOPs   measurement.Term = func(s measurement.Setting) float64 { return s.Runs[measurement.HBNAsync].UsefulFLOPs }
	wastedFLOPs   measurement.Term = func(s measurement.Setting) float64 { return s.Runs[measurement.HBNAsync].WastedFLOPs }
	uniformFLOPs  measurement.Term = func(s measurement.Setting) float64 { return s.Uniform().UsefulFLOPs }
)

var computeTable = &costTable{
	section: paper.Compute, where: "Table 2",
	title: "Computation of HBN-async relative to Uniform, from sums over profiles at each average budget b: " +
		"rollouts beyond the accepted ones, the change of useful FLOPs, wasted FLOPs, and useful and wasted FLOPs together.",
	strategies: []string{measurement.Uniform, measurement.HBNAsync},
	columns: []costColumn{
		{name: "extra_rollouts", head: table.Head{Plain: "Extra rollouts"}, format: fine(change), macro: "ExtraRollouts",
			words:    "Rollouts of HBN-async beyond the accepted ones, completed and discarded or aborted while they ran, over the rollouts of Uniform; each summed over the profiles first (Appendix B.5)." + runsWords,
			quotient: &measurement.Quotient{Above: []measurement.Term{extraRollouts}, Below: allRollouts}},
		{name: "useful_flops", head: table.Head{Plain: "Useful FLOPs"}, format: fine(change), macro: "UsefulFLOPs", inFit: true,
			words: "The change of useful computation, the first term of Eq. 14: ΣF_async/ΣF_U − 1, " +
				"with the FLOPs of accepted rollouts by the proxy of Eq. 23." + runsWords,
			quotient: &measurement.Quotient{Above: []measurement.Term{usefulFLOPs}, Below: uniformFLOPs, Change: true}},
		{name: "wasted_flops", head: table.Head{Plain: "Wasted FLOPs"}, format: fine(change), macro: "WastedFLOPs",
			words: "Computation of HBN-async that was thrown away, the second term of Eq. 14: ΣW_async/ΣF_U, " +
				"with the FLOPs by the proxy of Eq. 23; of aborted rollouts what had been seen of them, so a lower bound." + runsWords,
			quotient: &measurement.Quotient{Above: []measurement.Term{wastedFLOPs}, Below: uniformFLOPs}},
		{name: "actual_flops", head: table.Head{Plain: "Actual FLOPs"}, format: fine(change), macro: "ActualFLOPs", inFit: true,
			words:    "The change of all computation, the left side of Eq. 14: useful_flops + wasted_flops." + runsWords,
			quotient: &measurement.Quotient{Above: []measurement.Term{usefulFLOPs, wastedFLOPs}, Below: uniformFLOPs, Change: true}},
	},
}

// Compute is the paper's Table 2: what HBN-async computes beyond Uniform.
var Compute = &model.Table{
	Base: paper.Compute, Section: paper.Compute, Label: "tab:systems-compute",
	Reads: stored.Reads{Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Overview: "Table 2: computation of HBN-async relative to Uniform",
	Chapter:  "What speculation costs",
	Remarks:  []string{`<ref table2_compute> has the computation: rollouts beyond those that count, and the FLOPs of both.`},
	Make:     computeTable.make, Macros: computeTable.macros,
}

// fine is a format with one decimal more for small numbers.
func fine(f table.Format) table.Format { f.Fine = true; return f }
