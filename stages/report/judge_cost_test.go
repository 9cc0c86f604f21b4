package report_test

import (
	"slices"
	"strings"
	"testing"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/stages/report/stored"
)

func TestCostsOfThePaperAgree(t *testing.T) {
	v := fleetStudy(t).verdicts(t)
	for _, c := range v.Cells {
		measured := strings.HasPrefix(c.Row, "measured") || c.Column == "generation_hours"
		if c.Table == paper.TSNeyman {
			continue
		}
		if measured != (c.Verdict == agreement.Shown) || !measured && c.Verdict != agreement.Agrees {
			t.Errorf("%s %s %s: %s %s", c.Table, c.Row, c.Column, c.Verdict, c.Note)
		}
	}
	if v.Cells.Judged() != paperJudged+65 || len(v.Cells) != paperCells+130 || !v.Passed() {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}

// unrun takes a profile away from the runs of a provenance.
func unrun(provenance string) func(*study) {
	return func(s *study) {
		is := func(m measurement.Measurement) bool {
			return m.Provenance == provenance && m.Profile() == "aime24__model=qwen3_5_4b"
		}
		s.timed = slices.DeleteFunc(s.timed, is)
		s.repeats = slices.DeleteFunc(s.repeats, func(r measurement.Repeat) bool { return is(r.Measurement) })
	}
}

// evaluated adds a profile to the experiment that was never run.
func evaluated(s *study) {
	s.Profiles = append(s.Profiles, stored.ProfileFact{Name: "math_100__model=other", NTasks: 100})
}

func TestCostVerdicts(t *testing.T) {
	const (
		published, simulated, measured = measurement.Published, measurement.Simulated, measurement.Measured
		compute, time, benefit         = paper.Compute, paper.Time, paper.Benefit
		agrees, within, differs        = agreement.Agrees, agreement.Within, agreement.Differs
	)
	for _, c := range []verdictCase{
		{"a printed digit", time, "published b=64", "sync_time", cost(published, 64, "sync_time", 0.0001), differs},
		{"half a printed digit", time, "published b=64", "sync_time", cost(published, 64, "sync_time", -0.00001), agrees},
		{"the third decimal of a small number", compute, "published b=32", "wasted_flops", cost(published, 32, "wasted_flops", 0.00001), differs},
		{"the second decimal of another", compute, "published b=8", "wasted_flops", cost(published, 8, "wasted_flops", 0.00001), agrees},
		{"continuous, within noise", benefit, "published b=64", "continuous_budget", cost(published, 64, "continuous_budget", 0.06), within},
		{"continuous, beyond", benefit, "published b=64", "continuous_budget", cost(published, 64, "continuous_budget", 0.9), differs},
		{"an executed budget has no noise", benefit, "published b=64", "rounded_budget", cost(published, 64, "rounded_budget", 0.01), differs},
		{"the text's share", benefit, "published b=8", "extra_budget_kept", cost(published, 8, "continuous_budget", 0.002), within},
		{"the text's share, beyond", benefit, "published b=8", "extra_budget_kept", cost(published, 8, "continuous_budget", 0.1), differs},
		{"a row is gone", time, "published b=16", "delta_time", withoutRuns(published, 16), agreement.Absent},
		{"a profile was never run", time, "published b=16", "delta_time", evaluated, agreement.Absent},

		{"simulated time", time, "simulated b=8", "sync_time", cost(simulated, 8, "sync_time", 0.039), agrees},
		{"simulated time, beyond", time, "simulated b=8", "sync_time", cost(simulated, 8, "sync_time", 0.041), differs},
		{"simulated time, beyond downwards", time, "simulated b=8", "sync_time", cost(simulated, 8, "sync_time", -0.041), differs},
		{"simulated time above 8", time, "simulated b=16", "sync_normalized", cost(simulated, 16, "sync_normalized", 0.0149), agrees},
		{"simulated time above 8, beyond", time, "simulated b=16", "sync_normalized", cost(simulated, 16, "sync_normalized", 0.0151), differs},
		{"within chance", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.0151), within},
		{"beyond chance", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.023), differs},
		{"simulated benefit", benefit, "simulated b=32", "delta", cost(simulated, 32, "delta", 0.03), differs},
		{"simulated waste", compute, "simulated b=8", "wasted_flops", cost(simulated, 8, "wasted_flops", 0.0054), agrees},
		{"simulated waste, beyond", compute, "simulated b=8", "wasted_flops", cost(simulated, 8, "wasted_flops", 0.0056), differs},
		{"simulated waste above 8, beyond", compute, "simulated b=64", "wasted_flops", cost(simulated, 64, "wasted_flops", 0.0006), differs},
		{"simulated extra rollouts", compute, "simulated b=16", "extra_rollouts", cost(simulated, 16, "extra_rollouts", 0.0062), agrees},
		{"simulated extra rollouts, beyond", compute, "simulated b=16", "extra_rollouts", cost(simulated, 16, "extra_rollouts", 0.0064), differs},
		{"simulated useful FLOPs, beyond", compute, "simulated b=16", "useful_flops", cost(simulated, 16, "useful_flops", 0.0051), differs},
		{"simulated rounded budgets have noise", benefit, "simulated b=64", "rounded_budget", cost(simulated, 64, "rounded_budget", 0.06), within},
		{"a simulated row is gone", time, "simulated b=16", "delta_time", withoutRuns(simulated, 16), agreement.Absent},
		{"a simulated profile is gone", time, "simulated b=16", "delta_time", unrun(simulated), agreement.Absent},
		{"measured numbers are not judged", time, "measured b=8", "sync_time", cost(measured, 8, "sync_time", 9), agreement.Shown},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := c.check(t, fleetStudy(t)).Cells.Of(c.table)
			if fails := c.want == agreement.Differs || c.want == agreement.Absent; !fails && cells.Agreeing() != cells.Judged() {
				t.Errorf("a number beside it fails: %s", cells.Tally("agree"))
			}
		})
	}
}
