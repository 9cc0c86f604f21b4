package tables

import (
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Printed forms of the numbers of Tables 2 to 4.
var (
	change   = table.Format{Decimals: 2, Percent: true, Signed: true} // of a cost, relative to Uniform
	points   = table.Format{Decimals: 2, Percent: true}               // a difference of two changes
	rollouts = table.Format{Decimals: 2}                              // an average budget
)

// Numbers of settings that quotients are made of.
var (
	extraRollouts measurement.Term = func(s measurement.Setting) float64 { return float64(s.Run(measurement.HBNAsync).ExtraRollouts) }
	allRollouts   measurement.Term = func(s measurement.Setting) float64 { return float64(s.Uniform().AcceptedRollouts) }
	usefulFLOPs   measurement.Term = func(s measurement.Setting) float64 { return s.Run(measurement.HBNAsync).UsefulFLOPs }
	wastedFLOPs   measurement.Term = func(s measurement.Setting) float64 { return s.Run(measurement.HBNAsync).WastedFLOPs }
	uniformFLOPs  measurement.Term = func(s measurement.Setting) float64 { return s.Uniform().UsefulFLOPs }
)

var computeTable = &costTable{
	section: paper.Compute,
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
	Chapter: "What speculation costs",
	Remarks: []string{`<ref table2_compute> has the computation: rollouts beyond those that count, and the FLOPs of both.`},
	Make:    computeTable.make, Macros: computeTable.macros,
}

// fine is a format with one decimal more for small numbers.
func fine(f table.Format) table.Format { f.Fine = true; return f }
