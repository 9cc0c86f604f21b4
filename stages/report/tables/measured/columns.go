// Package measured is the tables of what was measured here and of its prediction:
// times, variances, the profiles of a second generation, the orchestrator's share of a
// processor, and how the sampled profiles spread.
package measured

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/policy"
	"speceval/internal/servers/checkpoint"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
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
	ofRuns        = " Of " + measurement.RunsFile + "."
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
		} else if of(i) == Both {
			return table.Text("HBN, both")
		}
		return table.Text(of(i))
	}
	return c
}

// verdictColumn is a verdict in words, missing where nothing is compared.
func verdictColumn(name, words string, head, group table.Head, of func(row int) agreement.Verdict) model.Column {
	return model.Column{Name: name, Words: words, Head: head, Group: group, Align: table.Left,
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
	return model.Column{Name: name, Words: words, Head: head, Group: group, Cell: model.Counts(of)}
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

// The tables below hold what an experiment is given and does not measure: the size of
// its corpus, and the constants of the checkpoints (Table 7).

// Corpus is the size of the corpus that the paper's text gives. It is no file: its
// numbers are compared, and quoted.
var Corpus = &model.Table{
	Base: paper.Corpus, Section: paper.Corpus,
	Reads: stored.Reads{Paper: true}, Make: makeCorpus, Macros: corpusMacros,
}

// makeCorpus compares the size of the corpus and how many profiles have a task
// count, which are counts of what was imported, and shows the time that it took
// the authors' workers, of which no measurement is published.
func makeCorpus(src *stored.Source) (*model.Sheet, error) {
	numbers, err := src.Paper()
	s := &model.Sheet{}
	s.PaperRows = []paper.Key{}
	s.Extra = func(e stored.Experiment) ([]agreement.Comparison, error) {
		count := func(column string, ours int64) agreement.Comparison {
			return agreement.Compare(agreement.Estimate{Value: float64(ours)}, numbers.Number(paper.Corpus, column), 0, 0).As(agreement.Copied).In(paper.Corpus, "all", column)
		}
		hours := numbers.Number(paper.Corpus, "generation_hours")
		shown := agreement.Comparison{Class: agreement.Copied, Paper: &hours, Verdict: agreement.Shown, Note: "hours of the authors' workers: a fact of their run, not a result"}
		cells := []agreement.Comparison{count("profiles", int64(len(e.Profiles)))}
		for _, n := range taskCounts(numbers) {
			cells = append(cells, count(fmt.Sprintf("profiles_n%d", n), e.CountProfiles(n)))
		}
		return append(cells, count("tasks", e.Corpus.Tasks), count("responses", e.Corpus.Responses),
			shown.In(paper.Corpus, "all", "generation_hours")), nil
	}
	return s, err
}

// taskCounts are those of the paper's benchmarks, as its schedules have them.
func taskCounts(numbers *paper.Numbers) (all []int32) {
	for _, key := range numbers.Rows(paper.HBNSchedule) {
		all = append(all, key.NTasks)
	}
	return slices.Compact(all)
}

// corpusMacros count what was evaluated: profiles and their benchmarks, and the
// tasks and the responses of the corpus.
func corpusMacros(src *stored.Source) ([]model.Macro, error) {
	e, err := src.Experiment()
	if err != nil {
		return nil, err
	}
	benchmarks := map[string]bool{}
	for _, p := range e.Profiles {
		benchmark, _, _ := strings.Cut(p.Name, "__model=")
		benchmarks[benchmark] = true
	}
	return []model.Macro{
		{Name: "specProfiles", Value: strconv.Itoa(len(e.Profiles))},
		{Name: "specBenchmarks", Value: strconv.Itoa(len(benchmarks))},
		{Name: "specTasks", Value: model.Grouped(e.Corpus.Tasks)},
		{Name: "specResponses", Value: model.Grouped(e.Corpus.Responses)},
	}, nil
}

// FLOPs is the paper's Table 7: the coefficients of the FLOP proxy, exact in CSV,
// in billions of parameters in print.
var FLOPs = &model.Table{
	Base: paper.FLOPs, Section: paper.FLOPs, Label: "tab:systems-flop-coefficients",
	Reads:   stored.Reads{Architectures: true, Paper: true},
	Chapter: "Designs and constants",
	Remarks: []string{`<ref table7_flop_coefficients> has the constants by which tokens become FLOPs, counted from the shapes of the checkpoints.`},
	Make:    makeFLOPs,
}

// counted are the constants of the FLOP proxy, each checkpoint's counted from its
// shape where that is known. A count that is not the constant by which tokens become
// FLOPs is an error.
func counted(constants []flops.Architecture) ([]flops.Architecture, error) {
	all := slices.Clone(constants)
	for i, a := range all {
		shape, known := checkpoint.Find(a.Model)
		if !known {
			continue
		}
		if all[i] = shape.Architecture(); all[i] != a {
			return nil, fmt.Errorf("%s: %s has the constants %+v, and its shape counts %+v", stored.ArchitecturesFile, a.Model, a, all[i])
		}
	}
	return all, nil
}

// classOfShape is computed where the shape of a checkpoint is known.
func classOfShape(key paper.Key) agreement.Class {
	if _, known := checkpoint.Find(key.Model); known {
		return agreement.Computed
	}
	return agreement.Copied
}

func makeFLOPs(src *stored.Source) (*model.Sheet, error) {
	constants, err := src.Architectures()
	if err != nil {
		return nil, err
	}
	rows, err := counted(constants)
	if err != nil {
		return nil, err
	}
	numbers, err := src.Paper()
	if err != nil {
		return nil, err
	}
	s := &model.Sheet{
		Rows: len(rows),
		Title: "Constants of the FLOP proxy: parameters of the text core and of the output head, " +
			"layers with full attention a, and the width d_attn of their query heads together.",
	}
	s.Key = func(i int) paper.Key { return paper.Key{Model: rows[i].Model} }
	s.Lack = model.IfAbsent("no such checkpoint is stored")
	key := model.NameKey(model.ByModel, "model", "The checkpoint.", func(i int) string { return rows[i].Model })
	key.Head = table.Head{Plain: "Checkpoint"}
	key.Shown = func(i int) table.Cell { return table.Text(model.ModelName(rows[i].Model)) }
	// of is a column of a constant, which the paper prints in the given unit.
	of := func(name string, head table.Head, words string, unit float64, decimals int, value func(flops.Architecture) int64) model.Column {
		c := model.Column{Name: name, Head: head, Words: words, Cell: model.Counts(func(i int) int64 { return value(rows[i]) })}
		c.Rule = &model.Rule{Where: "Table 7", Decimals: decimals, ClassOf: classOfShape,
			Estimate: func(i int) agreement.Estimate { return agreement.Estimate{Value: float64(value(rows[i])) / unit} },
			Cell: func(key paper.Key) table.Cell {
				if v, ok := numbers.At(paper.FLOPs, name, key); ok {
					return table.Integer(int64(math.Round(v * unit)))
				}
				return table.Missing()
			}}
		if unit != 1 {
			c.Format = table.Format{Decimals: decimals, Scale: 1 / unit}
			c.Shown = func(i int) table.Cell { return table.Number(float64(value(rows[i]))) }
		}
		return c
	}
	s.Add(key,
		of("theta_core", table.Head{Plain: "θ core / 10^9", TeX: `$\theta_{\mathrm{core}}/10^9$`},
			"θ_core of the FLOP proxy (Eq. 23): parameters of the text core, without embeddings, output head, vision and multi-token prediction, counted from the shape of the checkpoint.",
			1e9, 6, func(a flops.Architecture) int64 { return a.ThetaCore }),
		of("theta_head", table.Head{Plain: "θ head / 10^9", TeX: `$\theta_{\mathrm{head}}/10^9$`},
			"θ_head of the FLOP proxy (Eq. 23): parameters of the output projection, the embedding matrix where weights are tied: the size of the vocabulary times the width of the checkpoint.",
			1e9, 6, func(a flops.Architecture) int64 { return a.ThetaHead }),
		of("full_attention_layers", table.Head{Plain: "a", TeX: "$a$"}, "a of the FLOP proxy (Eq. 23): layers with full attention, by the shape of the checkpoint.",
			1, 0, func(a flops.Architecture) int64 { return a.FullAttentionLayers }),
		of("attention_width", table.Head{Plain: "d attn", TeX: `$d_{\mathrm{attn}}$`}, "d_attn of the FLOP proxy (Eq. 23): query heads times their dimension, by the shape of the checkpoint.",
			1, 0, func(a flops.Architecture) int64 { return a.AttentionWidth }))
	return s, nil
}
