package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"speceval/internal/golden"
	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/results/variance"
	"speceval/stages/report"
	"speceval/stages/report/model"
	"speceval/stages/report/stored"
	"speceval/stages/report/tables"
	"speceval/stages/report/tables/measured"
)

// cellOf is the verdict on one number.
func cellOf(t *testing.T, v report.Verdicts, table, row, column string) agreement.Comparison {
	t.Helper()
	i := slices.IndexFunc(v.Cells, func(c agreement.Comparison) bool {
		return c.Table == table && c.Row == row && c.Column == column
	})
	if i < 0 {
		t.Fatalf("no cell %s %s %s", table, row, column)
	}
	return v.Cells[i]
}

// verdictCase is a change of a study, and the verdict that it makes of a number.
type verdictCase struct {
	name, table, row, column string
	change                   func(*study)
	want                     agreement.Verdict
}

// check changes a study, and wants its verdicts to fail where the wanted one does,
// and to print.
func (c verdictCase) check(t *testing.T, s study) report.Verdicts {
	t.Helper()
	c.change(&s)
	v := s.verdicts(t)
	got := cellOf(t, v, c.table, c.row, c.column)
	if got.Verdict != c.want {
		t.Errorf("%s %s %s: %s, want %s (%s)", c.table, c.row, c.column, got.Verdict, c.want, got.Note)
	}
	if got.Class == "" {
		t.Error("a cell without a class")
	}
	switch fails := c.want == agreement.Differs || c.want == agreement.Absent; {
	case fails && got.Class.Decides() && v.Cells.Passed():
		t.Errorf("passed with a %s cell that does not", got.Class)
	case c.want == agreement.Differs && got.Class == agreement.Predicted && !v.Cells.Passed():
		t.Error("a prediction decides")
	}
	if err := v.Text(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
	if err := v.JSON(new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
	return v
}

func TestResultsOfThePaperAgreeInEveryCell(t *testing.T) {
	v := paperStudy(t).verdicts(t)
	if !v.Cells.Passed() || len(v.Cells) != paperCells || v.Cells.Judged() != paperJudged {
		t.Errorf("%d cells: %s", len(v.Cells), v.Summary())
	}
	for _, c := range v.Cells {
		rounded := c.Table == paper.TSNeyman && c.Verdict == agreement.Within // Table 8 has digits that Table 1 lacks
		if c.Verdict != agreement.Agrees && !rounded && c.Column != "generation_hours" {
			t.Errorf("%s %s %s: %s %s", c.Table, c.Row, c.Column, c.Verdict, c.Note)
		}
		executed := strings.HasPrefix(c.Row, measurement.Simulated) || strings.HasPrefix(c.Row, measurement.Measured)
		if executed {
			t.Errorf("a cell of %s, though nothing was executed", c.Row)
		}
	}
}

func TestVerdicts(t *testing.T) {
	const t1, t5, t6, t7, rob = "table1_variance", "table5_hbn_schedule", "table6_en_schedule", "table7_flop_coefficients", "robustness"
	for _, c := range []verdictCase{
		{"within the tolerance", t1, "b=8", "hbn", shift(policy.HBN.Name, 8, 0.0009), agreement.Agrees},
		{"beyond tolerance and noise", t1, "b=8", "hbn", shift(policy.HBN.Name, 8, 0.0015), agreement.Differs},
		{"beyond it downwards", t1, "b=8", "hbn", shift(policy.HBN.Name, 8, -0.0015), agreement.Differs},
		{"beyond tolerance, within noise", t1, "b=8", "hbn", do(shift(policy.HBN.Name, 8, 0.0015), noisy), agreement.Within},
		{"the Oracle has no tolerance", t1, "b=16", "oracle", shift(policy.Oracle.Name, 16, 0.0009), agreement.Differs},
		{"the Oracle rounds", t1, "b=16", "oracle", shift(policy.Oracle.Name, 16, 0.0004), agreement.Agrees},
		{"another strength, as good", t1, "b=8", "ibn_alpha", strength(0.0001), agreement.Tie},
		{"another strength, better", t1, "b=8", "ibn_alpha", strength(0.002), agreement.Differs},
		{"another pilot, as good", t5, "N=19 b=64", "m", swap(policy.HBN.Name, 19, 64, 16, 0.0001), agreement.Tie},
		{"another pilot, better", t5, "N=19 b=64", "m", swap(policy.HBN.Name, 19, 64, 16, 0.01), agreement.Differs},
		{"another EN pilot, as good", t6, "N=100 b=64", "m", swap(policy.EN.Name, 100, 64, 54, 0.0002), agreement.Tie},
		{"another EN pilot, better", t6, "N=100 b=64", "m", swap(policy.EN.Name, 100, 64, 54, 0.002), agreement.Differs},
		{"weight of the paper's pilot", t6, "N=100 b=64", "w", swap(policy.EN.Name, 100, 64, 54, 0.002), agreement.Agrees},
		{"weight rounds", t6, "N=30 b=8", "w", weight(0.0004), agreement.Agrees},
		{"weight within noise", t6, "N=30 b=8", "w", weight(0.004), agreement.Within},
		{"weight beyond noise", t6, "N=30 b=8", "w", weight(0.02), agreement.Differs},
		{"a design at an end", t5, "all", "designs_at_an_end", atAnEnd, agreement.Differs},
		{"no such checkpoint", t7, "qwen3_5_27b", "theta_core", func(s *study) { s.architectures = s.architectures[:5] }, agreement.Absent},
		{"one profile gains no more", rob, "b=8", "profiles_gaining", adverse(8, 1.1), agreement.Differs},
		{"one profile hardly gains no more", rob, "b=8", "profiles_gaining", adverse(8, 0.9993), agreement.Within},
		{"one profile gains that should not", rob, "b=32", "profiles_gaining", adverse(32, 0.9), agreement.Differs},
		{"adverse ratio", rob, "b=16", "worst_ratio", adverse(16, 1.03), agreement.Differs},
		{"adverse ratio within noise", rob, "b=16", "worst_ratio", adverse(16, 1.025), agreement.Within},
		{"another worst profile", rob, "b=16", "worst_profile", another(1.1), agreement.Differs},
		{"another worst profile, as bad", rob, "b=16", "worst_profile", another(1.0245), agreement.Tie},
		{"endpoint tasks", rob, "all", "adverse_outside_02_08", func(s *study) { s.Find("math_100__model=qwen3_5_4b").Outside = 95 }, agreement.Differs},
		{"a profile too few", "corpus", "all", "profiles", func(s *study) { s.Profiles = s.Profiles[1:] }, agreement.Differs},
		{"a policy not replayed", t1, "b=8", "tuned_ibn", without(policy.IBN.Name), agreement.Absent},
		{"a policy without designs", t6, "N=19 b=8", "m", without(policy.EN.Name), agreement.Absent},
		{"the tolerance itself", t1, "b=8", "hbn", shift(policy.HBN.Name, 8, 0.001), agreement.Agrees},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, paperStudy(t)) })
	}
}

