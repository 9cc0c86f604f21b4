package replay_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/replay"
)

// checkDifferences holds the paired differences beside the ratios: one for each
// ratio that is not HBN's, in their order, of the same designs.
func checkDifferences(t *testing.T, ratios []variance.Ratio, differences []variance.Difference) {
	t.Helper()
	type at struct {
		model  string
		budget int32
	}
	hbn := map[at]variance.Ratio{}
	for _, r := range ratios {
		if r.Policy == policy.HBN.Name {
			hbn[at{r.Model, r.Budget}] = r
		}
	}
	others := slices.DeleteFunc(slices.Clone(ratios), func(r variance.Ratio) bool { return r.Policy == policy.HBN.Name })
	if len(differences) != len(others) {
		t.Fatalf("%d differences to HBN, want %d", len(differences), len(others))
	}
	for i, r := range others {
		its := hbn[at{r.Model, r.Budget}]
		if policy.All.Find(r.Key()).InStages != nil {
			checkStagesDifference(t, differences[i], r, its)
			continue
		}
		want := variance.Difference{
			Subject:    r.Subject,
			Difference: r.VarianceRatio - its.VarianceRatio, DifferenceSE: differences[i].DifferenceSE, Draws: its.Draws,
		}
		if !reflect.DeepEqual(differences[i], want) {
			t.Errorf("difference %+v, want %+v", differences[i], want)
		}
		// The triangle inequality holds for standard errors of any dependence.
		if se := want.DifferenceSE; se > r.RatioSE+its.RatioSE+1e-12 || se < math.Abs(r.RatioSE-its.RatioSE)-1e-12 {
			t.Errorf("%s on %s at b = %d: paired error %v of %v and %v", r.Policy, r.Model, r.Budget, se, r.RatioSE, its.RatioSE)
		}
	}
}

// checkStagesDifference is checkDifferences for policies in stages: on as many draws
// as HBN's, the difference is that of the ratios but for rounding; on fewer, the two
// differ by the draws that are missing.
func checkStagesDifference(t *testing.T, d variance.Difference, r, its variance.Ratio) {
	t.Helper()
	noise := 1e-12
	if r.Draws != its.Draws {
		noise += 5 * its.RatioSE * math.Sqrt(float64(its.Draws)/float64(r.Draws))
	}
	if d.Key() != r.Key() || d.Model != r.Model || d.Budget != r.Budget || d.Draws != r.Draws || math.Abs(d.Difference-(r.VarianceRatio-its.VarianceRatio)) > noise {
		t.Errorf("%s on %s at b = %d: difference %v ± %v of %v ± %v and %v ± %v", r.Key(), r.Model, r.Budget, d.Difference, d.DifferenceSE, r.VarianceRatio, r.RatioSE, its.VarianceRatio, its.RatioSE)
	}
	if !(d.DifferenceSE >= 0) || d.DifferenceSE > r.RatioSE+3*its.RatioSE+1e-12 {
		t.Errorf("%s on %s at b = %d: paired error %v of %v and %v", r.Key(), r.Model, r.Budget, d.DifferenceSE, r.RatioSE, its.RatioSE)
	}
}

// TestStageLeavesProfileErrors runs the stage and wants an error for each ratio
// of the two-stage policies and of those in stages whose donors are not drawn, in
// their order.
func TestStageLeavesProfileErrors(t *testing.T) {
	dir := t.TempDir()
	s := small()
	dagtest.Run(t, []dag.Stage{stage(t, s, profiles())}, dir)
	ratios := slices.DeleteFunc(read[variance.Ratio](t, dir, variance.RatiosFile), func(r variance.Ratio) bool {
		return policy.All.Find(r.Key()).Donors.Rollouts > 0
	})
	errors := read[variance.ProfileError](t, dir, variance.ErrorsFile)
	if len(errors) != len(ratios) {
		t.Fatalf("%d errors for %d ratios", len(errors), len(ratios))
	}
	for i, r := range ratios {
		e := errors[i]
		if e.Benchmark != r.Benchmark || e.Model != r.Model || e.NTasks != r.NTasks || e.Budget != r.Budget || e.Key() != r.Key() || !reflect.DeepEqual(e.Alpha, r.Alpha) {
			t.Errorf("error %+v of ratio %+v", e, r)
		}
		draws, resamples := max(16, int32(s.ResampleDraws)), 0 // two in each of eight groups, at least
		switch {
		case r.Policy == policy.Oracle.Name:
			draws, resamples = 0, s.Resamples
		case policy.All.Find(r.Key()).InStages != nil:
			draws = r.Draws
		}
		if !(e.ProfileSE >= 0 && e.ProfileSE < 1 && e.ShiftSE >= 0 && math.Abs(e.Shift) < 1) || int(e.Resamples) != resamples || e.Draws != draws {
			t.Errorf("error %+v", e)
		}
	}
}

