package tables

import (
	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
)

// Suite is the worth of one budget for all benchmarks of a model. It is not in the paper.
var Suite = &model.Table{
	Base: "table11_suite", Label: "tab:suite",
	Reads: stored.Reads{Units: append([]dag.Ref{stored.SuiteRef}, bothRefs...)}, Has: (*stored.Settings).HasSuite,
	Chapter: "Beyond the paper",
	Remarks: []string{
		`Who reports the mean of many benchmarks can spend one budget on all of them. <ref table11_suite> is the variance of that mean, each benchmark with the same weight, over its variance with equally many rollouts of every task.`,
		`Staged HBN on each benchmark leaves \specSeparateVariance<LOW>{} of it at $b=<low>$ and \specSeparateVariance<HIGH>{} at $b=<high>$; one budget, \specSuiteVariance<LOW>{} and \specSuiteVariance<HIGH>{}; with siblings known, \specSuiteSiblingsVariance<LOW>{} and \specSuiteSiblingsVariance<HIGH>{}.`,
		`A floor of two thirds of its own budget keeps the error of each benchmark's own mean within \specSuiteFloorWorstError<LOW>{} times that of its separate run at $b=<low>$ and \specSuiteFloorWorstError<HIGH>{} at $b=<high>$.`,
	},
	Make: makeSuite, Macros: suiteMacros,
	Words: `
policy             How the budget N·b of all benchmarks together is spent: uniform_tasks, equal rollouts of every task; uniform_benchmarks, equal rollouts of every benchmark, alike within it; separate, staged HBN on each benchmark with its own budget; suite, staged HBN on all tasks, by s²·E[p(1−p)] with the share s = 1/(G·N) of each of N tasks in the mean over G benchmarks; suite_floor, the same where each benchmark has two thirds of its own budget at least.
models             The number of models, each a suite of all of its benchmarks that have variance.
variance_ratio     The variance of the mean over benchmarks over that of uniform_tasks, Σ_g A_g/Σ_g U_g, the mean over models. A_g = r_g·U_g is the variance of a benchmark's mean, with U_g = Σ_i v_i/(b·N²) under uniform_tasks and r_g of replay/suite.parquet, for separate runs of replay/ratios.parquet.
variance_ratio_se  The Monte Carlo standard error of the ratio, the designs given, but for separate: with the designs' error as in Table 9.
reduction_low      A bound of the 95% interval of 1 − ratio: the middle 95% over 10,000 draws of the benchmarks, as many as there are, with replacement, the same in every row. A draw's benchmarks divide its own budget in the proportions that they have here: its ratio is (Σ A/Σ U)·(Σ n/Σ N·b), n being the benchmark's rollouts.
reduction_high     The other bound of that interval.
worst_error        The largest quotient, over benchmarks and models, of the standard errors of a benchmark's own mean here and in its separate run: √(r_g/r_separate). Of replay/suite.parquet and replay/ratios.parquet.
`,
}

// suiteWays are the ways for people.
var suiteWays = map[string]struct{ title, macro string }{
	variance.UniformTasks:      {"Equal rollouts of every task", "SuiteUniformTasks"},
	variance.UniformBenchmarks: {"Equal rollouts of every benchmark", "SuiteUniformBenchmarks"},
	variance.Separate:          {"Staged HBN on each benchmark", "Separate"},
	variance.OneBudget:         {"Staged HBN on all, one budget", "Suite"},
	variance.OneBudgetFloor:    {"Staged HBN on all, with a floor", "SuiteFloor"},
}

type suiteRow struct {
	Budget int32  `csv:"budget"`
	Way    string `csv:"policy"`
	Title  string `head:"Budget spent on" align:"left"`
	Donors string `csv:"donors"`
	Models int    `csv:"models"`

	Ratio   float64  `csv:"variance_ratio" head:"Variance" format:".1%±"`
	RatioSE float64  `csv:"variance_ratio_se"`
	Low     *float64 `csv:"reduction_low" head:"from" group:"Reduction" format:".1%"`
	High    *float64 `csv:"reduction_high" head:"to" group:"Reduction" format:".1%"`

	Worst float64 `csv:"worst_error" head:"Worst benchmark" format:".2" missing:"NaN"`
}

// suiteStandings are the standings of all ways.
var suiteStandings = stored.Once("suite standings", func(src *stored.Source) ([]variance.SuiteStanding, error) {
	r, err := stored.Results(src)
	if err != nil {
		return nil, err
	}
	rows, err := stored.Suite(src)
	if err != nil {
		return nil, err
	}
	return variance.SuiteStandings(r.Designs, r.Ratios, rows)
})

func makeSuite(src *stored.Source) (*model.Sheet, error) {
	all, err := suiteStandings(src)
	if err != nil {
		return nil, err
	}
	var rows []suiteRow
	for _, s := range all {
		row := suiteRow{
			Budget: s.Budget, Way: s.Way, Title: suiteWays[s.Way].title, Donors: s.Donors.Name, Models: s.Models,
			Ratio: s.Value, RatioSE: s.SE, Worst: s.WorstError,
		}
		if s.Donors != policy.None {
			row.Title += ", " + s.Donors.Label
		}
		if b := s.Between; b != nil {
			row.Low, row.High = new(1-b.High), new(1-b.Low)
		}
		rows = append(rows, row)
	}
	s := model.NewSheet("Variance of the mean of all benchmarks under one budget, over that of equal rollouts of every task, the mean over models, with its Monte Carlo standard error; "+
		"the 95% interval of the reduction over resampled benchmarks; and the largest error of a benchmark's own mean over the error of its separate run, by average budget b. Behind a comma is what a policy knows of the tasks beforehand.", rows)
	return s, nil
}

// suiteMacros are the ratios, and the largest errors of a benchmark's own mean.
func suiteMacros(src *stored.Source) (macros []model.Macro, err error) {
	all, err := suiteStandings(src)
	for _, s := range all {
		name := suiteWays[s.Way].macro + s.Donors.Macro
		macros = append(macros, macroOf(name+"Variance", s.Budget, percent1.Print(s.Value)))
		if s.WorstError > 0 && (s.Way == variance.OneBudget || s.Way == variance.OneBudgetFloor) {
			macros = append(macros, macroOf(name+"WorstError", s.Budget, fixed(s.WorstError, 2)))
		}
	}
	return macros, err
}
