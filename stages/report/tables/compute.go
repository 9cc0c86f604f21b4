package tables

import (
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Numbers of settings that costs are sums of.
func extraRollouts(s measurement.Setting) float64 {
	return float64(s.Run(measurement.HBNAsync).ExtraRollouts)
}
func allRollouts(s measurement.Setting) float64  { return float64(s.Uniform().AcceptedRollouts) }
func usefulFLOPs(s measurement.Setting) float64  { return s.Run(measurement.HBNAsync).UsefulFLOPs }
func wastedFLOPs(s measurement.Setting) float64  { return s.Run(measurement.HBNAsync).WastedFLOPs }
func uniformFLOPs(s measurement.Setting) float64 { return s.Uniform().UsefulFLOPs }

var computeTable = &costTable{
	section: paper.Compute,
	title: "Computation of HBN-async relative to Uniform, from sums over profiles at each average budget b: " +
		"rollouts beyond the accepted ones, the change of useful FLOPs, wasted FLOPs, and useful and wasted FLOPs together.",
	strategies: []string{measurement.Uniform, measurement.HBNAsync},
	columns: []costColumn{
		{name: "extra_rollouts", head: "Extra rollouts", format: fine, macro: "ExtraRollouts", of: over(allRollouts, extraRollouts)},
		{name: "useful_flops", head: "Useful FLOPs", format: fine, macro: "UsefulFLOPs", of: change(uniformFLOPs, usefulFLOPs), inFit: true},
		{name: "wasted_flops", head: "Wasted FLOPs", format: fine, macro: "WastedFLOPs", of: over(uniformFLOPs, wastedFLOPs)},
		{name: "actual_flops", head: "Actual FLOPs", format: fine, macro: "ActualFLOPs", of: change(uniformFLOPs, usefulFLOPs, wastedFLOPs), inFit: true},
	},
}

// Compute is the paper's Table 2: what HBN-async computes beyond Uniform.
var Compute = &model.Table{
	Base: paper.Compute, Label: "tab:systems-compute",
	Reads: stored.Reads{Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Chapter: "What speculation costs",
	Remarks: []string{`<ref table2_compute> has the computation: rollouts beyond those that count, and the FLOPs of both.`},
	Make:    computeTable.make, Macros: computeTable.macros,
	Words: `
extra_rollouts  Rollouts of HBN-async beyond the accepted ones, completed and discarded or aborted while they ran, over the rollouts of Uniform; each summed over the profiles first
                (Appendix B.5). <runs>
useful_flops    The change of useful computation, the first term of Eq. 14: ΣF_async/ΣF_U − 1, with the FLOPs of accepted rollouts by the proxy of Eq. 23. <runs>
wasted_flops    Computation of HBN-async that was thrown away, the second term of Eq. 14: ΣW_async/ΣF_U, with the FLOPs by the proxy of Eq. 23; of aborted rollouts what had been seen of them,
                so a lower bound. <runs>
actual_flops    The change of all computation, the left side of Eq. 14: useful_flops + wasted_flops. <runs>
`,
}
