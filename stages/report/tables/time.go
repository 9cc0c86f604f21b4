package tables

import (
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
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
	return measurement.Term{Name: strategy + " seconds", Of: func(s measurement.Setting) float64 { return s.Runs[strategy].TimeSeconds }}
}

// normalized is that time rescaled to Uniform's useful FLOPs.
func normalized(strategy string) measurement.Term {
	return measurement.Term{Name: strategy + " seconds, normalized", Of: func(s measurement.Setting) float64 {
		run := s.Runs[strategy]
		return run.TimeSeconds * s.Uniform().UsefulFLOPs / run.UsefulFLOPs
	}}
}

// slower is how much longer a time is than Uniform's, in sum over the settings.
func slower(time measurement.Term) *measurement.Quotient {
	return &measurement.Quotient{Above: []measurement.Term{time}, Below: seconds(measurement.Uniform), Change: true}
}

// apart is by how much longer one time is than another, over Uniform's.
func apart(one, other measurement.Term) *measurement.Quotient {
	q := slower(one)
	q.Less = slower(other)
	return q
}

// timeTolerance is of every column of times. At 8 rollouts a task a few
// answers that run to the cap decide how long a run takes.
func timeTolerance(budget int32) float64 { return byBudget(budget, 0.04, 0.015) }

var timeTable = &costTable{
	section: paper.Time, where: "Table 3",
	title: "Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget b. " +
		"Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. " +
		"Delta: HBN-sync minus HBN-async.",
	caption: `Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget~$b$. ` +
		`Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. ` +
		`$\Delta$: HBN-sync minus HBN-async, in percentage points.`,
	strategies: []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync},
	columns: []costColumn{
		{name: "sync_time", head: syncHead, group: actualTime, format: change, macro: "SyncTime", tolerance: timeTolerance,
			words: slowdownWords("HBN-sync") + "." + runsWords, quotient: slower(seconds(measurement.HBNSync))},
		{name: "async_time", head: asyncHead, group: actualTime, format: change, macro: "AsyncTime", tolerance: timeTolerance,
			words: slowdownWords("HBN-async") + "." + runsWords, quotient: slower(seconds(measurement.HBNAsync))},
		{name: "delta_time", head: deltaHead, group: actualTime, format: points, macro: "DeltaTime", tolerance: timeTolerance,
			words:    "sync_time − async_time: what filling the barrier saves." + runsWords,
			quotient: apart(seconds(measurement.HBNSync), seconds(measurement.HBNAsync))},
		{name: "sync_normalized", head: syncHead, group: normalizedTime, format: change, macro: "SyncNormalized", tolerance: timeTolerance,
			words: slowdownWords("HBN-sync") + ", " + normalizedWords + "." + runsWords, quotient: slower(normalized(measurement.HBNSync))},
		{name: "async_normalized", head: asyncHead, group: normalizedTime, format: change, macro: "AsyncNormalized", tolerance: timeTolerance,
			words: slowdownWords("HBN-async") + ", " + normalizedWords + "." + runsWords, quotient: slower(normalized(measurement.HBNAsync))},
		{name: "delta_normalized", head: deltaHead, group: normalizedTime, format: points, macro: "DeltaNormalized", tolerance: timeTolerance,
			words:    "sync_normalized − async_normalized." + runsWords,
			quotient: apart(normalized(measurement.HBNSync), normalized(measurement.HBNAsync))},
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