// TestStageLeavesTheCaseStudy holds its rows beside the replayed ratio.
func TestStageLeavesTheCaseStudy(t *testing.T) {
	dir := t.TempDir()
	s := small()
	dagtest.Run(t, []dag.Stage{stage(t, s, profiles())}, dir)
	counts, expected := map[string]int64{}, map[string]float64{}
	var policies []string
	for _, r := range read[variance.Estimates](t, dir, variance.EstimatesFile) {
		counts[r.Policy] += r.Count
		expected[r.Policy] = r.Expected
		if !slices.Contains(policies, r.Policy) {
			policies = append(policies, r.Policy)
		}
		if r.Model != "c" || int(r.Budget) != s.CaseStudy.Budget || int(r.Repetitions) != s.CaseStudy.Repetitions || math.Abs(r.Truth-0.4) > 1e-12 {
			t.Errorf("bin %+v", r)
		}
	}
	if want := []string{policy.Uniform.Name, policy.HBN.Name, policy.Oracle.Name}; !slices.Equal(policies, want) {
		t.Errorf("policies %v, want %v", policies, want)
	}
	for policy, n := range counts {
		if int(n) != s.CaseStudy.Repetitions {
			t.Errorf("%s: %d evaluations in bins, want %d", policy, n, s.CaseStudy.Repetitions)
		}
	}
	for _, r := range read[variance.Ratio](t, dir, variance.TwoStageFile) {
		if r.Model == "c" && int(r.Budget) == s.CaseStudy.Budget && (r.Policy == policy.HBN.Name || r.Policy == policy.Oracle.Name) {
			if got := math.Pow(expected[r.Policy]/expected[policy.Uniform.Name], 2); math.Abs(got-r.VarianceRatio) > 1e-12 {
				t.Errorf("%s: expected variance ratio %v, replayed %v", r.Policy, got, r.VarianceRatio)
			}
		}
	}
}

// TestNoCaseStudyWithoutItsProfile names one that is not evaluated, and a budget
// that is not replayed; a profile that turns out degenerate has no estimates.
func TestNoCaseStudyWithoutItsProfile(t *testing.T) {
	for _, study := range []replay.CaseStudy{{Profile: "made__model=z", Budget: 6, Repetitions: 5}, {Profile: "made__model=c", Budget: 5, Repetitions: 5}} {
		s := small()
		s.CaseStudy = study
		for _, u := range stage(t, s, profiles()).Units {
			if u.ID == "case_study" {
				t.Errorf("%+v has a unit", study)
			}
		}
	}
	dir := t.TempDir()
	s := small()
	s.CaseStudy.Profile = "made__model=sure4"
	dagtest.Run(t, []dag.Stage{stage(t, s, append(profiles(), degenerate(4)))}, dir)
	if rows := read[variance.Estimates](t, dir, variance.EstimatesFile); len(rows) != 0 {
		t.Errorf("%d bins of a degenerate profile", len(rows))
	}
}

// TestResultsFollowFromTheSeedAlone runs the units once in their order and once
// in the opposite one.
func TestResultsFollowFromTheSeedAlone(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	dagtest.Run(t, []dag.Stage{stage(t, small(), profiles())}, one)
	units := stage(t, small(), profiles())
	slices.Reverse(units.Units)
	dagtest.Run(t, []dag.Stage{units}, other)
	compareErrors(t, one, other)
	if a, b := read[variance.Estimates](t, one, variance.EstimatesFile), read[variance.Estimates](t, other, variance.EstimatesFile); !reflect.DeepEqual(a, b) {
		t.Error("estimates depend on the order of units")
	}
}

// compareErrors wants the same differences and errors in two output folders.
func compareErrors(t *testing.T, one, other string) {
	t.Helper()
	if a, b := read[variance.Difference](t, one, variance.DifferencesFile), read[variance.Difference](t, other, variance.DifferencesFile); !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d differences, or others", len(a), len(b))
	}
	if a, b := read[variance.ProfileError](t, one, variance.ErrorsFile), read[variance.ProfileError](t, other, variance.ErrorsFile); !reflect.DeepEqual(a, b) {
		t.Errorf("%d and %d errors of profiles, or others", len(a), len(b))
	}
}
