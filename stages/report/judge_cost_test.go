package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"speceval/internal/measurement"
)

func TestCostsOfThePaperAgree(t *testing.T) {
	v := judged(t, fleetStudy(t))
	for _, c := range v.Cells {
		measured := strings.HasPrefix(c.Row, "measured") || c.Column == "generation_hours"
		if c.Table == tsTable {
			continue
		}
		if measured != (c.Verdict == Shown) || !measured && c.Verdict != Agrees {
			t.Errorf("%s %s %s: %s %s", c.Table, c.Row, c.Column, c.Verdict, c.Note)
		}
	}
	if v.Judged() != paperJudged+65 || len(v.Cells) != paperCells+130 || !v.Passed() {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}

func TestCostVerdicts(t *testing.T) {
	const published, simulated, measured = measurement.Published, measurement.Simulated, measurement.Measured
	for _, c := range []struct {
		name   string
		kind   costKind
		row    string
		column string
		change func(*stored)
		want   Verdict
	}{
		{"a printed digit", timeTable, "published b=64", "sync_time", cost(timeTable, published, 64, "sync_time", 0.0001), Differs},
		{"half a printed digit", timeTable, "published b=64", "sync_time", cost(timeTable, published, 64, "sync_time", -0.00001), Agrees},
		{"the third decimal of a small number", computeTable, "published b=32", "wasted_flops", cost(computeTable, published, 32, "wasted_flops", 0.00001), Differs},
		{"the second decimal of another", computeTable, "published b=8", "wasted_flops", cost(computeTable, published, 8, "wasted_flops", 0.00001), Agrees},
		{"continuous, within noise", benefitTable, "published b=64", "continuous_budget", cost(benefitTable, published, 64, "continuous_budget", 0.06), WithinNoise},
		{"continuous, beyond", benefitTable, "published b=64", "continuous_budget", cost(benefitTable, published, 64, "continuous_budget", 0.9), Differs},
		{"an executed budget has no noise", benefitTable, "published b=64", "rounded_budget", cost(benefitTable, published, 64, "rounded_budget", 0.01), Differs},
		{"the text's share", benefitTable, "published b=8", "extra_budget_kept", cost(benefitTable, published, 8, "continuous_budget", 0.002), WithinNoise},
		{"the text's share, beyond", benefitTable, "published b=8", "extra_budget_kept", cost(benefitTable, published, 8, "continuous_budget", 0.1), Differs},
		{"a row is gone", timeTable, "published b=16", "delta_time", withoutCosts(timeTable, published, 16), Absent},
		{"a published profile is gone", timeTable, "published b=16", "delta_time", fewer(timeTable, published), Absent},

		{"simulated time", timeTable, "simulated b=8", "sync_time", cost(timeTable, simulated, 8, "sync_time", 0.039), Agrees},
		{"simulated time, beyond", timeTable, "simulated b=8", "sync_time", cost(timeTable, simulated, 8, "sync_time", 0.041), Differs},
		{"simulated time, beyond downwards", timeTable, "simulated b=8", "sync_time", cost(timeTable, simulated, 8, "sync_time", -0.041), Differs},
		{"simulated time above 8", timeTable, "simulated b=16", "sync_normalized", cost(timeTable, simulated, 16, "sync_normalized", 0.0149), Agrees},
		{"simulated time above 8, beyond", timeTable, "simulated b=16", "sync_normalized", cost(timeTable, simulated, 16, "sync_normalized", 0.0151), Differs},
		{"within chance", timeTable, "simulated b=16", "async_time", cost(timeTable, simulated, 16, "async_time", 0.0151), WithinNoise},
		{"beyond chance", timeTable, "simulated b=16", "async_time", cost(timeTable, simulated, 16, "async_time", 0.023), Differs},
		{"simulated benefit", benefitTable, "simulated b=32", "delta", cost(benefitTable, simulated, 32, "delta", 0.03), Differs},
		{"simulated waste", computeTable, "simulated b=8", "wasted_flops", cost(computeTable, simulated, 8, "wasted_flops", 0.0054), Agrees},
		{"simulated waste, beyond", computeTable, "simulated b=8", "wasted_flops", cost(computeTable, simulated, 8, "wasted_flops", 0.0056), Differs},
		{"simulated waste above 8, beyond", computeTable, "simulated b=64", "wasted_flops", cost(computeTable, simulated, 64, "wasted_flops", 0.0006), Differs},
		{"simulated extra rollouts", computeTable, "simulated b=16", "extra_rollouts", cost(computeTable, simulated, 16, "extra_rollouts", 0.0062), Agrees},
		{"simulated extra rollouts, beyond", computeTable, "simulated b=16", "extra_rollouts", cost(computeTable, simulated, 16, "extra_rollouts", 0.0064), Differs},
		{"simulated useful FLOPs, beyond", computeTable, "simulated b=16", "useful_flops", cost(computeTable, simulated, 16, "useful_flops", 0.0051), Differs},
		{"simulated rounded budgets have noise", benefitTable, "simulated b=64", "rounded_budget", cost(benefitTable, simulated, 64, "rounded_budget", 0.06), WithinNoise},
		{"a simulated row is gone", timeTable, "simulated b=16", "delta_time", withoutCosts(timeTable, simulated, 16), Absent},
		{"a simulated profile is gone", timeTable, "simulated b=16", "delta_time", fewer(timeTable, simulated), Absent},
		{"measured numbers are not judged", timeTable, "measured b=8", "sync_time", cost(timeTable, measured, 8, "sync_time", 9), Shown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fleetStudy(t)
			c.change(&s)
			v := judged(t, s)
			got := v.cell(t, c.kind.base, c.row, c.column)
			if got.Verdict != c.want {
				t.Errorf("%s %s: %s, want %s (%s)", c.row, c.column, got.Verdict, c.want, got.Note)
			}
			if fails := c.want == Differs || c.want == Absent; fails == v.Passed() {
				t.Errorf("passed: %v", v.Passed())
			}
			if err := v.Text(new(bytes.Buffer)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSimulatedCellsCountFromTheirTolerance(t *testing.T) {
	c := within(0.16, 0.10, 0.01, 0.04, 4)
	if *c.SE != 0.01 || math.Abs(*c.SEs-2) > 1e-9 || *c.Tolerance != 0.04 || c.Verdict != WithinNoise {
		t.Errorf("s.e. %v, SEs %v, %s", *c.SE, *c.SEs, c.Verdict)
	}
	if c := within(0.14, 0.10, 0, 0.04, 4); c.SE != nil || c.SEs != nil || c.Verdict != Agrees {
		t.Errorf("without repeats: %+v", c)
	}
}

func TestProvenancesThatNobodyRanHaveNoCells(t *testing.T) {
	for _, c := range judged(t, paperStudy(t)).Cells {
		if strings.HasPrefix(c.Row, measurement.Simulated) || strings.HasPrefix(c.Row, measurement.Measured) {
			t.Fatalf("a cell of %s", c.Row)
		}
	}
}