// atAnEnd has HBN select the pilot of b − 1 rollouts for 19 tasks at b = 8.
func atAnEnd(s *study) {
	const more = 3 // of m = 4
	of := func(d variance.Design) bool { return d.Policy == policy.HBN.Name && d.NTasks == 19 && d.Budget == 8 }
	s.designs = slices.DeleteFunc(s.designs, func(d variance.Design) bool { return of(d) && d.M > 4 })
	do(designs(policy.HBN.Name, 19, 8, func(d *variance.Design) { d.M += more }), ratios(policy.HBN.Name, 8, func(r *variance.Ratio) {
		if r.NTasks == 19 {
			r.M = new(*r.M + more)
		}
	}))(s)
}

// TestCopiesDoNotDecide has a profile of 19 tasks counted as one of 30.
func TestCopiesDoNotDecide(t *testing.T) {
	s := paperStudy(t)
	i := slices.IndexFunc(s.Profiles, func(p stored.ProfileFact) bool { return p.NTasks == 19 })
	s.Profiles[i].NTasks = 30
	v := s.verdicts(t)
	for _, column := range []string{"profiles_n19", "profiles_n30"} {
		if c := cellOf(t, v, paper.Corpus, "all", column); c.Verdict != agreement.Differs || c.Class != agreement.Copied {
			t.Errorf("%s: %s %s", column, c.Class, c.Verdict)
		}
	}
	if !v.Cells.Passed() || !strings.Contains(v.Summary(), "copied 6 of 8 agree") {
		t.Errorf("%s", v.Summary())
	}
}

// TestTable7IsCountedFromShapes: another number of the paper's differs, and constants of a
// checkpoint whose shape is not known are copies.
func TestTable7IsCountedFromShapes(t *testing.T) {
	s := paperStudy(t)
	set := s.settings(t)
	set.Targets = bytes.Replace(set.Targets, []byte("theta_core            = [2.774774"), []byte("theta_core            = [2.774775"), 1)
	dir := t.TempDir()
	s.write(t, dir)
	v := must(report.Verify(stored.NewSource(&set, stored.Folder(dir))))
	if c := cellOf(t, v, paper.FLOPs, "qwen2_5_3b", "theta_core"); c.Verdict != agreement.Differs || c.Class != agreement.Computed || v.Cells.Passed() {
		t.Errorf("%s %s, passed %t", c.Class, c.Verdict, v.Cells.Passed())
	}
	s.architectures[0].ThetaCore++
	if sheet := s.sheet(t, measured.FLOPs); sheet.Column("theta_core").Cell(0).Exact() != "2774773760" {
		t.Error("Table 7 does not count the shape")
	}
	s.architectures[0].Model = "other"
	sheet := s.sheet(t, measured.FLOPs)
	if c := sheet.Column("theta_core"); c.Rule.Class(paper.Key{Model: "other"}) != agreement.Copied || c.Cell(0).Exact() != "2774773761" {
		t.Errorf("a checkpoint without a shape has %s", c.Cell(0).Exact())
	}
}

