// Package tables is the tables of the report that are computed: the paper's and
// our own, a value each, and the list of all of them.
package tables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/table"
	"speceval/internal/variance"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables/measured"
)

// All is every table that the report stores, in its order.
var All = append([]*model.Table{
	Variance, Compute, Time, Benefit, HBNSchedule, ENSchedule, measured.FLOPs, TSNeyman,
	Policies, Worth, Robustness, Profiles, Errors, Paired, Equivalents,
}, measured.All...)

// Texts are the numbers of the paper's text that no table has.
var Texts = []*model.Table{measured.Corpus, CaseStudy}

// quoted are the tables with numbers that a text quotes, in the order of numbers.tex.
var quoted = []*model.Table{Variance, Robustness, measured.Corpus, TSNeyman, CaseStudy, Compute, Time, Benefit, Policies, Worth, Paired}

// Of is the stored tables that an experiment has.
func Of(s *stored.Settings) (tables []*model.Table) {
	for _, t := range All {
		if t.Has == nil || t.Has(s) {
			tables = append(tables, t)
		}
	}
	return tables
}

// Named is the stored table with that base name, nil if there is none.
func Named(base string) *model.Table {
	if i := slices.IndexFunc(All, func(t *model.Table) bool { return t.Base == base }); i >= 0 {
		return All[i]
	}
	return nil
}

// Compared is the base names of the tables of an experiment that hold what was
// measured against what was predicted.
func Compared(s *stored.Settings) (bases []string) {
	for _, t := range Of(s) {
		if t.Live {
			bases = append(bases, t.Base)
		}
	}
	return bases
}

// Macros are the numbers that a text quotes, by the names of their commands.
func Macros(src *stored.Source) (all []model.Macro, err error) {
	for _, t := range quoted {
		if t.Has != nil && !t.Has(src.Settings) {
			continue
		}
		more, err := t.Macros(src)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// Words on means of variance ratios and their errors.
const (
	ratioForm = "r = b·{w²/m + (1−w)²·E[Σ v_i/L_i(S)]/Σ v_i}, with v_i = p_i(1−p_i) (Eq. 9 over the variance of Uniform)"

	meanForm = "the mean (1/J)·Σ_j r_j over the J profiles, all alike in weight"

	meanErrorWords = "The Monte Carlo standard error of the mean: (1/J)·√(Σ_j s_j² + Σ_N (Σ_{j of N} (dr_j/dw)·s_w)²). Profiles are replayed on draws of their own (errors s_j, ratio_se in replay/ratios.parquet); those with one task count " +
		"share a design whose weight was estimated (s_w = s_risk·m/b from risk_se in replay/designs.parquet), so there the derivatives add before they are squared."
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

// executedBudgets are the equivalent budgets of settings that were executed, one by
// one, and those of the stored ratios.
type executedBudgets struct {
	executed, wanted []int32
	another          []float64 // the probability that a replay of the authors' gives another than ours
	differing        int
}

// executedBudgets is the executed budget of each setting, and ⌊b/r⌋ of the stored
// ratio.
func (r *costRow) executedBudgets() (all executedBudgets, err error) {
	worth, err := variance.Equivalents(r.designs, r.ratios)
	if err != nil {
		return all, err
	}
	for i, s := range r.Settings {
		executed := s.Runs[measurement.UniformEquivalent].Budget
		all.executed, all.wanted = append(all.executed, executed), append(all.wanted, worth[i].Rounded)
		all.another = append(all.another, worth[i].Another())
		if executed != worth[i].Rounded {
			all.differing++
		}
	}
	return all, nil
}

// expected is how many differ by the noise of two replays.
func (all executedBudgets) expected() (n float64) {
	for _, p := range all.another {
		n += p
	}
	return n
}

// judgeBudgets compares the budgets that the authors executed with those of our
// replay, in every setting, and judges how many differ: each may, by noise.
func judgeBudgets(rows []*costRow) []agreement.Comparison {
	var all executedBudgets
	for _, r := range rows {
		if r.Provenance == measurement.Published {
			all.differing += r.budgets.differing
			all.another = append(all.another, r.budgets.another...)
		}
	}
	c := agreement.Comparison{Verdict: agreement.Absent, Note: "no such row is stored"}
	if n := len(all.another); n > 0 {
		c = agreement.Counted(all.differing, all.another)
		c.Note = fmt.Sprintf("of %d, %s", n, c.Note)
	}
	return []agreement.Comparison{c.As(agreement.Computed).In(paper.Benefit, measurement.Published+" all", differingName)}
}

const differingName = "budgets_differing"

// differingColumn counts the budgets that differ.
func differingColumn(rows []*costRow) model.Column {
	return model.Column{Name: differingName,
		Words: "In how many settings the executed budget is not the ⌊b/r⌋ of the stored ratios: their noise, or another schedule's, moves it across a whole number.",
		Cell:  model.Counts(func(i int) int { return rows[i].budgets.differing })}
}

// expectedColumn is how many may be expected to differ.
func expectedColumn(rows []*costRow) model.Column {
	return model.Column{Name: "budgets_differing_expected",
		Words: "How many of these budgets another replay of the same size, with noise of its own, is expected to round otherwise: " +
			"Σ_j P(⌊b/r_j + √2·s_j·z⌋ ≠ ⌊b/r_j⌋) with a normal z and the Monte Carlo error s_j of b/r_j.",
		Cell: model.Numbers(func(i int) float64 { return rows[i].budgets.expected() })}
}

// budgetNotes say what the printed budgets leave out: which of them are not the
// authors', their Monte Carlo errors, and how many executed budgets are not those of
// the stored ratios.
func budgetNotes(rows []*costRow) []string {
	if len(rows) == 0 {
		return nil
	}
	worst, expected := 0.0, 0.0
	settings, differing := map[string]int{}, map[string]int{}
	for _, r := range rows {
		worst = max(worst, r.cells[continuousColumn].SE)
		settings[r.Provenance] += len(r.Settings)
		differing[r.Provenance] += r.budgets.differing
		if r.Provenance == measurement.Published {
			expected += r.budgets.expected()
		}
	}
	var notes []string
	if settings[measurement.Published] > 0 {
		notes = append(notes, computedMark+" Computed here, by the ratios of our own replay: the continuous budgets, and what is over them. The budgets that were executed and the times are the authors'.")
	}
	notes = append(notes, fmt.Sprintf("Monte Carlo standard errors of the continuous budgets are at most %.3f.", worst))
	for _, p := range measurement.Provenances {
		if differing[p] == 0 {
			continue
		}
		note := fmt.Sprintf("In %d of the %d %s settings this replay's b/r rounds down to another budget than was executed", differing[p], settings[p], p)
		if p == measurement.Published {
			note += fmt.Sprintf("; %.1f are expected by the noise of both replays", expected)
		}
		notes = append(notes, note+".")
	}
	return notes
}
