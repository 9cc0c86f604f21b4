package measured

import (
	"math"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/table"
)

// OrchestratorTable is the base name of the table of our own share in the runs.
const OrchestratorTable = "orchestrator"

var (
	cpuGroup = table.Head{Plain: "CPU"}
	gapGroup = table.Head{Plain: "Gap (ms)"}
)

var orchestratorColumns = []column{
	provenanceColumn, benchmarkColumn, modelColumn,
	{name: "rewards", head: table.Head{Plain: "Rewards"}, align: table.Left},
	budgetColumn, strategyColumn, runsColumn,
	{name: "wall_seconds", head: table.Head{Plain: "Seconds"}, format: decimals(2)},
	{name: "cpu_seconds"}, {name: "cores"},
	{name: "core_share", head: table.Head{Plain: "of a core"}, group: cpuGroup, format: percent(2)},
	{name: "cpu_share", head: table.Head{Plain: "of all"}, group: cpuGroup, format: percent(2)},
	{name: "router_share", head: table.Head{Plain: "Router"}, format: percent(2)},
	{name: "gap_median_seconds", head: table.Head{Plain: "median"}, group: gapGroup, format: table.Format{Decimals: 2, Scale: 1000}},
	{name: "gap_p99_seconds", head: table.Head{Plain: "99%"}, group: gapGroup, format: table.Format{Decimals: 2, Scale: 1000}},
	verdictColumn("verdict", "Verdict"),
}

// Orchestrator is what our own program took of the runs on servers. Runs under
// the virtual clock, which count no processor time, are left out.
//
// The claim is on timed runs, which are those under coupled rewards on real
// servers: under real rewards the program scores responses as well, and a
// simulated server answers faster than any other.
func Orchestrator(runs []measurement.Run) Sheet {
	var rows [][]table.Cell
	for _, g := range grouped(runs, func(r measurement.Run) bool { return r.CPU > 0 }) {
		for _, strategy := range g.strategies {
			rows = append(rows, g.orchestratorRow(strategy))
		}
	}
	return newSheet(OrchestratorTable, "What the orchestrator itself took: wall-clock time of a run, its processor time over that, in percent of one core and of all cores of its machine, the part of the time that the router was at work, "+
		"and the time from a completion to the next submission. Means over runs. Of runs under coupled rewards on real servers the claim is less than 5% of all; "+
		"under real rewards it scores responses as well.", orchestratorColumns, rows)
}

func (g *group) orchestratorRow(strategy string) []table.Cell {
	runs := g.runs[strategy]
	over := func(value func(measurement.Run) float64) float64 {
		sum := 0.0
		for _, r := range runs {
			sum += value(r)
		}
		return sum / float64(len(runs))
	}
	wall := over(func(r measurement.Run) float64 { return r.Time })
	cpu := over(func(r measurement.Run) float64 { return r.CPU })
	handling := over(func(r measurement.Run) float64 { return r.Handling })
	cores := over(func(r measurement.Run) float64 { return float64(r.Cores) })
	share := cpu / wall / cores
	judged := agreement.CPU(share)
	if g.rewards != measurement.Coupled || g.provenance != measurement.Measured || math.IsNaN(share) {
		judged = agreement.Shown
	}
	return []table.Cell{table.Text(g.provenance), table.Text(g.benchmark), table.Text(g.model), table.Text(g.rewards), table.Integer(g.budget), table.Text(strategy),
		table.Integer(len(runs)), number(wall), number(cpu), number(cores), number(cpu / wall), number(share), number(handling / wall),
		number(over(func(r measurement.Run) float64 { return r.GapMedian })), number(over(func(r measurement.Run) float64 { return r.GapP99 })), verdict(judged)}
}
