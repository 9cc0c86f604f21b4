package report_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
)

// caseCells are the comparisons of the case study alone.
func caseCells(t *testing.T, s study) []agreement.Comparison {
	t.Helper()
	cells := s.sheet(t, tables.CaseStudy).Compare(s.Experiment)
	return cells
}

func TestVerdictsOnTheCaseStudy(t *testing.T) {
	ratio := func(policy string, budget int32, by float64) func(*study) {
		return ratios(policy, budget, func(r *variance.Ratio) {
			if r.Profile() == tables.PaperCase {
				r.VarianceRatio += by
			}
		})
	}
	estimate := func(policy string, change func(*variance.Estimates)) func(*study) {
		return func(s *study) {
			each(s.estimates, func(e *variance.Estimates) {
				if e.Policy == policy {
					change(e)
				}
			})
		}
	}
	passes := func(from, to int) func(*study) {
		return func(s *study) {
			s.CaseStudy.PassCounts = slices.Clone(s.CaseStudy.PassCounts)
			s.CaseStudy.PassCounts[slices.Index(s.CaseStudy.PassCounts, from)] = to
		}
	}
	for _, c := range []struct {
		row, column string
		change      func(*study)
		want        agreement.Verdict
	}{
		{"b=8", "hbn_ratio", ratio(policy.HBN.Name, 8, 0.0007), agreement.Within},
		{"b=32", "hbn_ratio", ratio(policy.HBN.Name, 32, 0.004), agreement.Differs},
		{"b=64", "oracle_ratio", ratio(policy.Oracle.Name, 64, 0.0006), agreement.Differs},
		{"all", "endpoint_tasks", passes(0, 9), agreement.Differs},
		{"all", "share_below_02", passes(0, 512), agreement.Differs},
		{"all", "share_above_08", passes(1020, 512), agreement.Differs},
		{"b=32", "uniform_halfwidth_pp", passes(9, 512), agreement.Differs},
		{"b=32", "hbn_w", designs(policy.HBN.Name, 30, 32, func(d *variance.Design) { d.W += 0.02 }), agreement.Differs},
		{"b=32", "hbn_bias_pp", estimate(policy.HBN.Name, func(e *variance.Estimates) { e.Mean = e.Truth + 2.9*e.MeanSE }), agreement.Agrees},
		{"b=32", "hbn_bias_pp", estimate(policy.HBN.Name, func(e *variance.Estimates) { e.Mean = e.Truth - 3.1*e.MeanSE }), agreement.Differs},
		{"b=32", "uniform_sd_pp", estimate(policy.Uniform.Name, func(e *variance.Estimates) { e.SD = 1.01 * e.Expected }), agreement.Differs},
		{"b=32", "oracle_sd_pp", estimate(policy.Oracle.Name, func(e *variance.Estimates) { e.SD = 0.99 * e.Expected }), agreement.Differs},
		{"b=32", "hbn_ratio", without(policy.HBN.Name), agreement.Absent},
		{"b=32", "oracle_bias_pp", func(s *study) { s.estimates = []variance.Estimates{} }, agreement.Absent},
	} {
		s := withCase(t, paperStudy(t))
		c.change(&s)
		cells := caseCells(t, s)
		i := slices.IndexFunc(cells, func(got agreement.Comparison) bool { return got.Row == c.row && got.Column == c.column })
		if i < 0 || cells[i].Verdict != c.want {
			t.Errorf("%s %s: %+v, want %s", c.row, c.column, cells[max(i, 0)], c.want)
		}
	}
}

func TestAnotherCaseStudyIsNotJudged(t *testing.T) {
	s := withCase(t, paperStudy(t))
	s.CaseStudy.Model = "qwen2_5_3b"
	v := s.verdicts(t)
	if cells := v.Cells.Of(paper.CaseStudy); len(cells) != 0 || !strings.Contains(v.Skipped, "the case study of "+tables.PaperCase) {
		t.Errorf("%d cells; %s", len(cells), v.Skipped)
	}
	s = withCase(t, paperStudy(t))
	s.Budgets = []int32{8}
	for _, c := range s.verdicts(t).Cells.Of(paper.CaseStudy) {
		if c.Row != "all" && c.Row != "b=8" {
			t.Errorf("a cell of %s", c.Row)
		}
	}
}

// TestTheStageDrawsAndStoresTheCaseStudy runs the stage on files, and verify on
// what it leaves.
func TestTheStageDrawsAndStoresTheCaseStudy(t *testing.T) {
	f := withCase(t, paperStudy(t)).reported(t)
	for _, base := range []string{"figure1_pair_distribution", "figure2_case_study"} {
		for _, form := range []string{".pdf", ".svg", ".csv"} {
			if info, err := os.Stat(filepath.Join(f.dir, "figures", base+form)); err != nil || info.Size() < 500 {
				t.Errorf("%s%s: %v", base, form, err)
			}
		}
	}
	v := f.verdicts(t)
	// 11 numbers of the paper, and bias and spread of three policies
	cells := v.Cells.Of(paper.CaseStudy)
	if cells.InClass(agreement.Computed).Agreeing() != 17 || len(cells) != 17 || strings.Contains(v.Skipped, "case study") {
		t.Errorf("%d cells, %s; skipped: %s", len(cells), cells.Tally(), v.Skipped)
	}
	if !strings.Contains(f.content(t, "tables/numbers.tex"), `\newcommand{\specCaseEndpoints}{4}`) {
		t.Error("numbers without the case study")
	}
}

// TestTheErrorOfASpread has a standard deviation over 201 estimates, and then a
// ratio that is known to a tenth: its root is known to a twentieth.
func TestTheErrorOfASpread(t *testing.T) {
	s := withCase(t, paperStudy(t))
	each(s.estimates, func(e *variance.Estimates) { e.SD, e.Expected, e.Repetitions = 0.02, 0.03, 201 })
	ratios(policy.HBN.Name, 32, func(r *variance.Ratio) { r.RatioSE = r.VarianceRatio / 10 })(&s)
	for _, c := range caseCells(t, s) {
		switch c.Column {
		case "uniform_sd_pp": // of a ratio that is exact
			near(t, "without the ratio's", *c.SE, 2.0/20)
		case "hbn_sd_pp":
			near(t, "with the ratio's", *c.SE, math.Hypot(2.0/20, 3.0/20))
		}
	}
}

// TestEvaluationsThatAllAgreeCanBeRead has as few evaluations as the
// configuration allows, which gave the same estimate.
func TestEvaluationsThatAllAgreeCanBeRead(t *testing.T) {
	s := withCase(t, paperStudy(t))
	one := s.estimates[3]
	one.Count, one.Repetitions, one.SD, one.MeanSE = 2, 2, 0, 0
	s.estimates = []variance.Estimates{one}
	if rows, err := stored.Estimates(s.source(t)); err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	if err := s.verdicts(t).JSON(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