func TestOtherBudgetsAreNotCompared(t *testing.T) {
	s := paperStudy(t)
	s.Budgets = []int32{8, 128}
	v := s.verdicts(t)
	if !v.Cells.Passed() || !strings.Contains(v.Skipped, "[16 32 64]") {
		t.Errorf("other budgets: %s; %s", v.Summary(), v.Skipped)
	}
	for _, c := range v.Cells {
		if strings.Contains(c.Row, "b=16") {
			t.Errorf("a verdict at b = 16: %+v", c)
		}
	}
}

// TestVerdictsPrint has one number alone of Tables 2 to 4 that differs: cells of
// three studies, since no study is like this.
func TestVerdictsPrint(t *testing.T) {
	as, shifted, slower := fleetStudy(t), fleetStudy(t), fleetStudy(t)
	shift(policy.HBN.Name, 8, 0.0015)(&shifted)
	swap(policy.EN.Name, 100, 64, 54, 0.0002)(&shifted)
	cost(measurement.Simulated, 8, "sync_time", 0.05)(&slower)
	v := shifted.verdicts(t)
	benefit := as.verdicts(t).Cells.Of(paper.Benefit)
	for i, c := range v.Cells {
		switch {
		case c.Table == paper.Benefit:
			v.Cells[i], benefit = benefit[0], benefit[1:]
		case c.Table == paper.Time && c.Row == "simulated b=8" && c.Column == "sync_time":
			v.Cells[i] = cellOf(t, slower.verdicts(t), c.Table, c.Row, c.Column)
		}
	}
	var text, object bytes.Buffer
	ok(t, v.Text(&text))
	golden.Check(t, "verify.txt", text.Bytes())
	ok(t, v.JSON(&object))
	var got struct {
		Passed    bool
		Published bool
		Agree     int
		Total     int
		Cells     []agreement.Comparison
	}
	ok(t, json.Unmarshal(object.Bytes(), &got))
	if got.Passed || !got.Published || got.Agree != got.Total-2 || got.Total != v.Cells.Deciding().Judged() || len(got.Cells) != paperCells+130 {
		t.Errorf("JSON says passed %v, published %v, %d of %d agree, %d cells", got.Passed, got.Published, got.Agree, got.Total, len(got.Cells))
	}
}

// TestResultsThatDoNotFitAreErrors has files of different runs, or of other profiles.
func TestResultsThatDoNotFitAreErrors(t *testing.T) {
	const profile = "aime24__model=qwen2_5_32b"
	every := func(change func(r *variance.Ratio)) func(*study) {
		return func(s *study) { each(s.ratios, change) }
	}
	another := 0.2
	for _, c := range []struct {
		name   string
		of     *model.Table // nil: verify reads them
		want   string
		change func(*study)
	}{
		{"another schedule", nil, "run the replay stage again", ratios(policy.HBN.Name, 8, func(r *variance.Ratio) { r.M = new(int32) })},
		{"a ratio too few", nil, "covers 106 profiles", func(s *study) { s.ratios = s.ratios[:len(s.ratios)-1] }},
		{"a difference too few", tables.Paired, "oracle has 106 differences to HBN at budget 8, but 107 ratios; run the replay stage again", func(s *study) { s.differences = madeDifferences(s.ratios)[1:] }},
		{"IBN of mixed strengths", tables.Variance, "more than one selected alpha", do(every(func(r *variance.Ratio) {
			if r.Policy == policy.IBN.Name && r.Profile() == adverseProfile {
				r.Alpha = &another
			}
		}), func(s *study) {
			for _, d := range slices.Clone(s.designs) {
				d.Alpha = &another
				s.designs = append(s.designs, d)
			}
		})},
		{"runs without a ratio", tables.Benefit, profile + " of 30 tasks at budget 16 is among the published runs, but replay/ratios.parquet has no HBN ratio", func(s *study) {
			s.ratios = slices.DeleteFunc(s.ratios, func(r variance.Ratio) bool { return r.Profile() == profile && r.Budget == 16 })
		}},
		{"another profile of that name", tables.Benefit, "run the replay stage on the same profiles", every(func(r *variance.Ratio) {
			if r.Profile() == profile {
				r.NTasks = 31
			}
		})},
		{"no repeats", tables.Benefit, "no repeat has the 107 simulated settings at budget 8", func(s *study) { s.repeats = nil }},
		{"repeats of fewer profiles", tables.Benefit, "no repeat has the 107 simulated settings at budget 8", func(s *study) {
			s.repeats = slices.DeleteFunc(s.repeats, func(r measurement.Repeat) bool { return r.Benchmark == "aime24" })
		}},
	} {
		s := fleetStudy(t)
		c.change(&s)
		var err error
		if src := s.source(t); c.of == nil {
			_, err = report.Verify(src)
		} else {
			_, err = c.of.Sheet(src)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestVerifyWithoutResultsSaysWhatToRun(t *testing.T) {
	_, err := report.VerifyFolder(paperStudy(t).settings(t), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "run `speceval run` first") {
		t.Errorf("error %v", err)
	}
}
