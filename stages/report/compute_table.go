package report

import (
	"speceval/internal/measurement"
	"speceval/internal/table"
)

// Printed forms of the numbers of Tables 2 to 4.
var (
	change   = table.Format{Decimals: 2, Percent: true, Signed: true} // of a cost, relative to Uniform
	points   = table.Format{Decimals: 2, Percent: true}               // a difference of two changes
	rollouts = table.Format{Decimals: 2}                              // an average budget
)

// computeTable is the paper's Table 2: what HBN-async computes beyond Uniform.
var computeTable = costKind{
	base: "table2_compute", label: "tab:systems-compute",
	overview: "Table 2: computation of HBN-async relative to Uniform",
	title: "Computation of HBN-async relative to Uniform, from sums over profiles at each average budget b: " +
		"rollouts beyond the accepted ones, the change of useful FLOPs, wasted FLOPs, and useful and wasted FLOPs together.",
	caption: `Computation of HBN-async relative to Uniform, from sums over profiles at each average budget~$b$: ` +
		`rollouts beyond the accepted ones, the change of useful FLOPs, wasted FLOPs, and useful and wasted FLOPs together.`,
	strategies: []string{measurement.Uniform, measurement.HBNAsync},
	budgets:    func(t *Targets) []int32 { return t.Table2.Budget },
	figures: func(_ Costs, settings []measurement.Setting) ([]Estimate, error) {
		c := measurement.ComputeOver(settings)
		return exact(c.Extra, c.Useful, c.Wasted, c.Actual), nil
	},
	columns: []costColumn{
		{name: "extra_rollouts", head: table.Head{Plain: "Extra rollouts"}, format: fine(change), macro: "ExtraRollouts",
			paper: func(t *Targets) []float64 { return t.Table2.ExtraRollouts }, tolerance: extraTolerance},
		{name: "useful_flops", head: table.Head{Plain: "Useful FLOPs"}, format: fine(change), macro: "UsefulFLOPs",
			paper: func(t *Targets) []float64 { return t.Table2.UsefulFLOPs }, tolerance: usefulTolerance},
		{name: "wasted_flops", head: table.Head{Plain: "Wasted FLOPs"}, format: fine(change), macro: "WastedFLOPs",
			paper: func(t *Targets) []float64 { return t.Table2.WastedFLOPs }, tolerance: wasteTolerance},
		{name: "actual_flops", head: table.Head{Plain: "Actual FLOPs"}, format: fine(change), macro: "ActualFLOPs",
			paper: func(t *Targets) []float64 { return t.Table2.ActualFLOPs }, tolerance: actualTolerance},
	},
}

// fine is a format with one decimal more for small numbers.
func fine(f table.Format) table.Format { f.Fine = true; return f }

// exact is numbers without Monte Carlo error.
func exact(values ...float64) []Estimate {
	out := make([]Estimate, len(values))
	for i, v := range values {
		out[i].Value = v
	}
	return out
}
