package report_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/internal/terminal/table"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/tables"
	"speceval/stages/report/tables/measured"
)

// TestALiveReport makes the whole report of a made-up live experiment.
func TestALiveReport(t *testing.T) {
	f := liveStudy().reported(t)
	f.compiled(t)
	set := f.settings
	for _, of := range measured.All {
		if of.Has != nil && !of.Has(&set) {
			t.Errorf("no table %s", of.Base)
		}
		for _, path := range report.TablePaths(of.Base) {
			text := f.content(t, path)
			if filepath.Ext(path) == ".tex" { // without its origin
				_, text, _ = strings.Cut(text, "\n")
			}
			golden.Check(t, filepath.Join("live", filepath.Base(path)), []byte(text))
		}
	}
	v := f.verdicts(t)
	var text bytes.Buffer
	ok(t, v.Text(&text))
	golden.Check(t, filepath.Join("live", "verify.txt"), text.Bytes())
	if v.Cells.Passed() || v.Published || v.Cells.Agreeing() != v.Cells.Judged()-1 {
		t.Errorf("%s", v.Summary())
	}
	tex := f.content(t, "report.tex")
	for _, want := range []string{`\section{Prediction against measurement}`, "what was predicted", "hbn-async, measured", "measured numbers that are held against a prediction"} {
		if !strings.Contains(tex, want) {
			t.Errorf("report.tex does not have %q", want)
		}
	}
	if strings.Contains(tex, "without verdicts") {
		t.Error("report.tex says that it has no verdicts")
	}
}

// macros are the numbers of a study that a text quotes, of some tables.
func macros(t *testing.T, s study, of ...*model.Table) (all []model.Macro) {
	t.Helper()
	src := s.source(t)
	for _, table := range of {
		more := must(table.Macros(src))
		all = append(all, more...)
	}
	return all
}

// commands defines macros as the report stores them.
func commands(origin string, all []model.Macro) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%% %s\n", origin)
	for _, m := range all {
		fmt.Fprintf(&b, "\\newcommand{\\%s}{%s}\n", m.Name, table.Escape(table.Minus(m.Value)))
	}
	return b.Bytes()
}

func TestNumbersMatchTheGoldenFile(t *testing.T) {
	// searched has the candidates of TS-Neyman.
	searched := study{search: []variance.Search{
		{Budget: 8, Alpha: 0.07, M0: 5, MSE: 0.886, MSESE: 0.0021, Draws: 2, Selected: true}, {Budget: 8, Alpha: 0.06, M0: 5, MSE: 0.887, Draws: 2},
		{Budget: 64, Alpha: 0.04, M0: 10, MSE: 0.66, MSESE: 0.001, Draws: 2, Selected: true},
	}}
	for budget, mean := range map[int32]float64{8: 0.8725, 64: 0.6644} {
		m, w := int32(2), 0.3
		searched.ratios = append(searched.ratios, variance.Ratio{Subject: variance.Subject{Benchmark: "a", Model: "b", NTasks: 19, Budget: budget, Policy: policy.HBN.Name, Donors: "none"}, M: &m, W: &w, VarianceRatio: mean})
		searched.designs = append(searched.designs, variance.Design{Policy: policy.HBN.Name, Donors: "none", NTasks: 19, Budget: budget, M: m, W: w, Risk: 0.9, Selected: true})
	}
	fleet := fleetStudy(t)
	all := macros(t, fleet, tables.Variance, tables.Robustness, tables.Compute, tables.Time, tables.Benefit)
	all = append(all, macros(t, searched, tables.TSNeyman)...)
	all = append(all, macros(t, fleet, measured.Corpus)...)
	golden.Check(t, "numbers.tex", commands("command: c; commit: d; key: e", all))
}

func TestNumbersOfTheCaseStudyMatchTheGoldenFile(t *testing.T) {
	golden.Check(t, "case_numbers.tex", commands("made up", macros(t, withCase(t, paperStudy(t)), tables.CaseStudy)))
	if got := macros(t, paperStudy(t), tables.CaseStudy); got != nil {
		t.Errorf("numbers of nothing: %v", got)
	}
}

// TestTheStageStoresEveryNumberOnce has HBN lose, so that a number is below zero.
func TestTheStageStoresEveryNumberOnce(t *testing.T) {
	s := fleetStudy(t)
	shift(policy.HBN.Name, 8, 0.2)(&s)
	text := s.reported(t).content(t, "tables/numbers.tex")
	all := must(tables.Macros(s.source(t)))
	origin, lines, _ := strings.Cut(text, "\n")
	if _, want, _ := strings.Cut(string(commands("", all)), "\n"); lines != want || !strings.HasPrefix(origin, "% command: ") {
		t.Errorf("numbers.tex is %s\n%s\nwant\n%s", origin, lines, want)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.Name] {
			t.Errorf("\\%s is defined twice", m.Name)
		}
		seen[m.Name] = true
	}
	for _, want := range []string{`{\specHBNReductionLeast}{$-$7.2\%}`, `{\specSimulatedSyncTimeBEight}{33.73`, `{\specHBNBelowENBEight}{$-$12.9}`} {
		if !strings.Contains(lines, want) {
			t.Errorf("numbers.tex lacks %s", want)
		}
	}
}
