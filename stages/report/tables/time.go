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
	return func(s measurement.Setting) float64 { return s.Run(strategy).TimeSeconds }
}

// normalized is that time rescaled to Uniform's useful FLOPs.
func normalized(strategy string) measurement.Term {
	return func(s measurement.Setting) float64 {
		run := s.Run(strategy)
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
		return s.Uniform().TimeSeconds * s.Run(strategy).UsefulFLOPs / s.Uniform().UsefulFLOPs
	}
}

// normalizedWords say what times are rescaled to.
const normalizedWords = "with each run's time first rescaled to the useful FLOPs of Uniform on the same profile, T·F_U/F (Section 4.3)"

var timeTable = &costTable{
	section: paper.Time,
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
	Chapter: "What speculation costs",
	Remarks: []string{
		`<ref table3_time> has the times. HBN-sync waits for the whole pilot before it allocates; HBN-async speculates on allocations while rewards come in.`,
	},
	Make: timeTable.make, Macros: timeTable.macros,
}
