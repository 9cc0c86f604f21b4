package tables

import (
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

const (
	actualTime     = "Actual time vs. Uniform"
	normalizedTime = "Useful-FLOP-normalized time vs. Uniform"
)

// seconds is the time of a strategy's run.
func seconds(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 { return s.Run(strategy).TimeSeconds }
}

// normalized is that time rescaled to Uniform's useful FLOPs.
func normalized(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 {
		run := s.Run(strategy)
		return run.TimeSeconds * s.Uniform().UsefulFLOPs / run.UsefulFLOPs
	}
}

// unhindered is the time that a strategy would take on a naive fleet, which is as
// fast whatever waits and wastes nothing: Uniform's time in proportion to the useful
// FLOPs. Its time rescaled to Uniform's useful FLOPs is Uniform's.
func unhindered(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 {
		return s.Uniform().TimeSeconds * s.Run(strategy).UsefulFLOPs / s.Uniform().UsefulFLOPs
	}
}

// slower is how much longer a time is than Uniform's, in sum over the settings.
func slower(time measurement.Term) cost { return change(seconds(measurement.Uniform), time) }

// apart is by how much longer one time is than another, over Uniform's.
func apart(one, other measurement.Term) cost { return less(slower(one), slower(other)) }

var timeTable = &costTable{
	section: paper.Time,
	title: "Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget b. " +
		"Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. " +
		"Delta: HBN-sync minus HBN-async.",
	strategies: []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync},
	columns: []costColumn{
		{name: "sync_time", head: "HBN-sync", group: actualTime, format: signed, macro: "SyncTime",
			of: slower(seconds(measurement.HBNSync)), naive: slower(unhindered(measurement.HBNSync))},
		{name: "async_time", head: "HBN-async", group: actualTime, format: signed, macro: "AsyncTime",
			of: slower(seconds(measurement.HBNAsync)), naive: slower(unhindered(measurement.HBNAsync))},
		{name: "delta_time", head: deltaHead, group: actualTime, format: points, macro: "DeltaTime",
			of:    apart(seconds(measurement.HBNSync), seconds(measurement.HBNAsync)),
			naive: apart(unhindered(measurement.HBNSync), unhindered(measurement.HBNAsync))},
		{name: "sync_normalized", head: "HBN-sync", group: normalizedTime, format: signed, macro: "SyncNormalized", of: slower(normalized(measurement.HBNSync))},
		{name: "async_normalized", head: "HBN-async", group: normalizedTime, format: signed, macro: "AsyncNormalized", of: slower(normalized(measurement.HBNAsync))},
		{name: "delta_normalized", head: deltaHead, group: normalizedTime, format: points, macro: "DeltaNormalized",
			of: apart(normalized(measurement.HBNSync), normalized(measurement.HBNAsync))},
	},
}

// Time is the paper's Table 3: how much longer HBN takes than Uniform.
var Time = &model.Table{
	Base: paper.Time, Label: "tab:systems-time",
	Reads: stored.Reads{Runs: true, Paper: true}, Has: (*stored.Settings).HasCosts,
	Chapter: "What speculation costs",
	Remarks: []string{
		`<ref table3_time> has the times. HBN-sync waits for the whole pilot before it allocates; HBN-async speculates on allocations while rewards come in.`,
	},
	Make: timeTable.make, Macros: timeTable.macros,
	Words: `
sync_time         How much longer HBN-sync takes than Uniform: <slowdown>. <runs>
async_time        How much longer HBN-async takes than Uniform: <slowdown>. <runs>
delta_time        sync_time − async_time: what filling the barrier saves. <runs>
sync_normalized   How much longer HBN-sync takes than Uniform: <slowdown>, with each run's time first rescaled to the useful FLOPs of Uniform on the same profile, T·F_U/F (Section 4.3). <runs>
async_normalized  How much longer HBN-async takes than Uniform: <slowdown>, with each run's time first rescaled to the useful FLOPs of Uniform on the same profile, T·F_U/F (Section 4.3). <runs>
delta_normalized  sync_normalized − async_normalized. <runs>
`,
}
