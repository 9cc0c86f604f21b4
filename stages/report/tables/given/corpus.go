// Package given is what an experiment is given and does not find out: the size of
// its corpus, and the constants of the checkpoints (Table 7).
package given

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/paper"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

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
