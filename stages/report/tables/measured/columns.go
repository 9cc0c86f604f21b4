// Package measured is the tables of what was measured here, beside what was
// predicted of it: times, variances, the profiles of a second generation, the
// orchestrator's share of a processor, and how the sampled profiles spread.
package measured

import (
	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/policy"
	"speceval/internal/repeats"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
)

// All is the tables of what was measured, in the order of the report.
var All = []*model.Table{Times, Variance, Profile, Tasks, Orchestrator, Spread}

// chapter is the section of the document that holds predictions against measurements.
const chapter = "Prediction against measurement"

// Words that the tables share.
const (
	answeredWords = "Whether real servers answered (measured) or simulated ones."
	strategyWords = "How the rollouts were submitted: uniform, or HBN with a barrier after the pilot (hbn-sync) or with speculation in its place (hbn-async)."
	runsWords     = "How many runs the row is of."
	ofRuns        = " Of ‹" + measurement.RunsFile + "›."
)

// profileKeys are the benchmark and the checkpoint that a row is of.
func profileKeys(of func(row int) (benchmark, checkpoint string)) []model.Column {
	benchmark := model.NameKey(model.ByBenchmark, "benchmark", model.BenchmarkWords, func(i int) string { b, _ := of(i); return b })
	benchmark.Head = head("Benchmark")
	checkpoint := model.NameKey(model.ByModel, "model", model.ModelWords, func(i int) string { _, c := of(i); return c })
	checkpoint.Head = head("Checkpoint")
	checkpoint.Shown = func(i int) table.Cell { _, c := of(i); return table.Text(model.ModelName(c)) }
	return []model.Column{benchmark, checkpoint}
}

// strategyKey is how the runs of a row were executed.
func strategyKey(words string, of func(row int) string) model.Column {
	c := model.NameKey(model.ByStrategy, "strategy", words, of)
	c.Head = head("Strategy")
	c.Shown = func(i int) table.Cell {
		if s := policy.FindStrategy(of(i)); s != nil {
			return table.Text(s.Label)
		} else if of(i) == repeats.Both {
			return table.Text("HBN, both")
		}
		return table.Text(of(i))
	}
	return c
}

// verdictColumn is a verdict in words, missing where nothing is compared.
func verdictColumn(name, words string, head, group table.Head, of func(row int) agreement.Verdict) model.Column {
	return model.Column{Name: name, Role: model.Outcome, Words: words, Head: head, Group: group, Align: table.Left,
		Cell: func(i int) table.Cell {
			if of(i) == "" {
				return table.Missing()
			}
			return table.Text(string(of(i)))
		}}
}

// head is a heading in plain words.
func head(words string) table.Head { return table.Head{Plain: words} }

// count is a column of counts.
func count(name, words string, head, group table.Head, of func(row int) int) model.Column {
	return model.Column{Name: name, Role: model.Count, Words: words, Head: head, Group: group, Cell: model.Counts(of)}
}

// numbers is the cells of numbers, missing where one is not finite.
func numbers(of func(row int) float64) func(int) table.Cell {
	return func(i int) table.Cell { return table.Optional(finite(of(i))) }
}

// finite is a number, nil where it is not finite.
func finite(v float64) *float64 {
	if !variance.Finite(v) {
		return nil
	}
	return &v
}

// estimated is a column of estimates and, in CSV alone, that of their errors, which
// stand behind ± in print.
func estimated(value, noise model.Column, of func(row int) agreement.Estimate) []model.Column {
	value.Cell = numbers(func(i int) float64 { return of(i).Value })
	value.PlusMinus = func(i int) *float64 { return finite(of(i).SE) }
	noise.Of = value.Name
	noise.Cell = numbers(func(i int) float64 { return of(i).SE })
	return []model.Column{value, noise}
}

// decimals is the format of numbers with so many of them.
func decimals(n int) table.Format { return table.Format{Decimals: n} }

// percent is the format of shares with so many decimals.
func percent(n int) table.Format { return table.Format{Decimals: n, Percent: true} }
