// Package tables is the tables of the report that are computed: the paper's and
// our own, a file and a value each, and the list of all of them.
package tables

import (
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
)

// Words on means of variance ratios and their errors.
const (
	ratioForm = "«r = b·{w²/m + (1−w)²·E[Σ v_i/L_i(S)]/Σ v_i}" +
		`¦r=b\bigl\{w^2/m+(1-w)^2\,\mathrm{E}[\sum_i v_i/L_i(S)]/\sum_i v_i\bigr\}»` +
		", with «v_i = p_i(1−p_i)¦v_i=p_i(1-p_i)» (Eq. 9 over the variance of Uniform)"

	meanForm = "the mean «(1/J)·Σ_j r_j¦J^{-1}\\sum_j r_j» over the «J» profiles, all alike in weight"

	meanErrorWords = "The Monte Carlo standard error of the mean: «(1/J)·√(Σ_j s_j² + Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²)" +
		`¦J^{-1}\bigl(\sum_j s_j^2+\sum_N(\sum_{j:N_j=N}(\partial r_j/\partial w)\,s_w)^2\bigr)^{1/2}»` +
		". Profiles are replayed on draws of their own (errors «s_j», ratio_se in ‹replay/ratios.parquet›); those with one task count " +
		"share a design whose weight was estimated («s_w = s_risk·m/b¦s_w=s_{\\mathrm{risk}}\\,m/b» from risk_se in ‹replay/designs.parquet›), so there the derivatives add before they are squared."
)

// profileKeys are the columns that name the profile and the budget of a ratio.
func profileKeys(of func(row int) variance.Ratio) []model.Column {
	return []model.Column{
		model.NameKey(model.ByBenchmark, "benchmark", model.BenchmarkWords, func(i int) string { return of(i).Benchmark }),
		model.NameKey(model.ByModel, "model", model.ModelWords, func(i int) string { return of(i).Model }),
		model.CountKey(model.ByTasks, "n_tasks", model.TasksWords, func(i int) int32 { return of(i).NTasks }),
		model.BudgetKey(func(i int) int32 { return of(i).Budget }),
	}
}

// errorColumn is the Monte Carlo standard error of a column.
func errorColumn(name, of, words string, se func(row int) float64) model.Column {
	return model.Column{Name: name, Role: model.Error, Of: of, Words: words, Cell: model.Numbers(se)}
}

// exactly is an estimate without error.
func exactly(v float64) agreement.Estimate { return agreement.Estimate{Value: v} }

// Formats of printed numbers.
var (
	percent1 = table.Format{Decimals: 1, Percent: true}
	percent2 = table.Format{Decimals: 2, Percent: true}
	points3  = table.Format{Decimals: 3, Scale: 100}
)

// macroOf is a macro of a number at a budget: \specHBNVarianceBSixFour. Its name is
// spec, then whose number it is, what it is, and B with the budget; LaTeX names
// have no digits, so those of a budget are spelled out.
func macroOf(name string, budget int32, value string) model.Macro {
	return model.Macro{Name: "spec" + name + "B" + model.Spelled(budget), Value: value}
}

// minus gives a number the sign that Escape turns into TeX's.
func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// shortest is a number in the fewest digits.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// fixed is a number with so many decimals.
func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
