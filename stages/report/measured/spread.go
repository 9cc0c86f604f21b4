package measured

import (
	"fmt"
	"math"

	"speceval/internal/profile"
	"speceval/internal/table"
)

// SpreadTable is the base name of the table of sampled profiles.
const SpreadTable = "profile_spread"

// nearEnds is how near to 0 or 1 a pass probability is near the end.
const nearEnds = 0.1

var (
	classGroup  = table.Head{Plain: "Tasks by pass probability p", TeX: "Tasks by pass probability $p$"}
	lengthGroup = table.Head{Plain: "Response length (tokens)"}
)

var spreadColumns = append([]column{
	benchmarkColumn, modelColumn,
	{name: "n_tasks", head: table.Head{Plain: "N", TeX: "$N$"}},
	{name: "rollouts", head: table.Head{Plain: "K", TeX: "$K$"}},
	{name: "never", head: table.Head{Plain: "0"}, group: classGroup},
	{name: "rarely", head: table.Head{Plain: "≤ 0.1", TeX: `$\le0.1$`}, group: classGroup},
	{name: "between", head: table.Head{Plain: "between"}, group: classGroup},
	{name: "mostly", head: table.Head{Plain: "≥ 0.9", TeX: `$\ge0.9$`}, group: classGroup},
	{name: "always", head: table.Head{Plain: "1"}, group: classGroup},
	{name: "mean", head: table.Head{Plain: "Mean"}, format: percent(2), spread: "mean_se"},
	{name: "mean_se"},
	{name: "variance_sum", head: table.Head{Plain: "Σ p(1−p)", TeX: `$\sum p(1-p)$`}, format: decimals(2)},
	{name: "length_median", head: table.Head{Plain: "median"}, group: lengthGroup},
	{name: "length_p99", head: table.Head{Plain: "99%"}, group: lengthGroup},
	{name: "length_max", head: table.Head{Plain: "most"}, group: lengthGroup},
}, decileColumns()...)

// decileColumns are those of the tasks by tenths of pass probability.
func decileColumns() []column {
	var all []column
	for i := range 10 {
		all = append(all, column{name: fmt.Sprintf("tenth_%d", i+1)})
	}
	return all
}

// Length is how many responses have so many tokens.
type Length struct {
	Tokens    int32
	Responses int64
}

// Lengths are those of a profile's rollouts, ascending.
type Lengths []Length

// Responses is how many there are.
func (l Lengths) Responses() (n int64) {
	for _, at := range l {
		n += at.Responses
	}
	return n
}

// Quantile is the least length that a share of all responses does not exceed.
func (l Lengths) Quantile(share float64) int32 {
	rank := max(1, int64(math.Ceil(share*float64(l.Responses()))))
	for _, at := range l {
		if rank -= at.Responses; rank <= 0 {
			return at.Tokens
		}
	}
	return 0
}

// Spread is how sampled profiles spread from 0 to 1, and how long the responses
// are; lengths are by the name of a profile, none where they are not stored.
func Spread(profiles []profile.Profile, lengths map[string]Lengths) Sheet {
	var rows [][]table.Cell
	for _, p := range profiles {
		var classes [5]int
		var tenths [10]int
		for i := range p.N() {
			classes[classOf(p, i)]++
			tenths[min(9, 10*p.PassCounts[i]/p.TestedK)]++
		}
		mean := meanOf(p)
		row := []table.Cell{table.Text(p.Benchmark), table.Text(p.Model), table.Integer(p.N()), table.Integer(p.TestedK)}
		for _, n := range classes {
			row = append(row, table.Integer(n))
		}
		row = append(row, number(mean.Value), number(mean.SE), number(p.VarianceSum()))
		row = append(row, lengthCells(lengths[p.Name()])...)
		for _, n := range tenths {
			row = append(row, table.Integer(n))
		}
		rows = append(rows, row)
	}
	return newSheet(SpreadTable, "The sampled profiles: how many tasks are passed never, with a probability p of at most 0.1, in between, of at least 0.9, and always, among K rollouts of each; "+
		"the mean ± its standard error, the sum of variances, and how long the responses are.", spreadColumns, rows)
}

func lengthCells(l Lengths) []table.Cell {
	if len(l) == 0 {
		return make([]table.Cell, 3)
	}
	return []table.Cell{table.Integer(l.Quantile(0.5)), table.Integer(l.Quantile(0.99)), table.Integer(l[len(l)-1].Tokens)}
}

// classOf is the class of a task: never, rarely, between, mostly, always.
func classOf(p profile.Profile, task int) int {
	switch share := p.P(task); {
	case share == 0:
		return 0
	case share <= nearEnds:
		return 1
	case share < 1-nearEnds:
		return 2
	case share < 1:
		return 3
	}
	return 4
}
