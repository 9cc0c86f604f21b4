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
		its, d := hbn[at{r.Model, r.Budget}], differences[i]
		draws, noise, most := its.Draws, 1e-12, r.RatioSE+its.RatioSE // as standard errors of any dependence add up
		if policy.All.Find(r.Key()).InStages != nil {
			draws, most = r.Draws, r.RatioSE+3*its.RatioSE
		}
		if draws != its.Draws { // the two differ by the draws that are missing
			noise += 5 * its.RatioSE * math.Sqrt(float64(its.Draws)/float64(draws))
		}
		if !reflect.DeepEqual(d.Subject, r.Subject) || d.Draws != draws || math.Abs(d.Difference-(r.VarianceRatio-its.VarianceRatio)) > noise || !(d.DifferenceSE >= 0 && d.DifferenceSE <= most+1e-12) {
			t.Errorf("difference %+v of %+v and HBN's %+v", d, r, its)
		}
	}
}

// TestStageLeavesProfileErrors wants an error for each ratio
// of the two-stage policies and of those in stages whose donors are not drawn, in
// their order.
func TestStageLeavesProfileErrors(t *testing.T) {
	s := small()
	dir := ran(t, s, profiles())
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

// TestNoUnitWithoutItsProfiles has case studies of a profile that is not evaluated and of a
// budget that is not replayed, and no model with two benchmarks; a profile that turns out
// degenerate has no estimates.
func TestNoUnitWithoutItsProfiles(t *testing.T) {
	for _, study := range []replay.CaseStudy{{Profile: "made__model=z", Budget: 6, Repetitions: 5}, {Profile: "made__model=c", Budget: 5, Repetitions: 5}} {
		s := small()
		s.CaseStudy = study
		for _, u := range stage(t, s, profiles()).Units {
			if u.ID == "case_study" || u.ID == "suite" {
				t.Errorf("%+v has the unit %s", study, u.ID)
			}
		}
	}
	s := small()
	s.CaseStudy.Profile = "made__model=sure4"
	dir := ran(t, s, append(profiles(), degenerate(4)))
	if rows := read[variance.Estimates](t, dir, variance.EstimatesFile); len(rows) != 0 {
		t.Errorf("%d bins of a degenerate profile", len(rows))
	}
}

// TestResultsFollowFromTheSeedAlone runs the units once in their order and once
// in the opposite one.
func TestResultsFollowFromTheSeedAlone(t *testing.T) {
	one, other := ran(t, small(), profiles()), t.TempDir()
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
