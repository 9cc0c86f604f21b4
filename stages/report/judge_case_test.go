package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

func caseCells(v Verdicts) []Cell {
	return slices.DeleteFunc(slices.Clone(v.Cells), func(c Cell) bool { return c.Table != caseTable })
}

func TestTheCaseStudyOfThePaperAgrees(t *testing.T) {
	v := judged(t, withCase(t, paperStudy(t)))
	cells := caseCells(v)
	if len(cells) != 17 { // 11 numbers of the paper, and bias and spread of three policies
		t.Errorf("%d cells", len(cells))
	}
	for _, c := range cells {
		if !c.Verdict.Passes() {
			t.Errorf("%s %s: %s %v of %v", c.Row, c.Column, c.Verdict, *c.Obtained, *c.Paper)
		}
	}
	if strings.Contains(v.Skipped, "case study") {
		t.Errorf("skipped: %s", v.Skipped)
	}
}

func TestVerdictsOnTheCaseStudy(t *testing.T) {
	ratio := func(policy string, budget int32, by float64) func(*stored) {
		return func(s *stored) {
			for i := range s.Ratios {
				if r := &s.Ratios[i]; name(*r) == paperCase && r.Policy == policy && r.Budget == budget {
					r.VarianceRatio += by
				}
			}
		}
	}
	estimate := func(policy string, change func(*variance.Estimates)) func(*stored) {
		return func(s *stored) {
			for i := range s.estimates {
				if s.estimates[i].Policy == policy {
					change(&s.estimates[i])
				}
			}
		}
	}
	passes := func(from, to int) func(*stored) {
		return func(s *stored) {
			s.CaseStudy.PassCounts = slices.Clone(s.CaseStudy.PassCounts)
			s.CaseStudy.PassCounts[slices.Index(s.CaseStudy.PassCounts, from)] = to
		}
	}
	for _, c := range []struct {
		row, column string
		change      func(*stored)
		want        Verdict
	}{
		{"b=8", "hbn_ratio", ratio(variance.HBN, 8, 0.0007), WithinNoise},
		{"b=32", "hbn_ratio", ratio(variance.HBN, 32, 0.004), Differs},
		{"b=64", "oracle_ratio", ratio(variance.Oracle, 64, 0.0006), Differs},
		{"all", "endpoint_tasks", passes(0, 9), Differs},
		{"all", "share_below_02", passes(0, 512), Differs},
		{"all", "share_above_08", passes(1020, 512), Differs},
		{"b=32", "uniform_halfwidth_pp", passes(9, 512), Differs},
		{"b=32", "hbn_w", func(s *stored) {
			for i := range s.Designs {
				if d := &s.Designs[i]; d.Policy == variance.HBN && d.NTasks == 30 && d.Budget == 32 {
					d.W += 0.02
				}
			}
		}, Differs},
		{"b=32", "hbn_bias_pp", estimate(variance.HBN, func(e *variance.Estimates) { e.Mean = e.Truth + 2.9*e.MeanSE }), Agrees},
		{"b=32", "hbn_bias_pp", estimate(variance.HBN, func(e *variance.Estimates) { e.Mean = e.Truth - 3.1*e.MeanSE }), Differs},
		{"b=32", "uniform_sd_pp", estimate(variance.Uniform, func(e *variance.Estimates) { e.SD = 1.01 * e.Expected }), Differs},
		{"b=32", "oracle_sd_pp", estimate(variance.Oracle, func(e *variance.Estimates) { e.SD = 0.99 * e.Expected }), Differs},
		{"b=32", "hbn_ratio", without(variance.HBN), Absent},
		{"b=32", "oracle_bias_pp", func(s *stored) { s.estimates = nil }, Absent},
	} {
		s := withCase(t, paperStudy(t))
		c.change(&s)
		cells, err := judgeCase(s, paperTargets(t))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(cells, func(got Cell) bool { return got.Row == c.row && got.Column == c.column })
		if i < 0 || cells[i].Verdict != c.want {
			t.Errorf("%s %s: %+v, want %s", c.row, c.column, cells[max(i, 0)], c.want)
		}
	}
}

