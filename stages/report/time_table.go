package report

import (
	"speceval/internal/measurement"
	"speceval/internal/table"
)

var (
	actualTime     = table.Head{Plain: "Actual time vs. Uniform"}
	normalizedTime = table.Head{Plain: "Useful-FLOP-normalized time vs. Uniform"}
	syncHead       = table.Head{Plain: "HBN-sync"}
	asyncHead      = table.Head{Plain: "HBN-async"}
	deltaHead      = table.Head{Plain: "Delta", TeX: `$\Delta$`}
)

// timeTable is the paper's Table 3: how much longer HBN takes than Uniform.
var timeTable = costKind{
	base: "table3_time", label: "tab:systems-time",
	overview: "Table 3: time relative to Uniform",
	title: "Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget b. " +
		"Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. " +
		"Delta: HBN-sync minus HBN-async.",
	caption: `Time of HBN-sync and HBN-async relative to Uniform, from times summed over profiles at each average budget~$b$. ` +
		`Normalized: each time first rescaled, profile by profile, to Uniform's useful FLOPs. ` +
		`$\Delta$: HBN-sync minus HBN-async, in percentage points.`,
	strategies: []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync},
	budgets:    func(t *Targets) []int32 { return t.Table3.Budget },
	figures: func(_ Costs, settings []measurement.Setting) ([]Estimate, error) {
		t := measurement.TimeOver(settings)
		return exact(t.Sync, t.Async, t.Sync-t.Async,
			t.SyncNormalized, t.AsyncNormalized, t.SyncNormalized-t.AsyncNormalized), nil
	},
	columns: []costColumn{
		{name: "sync_time", head: syncHead, group: actualTime, format: change, macro: "SyncTime",
			paper: func(t *Targets) []float64 { return t.Table3.SyncTime }, tolerance: timeTolerance},
		{name: "async_time", head: asyncHead, group: actualTime, format: change, macro: "AsyncTime",
			paper: func(t *Targets) []float64 { return t.Table3.AsyncTime }, tolerance: timeTolerance},
		{name: "delta_time", head: deltaHead, group: actualTime, format: points, macro: "DeltaTime",
			paper: func(t *Targets) []float64 { return t.Table3.DeltaTime }, tolerance: timeTolerance},
		{name: "sync_normalized", head: syncHead, group: normalizedTime, format: change, macro: "SyncNormalized",
			paper: func(t *Targets) []float64 { return t.Table3.SyncNormalized }, tolerance: timeTolerance},
		{name: "async_normalized", head: asyncHead, group: normalizedTime, format: change, macro: "AsyncNormalized",
			paper: func(t *Targets) []float64 { return t.Table3.AsyncNormalized }, tolerance: timeTolerance},
		{name: "delta_normalized", head: deltaHead, group: normalizedTime, format: points, macro: "DeltaNormalized",
			paper: func(t *Targets) []float64 { return t.Table3.DeltaNormalized }, tolerance: timeTolerance},
	},
}
