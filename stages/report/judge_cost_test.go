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
		if !slices.Contains(agreement.Classes, c.Class) { // it would be counted nowhere
			t.Errorf("%s %s %s has the class %q", c.Table, c.Row, c.Column, c.Class)
		}
		want := agreement.Agrees
		switch {
		case c.Table == paper.TSNeyman:
			continue
		case c.Class == agreement.Predicted:
			want = agreement.Near
		case c.Class == agreement.Measured, c.Class == agreement.InFit, c.Column == "generation_hours", strings.HasPrefix(c.Row, measurement.Simulated) && c.Column == "continuous_budget":
			want = agreement.Shown
		}
		if c.Verdict != want {
			t.Errorf("%s %s %s, %s: %s %s", c.Table, c.Row, c.Column, c.Class, c.Verdict, c.Note)
		}
	}
	// Of 65 simulated numbers 40 are predicted, 12 fitted, and 4 stand in published rows.
	if v.Cells.Judged() != paperJudged+65-12-4 || len(v.Cells) != paperCells+130 || !v.Passed() {
		t.Errorf("%d cells, %s", len(v.Cells), v.Summary())
	}
}

// TestClassesOfCosts says which numbers of the runs the fleet's fit has seen
// (data/fleet/README.md), and which follow from our own replay.
func TestClassesOfCosts(t *testing.T) {
	fitted := []string{"useful_flops", "actual_flops", "uniform_equivalent_time"}
	replayed := []string{"continuous_budget", "rounded_over_continuous", "extra_budget_kept", "budgets_differing"}
	for _, c := range fleetStudy(t).verdicts(t).Cells {
		if c.Table != paper.Compute && c.Table != paper.Time && c.Table != paper.Benefit {
			continue
		}
		provenance, _, _ := strings.Cut(c.Row, " ")
		want := map[string]agreement.Class{measurement.Published: agreement.Reaggregated, measurement.Simulated: agreement.Predicted, measurement.Measured: agreement.Measured}[provenance]
		switch {
		case provenance == measurement.Measured:
		case slices.Contains(replayed, c.Column), provenance == measurement.Simulated && c.Column == "rounded_budget":
			want = agreement.Computed
		case provenance == measurement.Simulated && slices.Contains(fitted, c.Column):
			want = agreement.InFit
		}
		if c.Class != want {
			t.Errorf("%s %s %s: %s, want %s", c.Table, c.Row, c.Column, c.Class, want)
		}
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
		agrees, within, near, differs  = agreement.Agrees, agreement.Within, agreement.Near, agreement.Differs
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

		{"too few equivalent budgets differ to tell", benefit, "published all", "budgets_differing", otherBudgets(1), within},
		{"too many equivalent budgets", benefit, "published all", "budgets_differing", otherBudgets(20), differs},

		{"predicted, by less than two s.d.", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.0046), near},
		{"predicted, by more", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", 0.0049), differs},
		{"predicted, by more downwards", time, "simulated b=16", "async_time", cost(simulated, 16, "async_time", -0.0049), differs},
		{"predicted without spread", time, "simulated b=8", "sync_time", cost(simulated, 8, "sync_time", 0.001), differs},
		{"a predicted benefit", benefit, "simulated b=32", "delta", cost(simulated, 32, "delta", 0.03), differs},
		{"no time lost is no accepted value", time, "simulated b=64", "async_time", cost(simulated, 64, "async_time", -0.0656), differs},
		{"nor is no waste", compute, "simulated b=64", "wasted_flops", cost(simulated, 64, "wasted_flops", -0.00025), differs},
		{"more extra rollouts", compute, "simulated b=32", "extra_rollouts", cost(simulated, 32, "extra_rollouts", 0.0012), differs},
		{"fitted", compute, "simulated b=16", "useful_flops", cost(simulated, 16, "useful_flops", 0.05), agreement.Shown},
		{"simulated rounded budgets have noise", benefit, "simulated b=64", "rounded_budget", cost(simulated, 64, "rounded_budget", 0.06), within},
		{"and are computed", benefit, "simulated b=64", "rounded_budget", cost(simulated, 64, "rounded_budget", 0.9), differs},
		{"a simulated row is gone", time, "simulated b=16", "delta_time", withoutRuns(simulated, 16), agreement.Absent},
		{"a simulated profile is gone", time, "simulated b=16", "delta_time", unrun(simulated), agreement.Absent},
		{"measured numbers are not judged", time, "measured b=8", "sync_time", cost(measured, 8, "sync_time", 9), agreement.Shown},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := c.check(t, fleetStudy(t)).Cells.Of(c.table)
			if fails := c.want == agreement.Differs || c.want == agreement.Absent; !fails && cells.Agreeing() != cells.Judged() {
				t.Errorf("a number beside it fails: %s", cells.Tally())
			}
		})
	}
}