func TestAnotherCaseStudyIsNotJudged(t *testing.T) {
	s := withCase(t, paperStudy(t))
	s.CaseStudy.Model = "qwen2_5_3b"
	if v := judged(t, s); len(caseCells(v)) != 0 || !strings.Contains(v.Skipped, "the case study of "+paperCase) {
		t.Errorf("%d cells; %s", len(caseCells(v)), v.Skipped)
	}
	s = withCase(t, paperStudy(t))
	s.Budgets = []int32{8}
	for _, c := range caseCells(judged(t, s)) {
		if c.Row != "all" && c.Row != "b=8" {
			t.Errorf("a cell of %s", c.Row)
		}
	}
}

func TestNumbersOfTheCaseStudyMatchTheGoldenFile(t *testing.T) {
	s := withCase(t, paperStudy(t))
	var b bytes.Buffer
	if err := writeMacros(&b, "made up", caseNumbers(newCase(*s.CaseStudy, s.Ratios, s.estimates))); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "case_numbers.tex", b.Bytes())
	if got := caseNumbers(caseStudy{}); got != nil {
		t.Errorf("numbers of nothing: %v", got)
	}
}

// simulated is a stage that stores the sampling distributions as well.
func simulated(s stored) dag.Stage {
	stage := replayed(s)
	stage.Units = slices.DeleteFunc(stage.Units, func(u dag.Unit) bool { return u.ID == caseRef.Unit })
	u := stage.Units[0]
	u.ID, u.Needs, u.Wants, u.Outputs = caseRef.Unit, nil, nil, []string{variance.EstimatesFile}
	u.Run = storing(variance.EstimatesFile, s.estimates)
	stage.Units = append(stage.Units, u)
	return stage
}

// TestTheStageDrawsAndStoresTheCaseStudy runs the stage on files, and verify on
// what it leaves.
func TestTheStageDrawsAndStoresTheCaseStudy(t *testing.T) {
	s := withCase(t, paperStudy(t))
	set := settings(t, s)
	set.CaseStudy = CaseStudy{paperCase, 32}
	set.Pairs = casePairs(t, set.Pairs)
	if why := set.NoCaseStudy(); why != "" {
		t.Error(why)
	}
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{simulated(s), Stage(set)}, dir)
	for _, base := range []string{"figure1_pair_distribution", "figure2_case_study"} {
		for _, form := range []string{".pdf", ".svg", ".csv"} {
			if info, err := os.Stat(filepath.Join(dir, "figures", base+form)); err != nil || info.Size() < 500 {
				t.Errorf("%s%s: %v", base, form, err)
			}
		}
	}
	v, err := Verify(dir, data.PaperTargets())
	if err != nil {
		t.Fatal(err)
	}
	cells := caseCells(v)
	for _, c := range cells {
		if !c.Verdict.Passes() {
			t.Errorf("%s %s: %s", c.Row, c.Column, c.Verdict)
		}
	}
	if len(cells) != 17 {
		t.Errorf("%d cells", len(cells))
	}
	numbers, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(numbersFile)))
	if err != nil || !bytes.Contains(numbers, []byte(`\newcommand{\specCaseEndpoints}{4}`)) {
		t.Errorf("numbers without the case study: %v", err)
	}
}

// TestTheErrorOfASpread has a standard deviation over 201 estimates, and a ratio
// that is known to a tenth: its root is known to a twentieth.
func TestTheErrorOfASpread(t *testing.T) {
	e := variance.Estimates{Policy: variance.HBN, Budget: 8, SD: 2, Expected: 3, Repetitions: 201}
	alone := caseStudy{}
	near(t, "without a ratio", alone.spreadSE(e), 2.0/20)
	c := newCase(CaseFact{Benchmark: "a", Model: "b"}, []variance.Ratio{{Benchmark: "a", Model: "b", Policy: variance.HBN, Budget: 8, VarianceRatio: 0.5, RatioSE: 0.05}}, nil)
	near(t, "with the ratio's", c.spreadSE(e), math.Hypot(2.0/20, 3.0/20))
}

// TestEvaluationsThatAllAgreeCanBeRead has as few evaluations as the
// configuration allows, which gave the same estimate.
func TestEvaluationsThatAllAgreeCanBeRead(t *testing.T) {
	s := withCase(t, paperStudy(t))
	one := s.estimates[3]
	one.Count, one.Repetitions, one.SD, one.MeanSE = 2, 2, 0, 0
	path := filepath.Join(t.TempDir(), "e.parquet")
	write(t, path, []variance.Estimates{one})
	rows, err := readEstimates(func(string) (string, error) { return path, nil })
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, error %v", len(rows), err)
	}
	s.estimates = rows
	v := judged(t, s)
	if err := v.JSON(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}
