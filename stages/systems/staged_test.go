package systems_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/measurement"
)

// benefitOf reads the gathered executions of a lab.
func benefitOf(t *testing.T, l *lab) []measurement.Benefit {
	t.Helper()
	return read[measurement.Benefit](t, l.dir, measurement.BenefitFile)
}

// TestTimedPoliciesHaveTheirUniforms looks for every execution of a setting, and for
// the Uniforms that it is held against: each budget once.
func TestTimedPoliciesHaveTheirUniforms(t *testing.T) {
	l := newLab(t)
	l.run()
	rows := benefitOf(t, l)
	count := map[string]int{}
	for _, r := range rows {
		count[fmt.Sprint(r.Policy, " ", r.Donors, " ", r.Strategy, " ", r.Repeat.Repeat, " ", r.ReferenceBudget, " ", r.Budget)]++
	}
	want := map[string]int{}
	for repeat := range 2 { // of three
		for budget, worth := range map[int][]int{4: {5, 6, 7, 8}, 9: {12, 15, 17, 18}} {
			for _, p := range policy.Timed {
				want[fmt.Sprint(p.Name, " ", p.Donors.Name, " hbn-async ", repeat, " ", budget, " ", budget)] = 2 // profiles
			}
			want[fmt.Sprint("uniform none uniform ", repeat, " ", budget, " ", budget)] = 2
			for _, b := range worth {
				want[fmt.Sprint("uniform none uniform-equivalent ", repeat, " ", budget, " ", b)] = 2
			}
		}
	}
	for _, r := range rows { // ⌊b/r⌋ of 0.7, 0.6 and 0.5, as floats have them
		if r.Policy != "uniform" && want[fmt.Sprint("uniform none uniform-equivalent ", r.Repeat.Repeat, " ", r.ReferenceBudget, " ", r.Equivalent)] == 0 {
			t.Errorf("%s %s at %d is held against %d", r.Policy, r.Donors, r.ReferenceBudget, r.Equivalent)
		}
	}
	for key, n := range count {
		if want[key] != n {
			t.Errorf("%d of %s, want %d", n, key, want[key])
		}
	}
	all, err := measurement.BenefitGroups(rows, measurement.Uniform, measurement.HBNAsync, measurement.UniformEquivalent)
	groups := all[policy.Staged.Key()]
	if err != nil || len(groups) != 2 || len(groups[0].Suites) != 2 || len(groups[0].Settings) != 2 {
		t.Fatalf("groups %+v, %v", groups, err)
	}
	for _, r := range read[measurement.Repeat](t, l.dir, measurement.RepeatsFile) {
		if r.Strategy == measurement.Uniform && r.ReferenceBudget == 4 && r.Repeat < 2 {
			if got := groups[0].Suites[r.Repeat][slices.IndexFunc(groups[0].Settings, func(s measurement.Setting) bool { return s.Uniform().Profile() == r.Profile() })].Uniform(); *got != r.Measurement {
				t.Errorf("Uniform's run is %+v, want that of %s: %+v", got, measurement.RepeatsFile, r.Measurement)
			}
		}
	}
}

// TestDrawnDonorsAreDrawnAnewInEveryRepeat looks at the allocations of one setting: the
// rewards are the same in all repeats, so that they differ by what is known alone.
func TestDrawnDonorsAreDrawnAnewInEveryRepeat(t *testing.T) {
	l := newLab(t)
	l.settings.Simulated.Repeats = 6
	l.run()
	allocations := map[string]map[string]bool{}
	for _, r := range read[measurement.PolicyRun](t, l.dir, "systems/runs/stages/benchmark=quiz/model=qwen3_5_4b/budget=9.parquet") {
		if r.Accepted != r.NTasks*r.Budget || r.Time <= 0 || r.UsefulTokens <= 0 {
			t.Errorf("%+v", r)
		}
		if allocations[r.Donors] == nil {
			allocations[r.Donors] = map[string]bool{}
		}
		if r.Strategy == measurement.HBNAsync && r.Policy != policy.Informed[0].Name {
			allocations[r.Donors][r.Allocation] = true
		}
	}
	for _, d := range policy.AllDonors {
		if n := len(allocations[d.Name]); (d.Rollouts == 0) != (n == 1) {
			t.Errorf("with donors %s: %d allocations in 3 repeats", d.Name, n)
		}
	}
}

// TestReplayMustCoverTimedPolicies spoils what the replay says of one.
func TestReplayMustCoverTimedPolicies(t *testing.T) {
	for want, spoil := range map[string]func(l *lab){
		"does not cover quiz__model=qwen2_5_3b with hbn_informed_staged earlier64 at budget 9": func(l *lab) { l.staged = l.staged[:len(l.staged)-1] },
		"hbn_staged has no design":  func(l *lab) { l.staged[0].M = nil },
		"leaves Uniform no rollout": func(l *lab) { l.staged[0].VarianceRatio = 99 },
	} {
		l := newLab(t)
		l.staged = l.stagedRatios()
		spoil(l)
		if err := l.try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
