package replay_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
	"speceval/stages/replay"
)

// withWorked is the policies with the one of docs/policies.md, after EN.
var withWorked = slices.Insert(slices.Clone(policy.All), 2, policytest.Disagreement)

// TestThePolicyOfThePageIsOneLine runs the stage with one policy more in the list:
// its rows are in every file, in their place, and no other row has changed.
func TestThePolicyOfThePageIsOneLine(t *testing.T) {
	without, with := t.TempDir(), t.TempDir()
	s := searching(false)
	dagtest.Run(t, []dag.Stage{stage(t, s, profiles())}, without)
	more, err := replay.StageOf(s, pair.AllKnown(profiles()), withWorked)
	if err != nil {
		t.Fatal(err)
	}
	dagtest.Run(t, []dag.Stage{more}, with)
	if stale := planned(t, without, more); !slices.Contains(stale, "designs") || slices.ContainsFunc(stale, func(id string) bool { return strings.HasPrefix(id, "design/") }) {
		t.Errorf("the new policy makes %v run again, want the selection of designs and what follows from it", stale)
	}
	budgets, made := len(s.Budgets), len(profiles())
	addsRows(t, without, with, variance.DesignsFile, 2*budgets, func(d variance.Design) string { return d.Policy })
	for _, file := range []string{variance.TwoStageFile, variance.RatiosFile} {
		addsRows(t, without, with, file, made*budgets, func(r variance.Ratio) string { return r.Policy })
	}
	addsRows(t, without, with, variance.DifferencesFile, made*budgets, func(d variance.Difference) string { return d.Policy })
	addsRows(t, without, with, variance.ErrorsFile, made*budgets, func(e variance.ProfileError) string { return e.Policy })

	var order []string
	ratios := read[variance.Ratio](t, with, variance.RatiosFile)
	for _, r := range ratios {
		if r.Profile() != ratios[0].Profile() || r.Budget != ratios[0].Budget {
			break
		}
		if policy.All.Find(r.Key()) == nil || policy.All.Find(r.Key()).PaperTable > 0 {
			order = append(order, r.Policy)
		}
		if r.Policy == policytest.Disagreement.Name && !(0 < r.VarianceRatio && r.VarianceRatio < 2 && r.RatioSE >= 0 && r.M != nil && r.W != nil) {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{"oracle", "tuned_en", "disagreement", "tuned_ibn", "hbn", "ts_neyman"}; !slices.Equal(order, want) {
		t.Errorf("policies of the first profile %v, want %v", order, want)
	}
}

// addsRows wants so many rows of the page's policy in the second folder's file,
// and otherwise those of the first's.
func addsRows[T any](t *testing.T, without, with, file string, more int, name func(T) string) {
	t.Helper()
	all := read[T](t, with, file)
	others := slices.DeleteFunc(slices.Clone(all), func(row T) bool { return name(row) == policytest.Disagreement.Name })
	if len(all) != len(others)+more {
		t.Errorf("%s has %d rows of it, want %d", file, len(all)-len(others), more)
	}
	if before := read[T](t, without, file); !reflect.DeepEqual(others, before) {
		t.Errorf("%s: the rows of other policies have changed", file)
	}
}
