// Package measured sets what was measured in tables, beside what was predicted of
// it: times, variances, profiles of a second generation, the orchestrator's share
// of a processor, and how the sampled profiles spread. Its functions are pure; the
// report reads what they are made of and stores what they make.
package measured

import (
	"math"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/table"
)

// Sheet is a table in its two layouts.
type Sheet struct {
	Base  string      // file name, without extension
	Data  table.Table // CSV: contractual columns, one observation a row
	Print table.Table // LaTeX: rounded
}

// column is a column of both layouts, or of the CSV form alone where it has no
// heading.
type column struct {
	name   string
	head   table.Head
	group  table.Head
	align  table.Align
	format table.Format
	spread string // the column that stands behind ± in print
}

func (c column) printed() bool { return c.head.Plain != "" }

// newSheet is a table of full rows. In print models and strategies have their names.
func newSheet(base, title string, columns []column, rows [][]table.Cell) Sheet {
	s := Sheet{Base: base}
	s.Data = table.Table{Title: title, Label: "tab:" + strings.ReplaceAll(base, "_", "-"), Rows: rows}
	s.Print = table.Table{Title: title, Label: s.Data.Label}
	at := map[string]int{}
	for i, c := range columns {
		at[c.name] = i
		s.Data.Columns = append(s.Data.Columns, table.Column{Name: c.name})
		if c.printed() {
			s.Print.Columns = append(s.Print.Columns, table.Column{Head: c.head, Group: c.group, Align: c.align, Format: c.format})
		}
	}
	for _, row := range rows {
		var line []table.Cell
		for i, c := range columns {
			if !c.printed() {
				continue
			}
			cell := row[i]
			if name, ok := strategyNames[cell.Exact()]; ok && c.name == "strategy" {
				cell = table.Text(name)
			}
			if c.spread != "" {
				if se, ok := row[at[c.spread]].Float(); ok {
					cell = cell.PlusMinus(se)
				}
			}
			line = append(line, cell)
		}
		s.Print.Rows = append(s.Print.Rows, line)
	}
	return s
}

// HBN is both strategies of HBN together: what they estimate has the same law.
const HBN = "hbn"

var strategyNames = map[string]string{
	measurement.Uniform: "Uniform", measurement.HBNSync: "HBN-sync", measurement.HBNAsync: "HBN-async",
	measurement.UniformEquivalent: "Uniform, equivalent", HBN: "HBN, both",
}

// Columns that name a row.
var (
	benchmarkColumn  = column{name: "benchmark", head: table.Head{Plain: "Benchmark"}, align: table.Left}
	modelColumn      = column{name: "model", head: table.Head{Plain: Checkpoint}, align: table.Left}
	provenanceColumn = column{name: "provenance"}
	budgetColumn     = column{name: "budget", head: table.Head{Plain: "b", TeX: "$b$"}}
	strategyColumn   = column{name: "strategy", head: table.Head{Plain: "Strategy"}, align: table.Left}
	runsColumn       = column{name: "runs", head: table.Head{Plain: "Runs"}}
)

// Checkpoint heads the printed column of models, by their ids.
const Checkpoint = "Checkpoint"

// verdictColumn has a verdict of its own name.
func verdictColumn(name, head string) column {
	return column{name: name, head: table.Head{Plain: head}, align: table.Left}
}

func verdict(v agreement.Verdict) table.Cell { return table.Text(string(v)) }

// number is a cell that is missing where the number is not finite.
func number(v float64) table.Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return table.Missing()
	}
	return table.Number(v)
}

// decimals is the format of numbers with so many of them.
func decimals(n int) table.Format { return table.Format{Decimals: n} }

// percent is the format of shares with so many decimals.
func percent(n int) table.Format { return table.Format{Decimals: n, Percent: true} }

// setting is what runs can be compared within.
type setting struct {
	provenance, benchmark, model, rewards string
	budget                                int32
}

// group is the runs of a setting by strategy, in the order of the strategies'
// first runs.
type group struct {
	setting
	strategies []string
	runs       map[string][]measurement.Run
}

// grouped puts runs into groups, in the order of their first runs.
func grouped(runs []measurement.Run, wanted func(measurement.Run) bool) []*group {
	var all []*group
	at := map[setting]*group{}
	for _, r := range runs {
		if !wanted(r) {
			continue
		}
		key := setting{r.Provenance, r.Benchmark, r.Model, r.Rewards, r.ReferenceBudget}
		g := at[key]
		if g == nil {
			g = &group{setting: key, runs: map[string][]measurement.Run{}}
			at[key] = g
			all = append(all, g)
		}
		if g.runs[r.Strategy] == nil {
			g.strategies = append(g.strategies, r.Strategy)
		}
		g.runs[r.Strategy] = append(g.runs[r.Strategy], r)
	}
	return all
}
