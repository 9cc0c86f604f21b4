// Package tables is the tables of the report that are computed: the paper's and
// our own, a value each, and the list of all of them.
package tables

import (
	"strconv"

	"speceval/internal/results/agreement"
	"speceval/internal/terminal/table"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables/measured"
)

// All is every table that the report stores, in its order.
var All = append([]*model.Table{
	Variance, Compute, Time, Benefit, HBNSchedule, ENSchedule, measured.FLOPs, TSNeyman,
	Policies, Worth, Suite, Robustness, Profiles, Errors, Paired, Equivalents,
}, measured.All...)

// Texts are the numbers of the paper's text that no table has.
var Texts = []*model.Table{measured.Corpus, CaseStudy}

// quoted are the tables with numbers that a text quotes, in the order of numbers.tex.
var quoted = []*model.Table{Variance, Robustness, measured.Corpus, TSNeyman, CaseStudy, Compute, Time, Benefit, Policies, Worth, Suite, Paired}

// Of is the stored tables that an experiment has.
func Of(s *stored.Settings) []*model.Table { return model.Of(All, s) }

// Quoted is the tables of an experiment that Macros quotes.
func Quoted(s *stored.Settings) []*model.Table { return model.Of(quoted, s) }

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
	for _, t := range Quoted(src.Settings) {
		more, err := t.Macros(src)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// exactly is an estimate without error.
func exactly(v float64) agreement.Estimate { return agreement.Estimate{Value: v} }

// percent1 is how means are printed.
var percent1 = table.ParseFormat(".1%")

// macroOf is a macro of a number at a budget: \specHBNVarianceBSixFour. Its name is
// spec, then whose number it is, what it is, and B with the budget; LaTeX names
// have no digits, so those of a budget are spelled out.
func macroOf(name string, budget int32, value string) model.Macro {
	return model.Macro{Name: "spec" + name + "B" + model.Spelled(budget), Value: value}
}

// shortest is a number in the fewest digits.
func shortest(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// fixed is a number with a fixed number of decimals.
func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
