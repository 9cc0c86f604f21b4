package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/data"
	"speceval/internal/golden"
	"speceval/internal/measurement"
	"speceval/internal/variance"
)

// judged is the verdicts on s.
func judged(t *testing.T, s stored) Verdicts {
	t.Helper()
	v, err := judge(s, paperTargets(t))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// cell is the verdict on one number.
func (v Verdicts) cell(t *testing.T, table, row, column string) Cell {
	t.Helper()
	i := slices.IndexFunc(v.Cells, func(c Cell) bool {
		return c.Table == table && c.Row == row && c.Column == column
	})
	if i < 0 {
		t.Fatalf("no cell %s %s %s", table, row, column)
	}
	return v.Cells[i]
}

func TestResultsOfThePaperAgreeInEveryCell(t *testing.T) {
	v := judged(t, paperStudy(t))
	if !v.Passed() || len(v.Cells) != paperCells || v.Judged() != paperJudged {
		t.Errorf("%s", v.Summary())
	}
	for _, c := range v.Cells {
		rounded := c.Table == tsTable && c.Verdict == WithinNoise // Table 8 has digits that Table 1 lacks
		if c.Verdict != Agrees && !rounded && c.Column != "generation_hours" {
			t.Errorf("%s %s %s: %s %s", c.Table, c.Row, c.Column, c.Verdict, c.Note)
		}
	}
}

func TestVerdicts(t *testing.T) {
	const t1, t5, t6, t7, rob = "table1_variance", "table5_hbn_schedule", "table6_en_schedule", "table7_flop_coefficients", "robustness"
	for _, c := range []struct {
		name, table, row, column string
		change                   []func(*stored)
		want                     Verdict
	}{
		{"within the tolerance", t1, "b=8", "hbn", do(shift(variance.HBN, 8, 0.0009)), Agrees},
		{"beyond tolerance and noise", t1, "b=8", "hbn", do(shift(variance.HBN, 8, 0.0015)), Differs},
		{"beyond it downwards", t1, "b=8", "hbn", do(shift(variance.HBN, 8, -0.0015)), Differs},
		{"beyond tolerance, within noise", t1, "b=8", "hbn", do(shift(variance.HBN, 8, 0.0015), noisy), WithinNoise},
		{"the Oracle has no tolerance", t1, "b=16", "oracle", do(shift(variance.Oracle, 16, 0.0009)), Differs},
		{"the Oracle rounds", t1, "b=16", "oracle", do(shift(variance.Oracle, 16, 0.0004)), Agrees},
		{"another strength, as good", t1, "b=8", "ibn_alpha", do(strength(0.0001)), Tie},
		{"another strength, better", t1, "b=8", "ibn_alpha", do(strength(0.002)), Differs},
		{"another pilot, as good", t5, "N=19 b=64", "m", do(swap(variance.HBN, 19, 64, 16, 0.0001)), Tie},
		{"another pilot, better", t5, "N=19 b=64", "m", do(swap(variance.HBN, 19, 64, 16, 0.01)), Differs},
		{"another EN pilot, as good", t6, "N=100 b=64", "m", do(swap(variance.TunedEN, 100, 64, 54, 0.0002)), Tie},
		{"another EN pilot, better", t6, "N=100 b=64", "m", do(swap(variance.TunedEN, 100, 64, 54, 0.002)), Differs},
		{"weight of the paper's pilot", t6, "N=100 b=64", "w", do(swap(variance.TunedEN, 100, 64, 54, 0.002)), Agrees},
		{"weight rounds", t6, "N=30 b=8", "w", do(weight(0.0004)), Agrees},
		{"weight within noise", t6, "N=30 b=8", "w", do(weight(0.004)), WithinNoise},
		{"weight beyond noise", t6, "N=30 b=8", "w", do(weight(0.02)), Differs},
		{"a coefficient", t7, "qwen2_5_3b", "theta_core", do(func(s *stored) { s.architectures[0].ThetaCore += 1000 }), Differs},
		{"a count of layers", t7, "qwen2_5_3b", "full_attention_layers", do(func(s *stored) { s.architectures[0].FullAttentionLayers++ }), Differs},
		{"no such checkpoint", t7, "qwen3_5_27b", "theta_core", do(func(s *stored) { s.architectures = s.architectures[:5] }), Absent},
		{"one profile gains no more", rob, "b=8", "profiles_gaining", do(adverse(8, 1.1)), Differs},
		{"one profile hardly gains no more", rob, "b=8", "profiles_gaining", do(adverse(8, 0.9993)), WithinNoise},
		{"one profile gains that should not", rob, "b=32", "profiles_gaining", do(adverse(32, 0.9)), Differs},
		{"adverse ratio", rob, "b=16", "worst_ratio", do(adverse(16, 1.03)), Differs},
		{"adverse ratio within noise", rob, "b=16", "worst_ratio", do(adverse(16, 1.025)), WithinNoise},
		{"another worst profile", rob, "b=16", "worst_profile", do(another(1.1)), Differs},
		{"another worst profile, as bad", rob, "b=16", "worst_profile", do(another(1.0245)), Tie},
		{"endpoint tasks", rob, "all", "adverse_outside_02_08", do(func(s *stored) { s.find("math_100__model=qwen3_5_4b").Outside = 95 }), Differs},
		{"a profile too few", "corpus", "all", "profiles", do(func(s *stored) { s.Profiles = s.Profiles[1:] }), Differs},
		{"a policy not replayed", t1, "b=8", "hbn", do(without(variance.HBN)), Absent},
		{"a policy without designs", t6, "N=19 b=8", "m", do(without(variance.TunedEN)), Absent},
		{"the tolerance itself", t1, "b=8", "hbn", do(shift(variance.HBN, 8, 0.001)), Agrees},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := paperStudy(t)
			for _, change := range c.change {
				change(&s)
			}
			v := judged(t, s)
			got := v.cell(t, c.table, c.row, c.column)
			if got.Verdict != c.want {
				t.Errorf("%s %s %s: %s, want %s (%s)", c.table, c.row, c.column, got.Verdict, c.want, got.Note)
			}
			if !c.want.Passes() && v.Passed() {
				t.Error("passed with a cell that does not")
			}
			if err := v.Text(new(bytes.Buffer)); err != nil {
				t.Error(err)
			}
			if err := v.JSON(new(bytes.Buffer)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDifferenceHasTheNoiseOfBothRuns(t *testing.T) {
	c := compare(Estimate{0.8760, 0.001}, 0.872, rule{decimals: 3})
	if want := math.Sqrt2 * 0.001; math.Abs(*c.SE-want) > 1e-15 {
		t.Errorf("standard error %v, want %v", *c.SE, want)
	}
	if want := (0.004 - 0.0005) / (math.Sqrt2 * 0.001); math.Abs(*c.SEs-want) > 1e-9 {
		t.Errorf("%v standard errors beyond rounding, want %v", *c.SEs, want)
	}
}

func TestRiskAtTheOptimalWeightIsTheDesignsRisk(t *testing.T) {
	d := variance.Design{M: 16, Budget: 64, W: 0.22, Risk: 0.88}
	if got := riskAt(d, d.W); math.Abs(got-d.Risk) > 1e-12 {
		t.Errorf("risk %v, want %v", got, d.Risk)
	}
	if riskAt(d, 0.25) <= d.Risk || riskAt(d, 0.19) <= d.Risk {
		t.Error("another weight has no higher risk")
	}
}

func TestNothingIsComparedWithOtherProfilesOrBudgets(t *testing.T) {
	s := paperStudy(t)
	s.Published = false
	v := judged(t, s)
	if !v.Passed() || len(v.Cells) != 0 || !strings.Contains(v.Summary(), "no verdict") {
		t.Errorf("other profiles: %d cells, %s", len(v.Cells), v.Summary())
	}

	s = paperStudy(t)
	s.Budgets = []int32{8, 128}
	v = judged(t, s)
	if !v.Passed() || !strings.Contains(v.Skipped, "[16 32 64]") {
		t.Errorf("other budgets: %s; %s", v.Summary(), v.Skipped)
	}
	for _, c := range v.Cells {
		if strings.Contains(c.Row, "b=16") {
			t.Errorf("a verdict at b = 16: %+v", c)
		}
	}
}

func TestFilesOfDifferentRunsAreAnError(t *testing.T) {
	s := paperStudy(t)
	m := int32(3)
	for i := range s.Ratios {
		if s.Ratios[i].Policy == variance.HBN && s.Ratios[i].Budget == 8 {
			s.Ratios[i].M = &m
		}
	}
	if _, err := judge(s, paperTargets(t)); err == nil || !strings.Contains(err.Error(), "run the replay stage again") {
		t.Errorf("error %v", err)
	}

	s = paperStudy(t)
	s.Ratios = s.Ratios[:len(s.Ratios)-1]
	if _, err := judge(s, paperTargets(t)); err == nil || !strings.Contains(err.Error(), "covers 106 profiles") {
		t.Errorf("error %v", err)
	}
}

func TestVerdictsPrint(t *testing.T) {
	s := fleetStudy(t)
	shift(variance.HBN, 8, 0.0015)(&s)
	swap(variance.TunedEN, 100, 64, 54, 0.0002)(&s)
	cost(timeTable, measurement.Simulated, 8, "sync_time", 0.05)(&s)
	v := judged(t, s)
	var text, object bytes.Buffer
	if err := v.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "verify.txt", text.Bytes())
	if err := v.JSON(&object); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Passed    bool
		Published bool
		Agree     int
		Total     int
		Cells     []Cell
	}
	if err := json.Unmarshal(object.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Passed || !got.Published || got.Agree != got.Total-3 || got.Total != v.Judged() || len(got.Cells) != paperCells+130 {
		t.Errorf("JSON says passed %v, published %v, %d of %d agree, %d cells", got.Passed, got.Published, got.Agree, got.Total, len(got.Cells))
	}
}

func TestVerifyWithoutResultsSaysWhatToRun(t *testing.T) {
	_, err := Verify(t.TempDir(), data.PaperTargets())
	if err == nil || !strings.Contains(err.Error(), "run `speceval run` first") {
		t.Errorf("error %v", err)
	}
}
