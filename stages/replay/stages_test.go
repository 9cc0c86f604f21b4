package replay

import (
	"math"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

// TestInTwoStagesItIsHBN replays a policy that is HBN by another way, in stages of
// which there are two: on the same pilots the two differ by the nodes that the one
// leaves out.
func TestInTwoStagesItIsHBN(t *testing.T) {
	again := &policy.Policy{
		Name: "again", Donors: policy.None, InStages: &policy.InStages{After: 1}, Design: policy.Design{As: policy.HBN},
	}
	s := paper
	s.Draws, s.Replicates, s.Budgets = 300, 2, []int{8, 16}
	s.Slice = func(...string) map[string]string { return map[string]string{} }
	dir := t.TempDir()
	st, err := stageOf(s, []pair.Pair{pair.Known(benchProfile(30))}, policy.List{policy.HBN, again})
	if err != nil {
		t.Fatal(err)
	}
	dagtest.Run(t, []dag.Stage{st}, dir)
	rows, _, err := rowfile.ReadFile[variance.Difference](dir + "/" + variance.DifferencesFile)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d differences, %v", len(rows), err)
	}
	for _, d := range rows {
		if math.Abs(d.Difference) > 1e-3 || d.DifferenceSE > 1e-3 {
			t.Errorf("b = %d: %v ± %v from HBN", d.Budget, d.Difference, d.DifferenceSE)
		}
	}
}

// TestDonorsAreNeverTheProfilesOwnCounts has the donors of two models on a benchmark,
// with tasks that only one of them has.
func TestDonorsAreNeverTheProfilesOwnCounts(t *testing.T) {
	of := func(benchmark, model string, ids string, counts ...int) profile.Profile {
		return profile.Profile{Benchmark: benchmark, Model: model, TestedK: 64, TaskIDs: strings.Fields(ids), PassCounts: counts}
	}
	own, other := of("q", "a", "x y z", 1, 2, 3), of("q", "b", "z w x", 30, 40, 50)
	random := seed.Root(1).Stream()
	all, err := policy.Siblings.Count(own, []profile.Profile{other}, &random)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if d := all[0]; d.Passes[0] != 50 || d.Passes[1] != 0 || d.Passes[2] != 30 || d.Rollouts[0] != 64 || d.Rollouts[1] != 0 {
		t.Errorf("the donor is %+v", d)
	}
	if all, err = policy.Siblings16.Count(own, []profile.Profile{other}, &random); err != nil || all[0].Rollouts[0] != 16 || all[0].Passes[0] > 16 || all[0].Rollouts[1] != 0 {
		t.Errorf("drawn anew it is %+v, %v", all, err)
	}
	if all, err = policy.Earlier64.Count(own, []profile.Profile{own}, &random); err != nil || all[0].Rollouts[1] != 64 {
		t.Errorf("an earlier evaluation is %+v, %v", all, err)
	}
	for _, known := range []*policy.Donors{policy.Siblings, policy.Siblings16} {
		if _, err := known.Count(own, []profile.Profile{own}, &random); err == nil || !strings.Contains(err.Error(), "cannot be a donor of itself") {
			t.Errorf("%s: a profile is its own sibling: %v", known.Name, err)
		}
	}
	if _, err := policy.Siblings.Count(own, []profile.Profile{of("r", "b", "x", 1)}, &random); err == nil || !strings.Contains(err.Error(), "another benchmark") {
		t.Errorf("a donor of another benchmark: %v", err)
	}
}

// TestFewTasksAndNoSiblings replays profiles of one and two tasks, one of which has no
// siblings, at budgets that are too small for the stages.
func TestFewTasksAndNoSiblings(t *testing.T) {
	s := paper
	s.Draws, s.Replicates, s.Budgets, s.Alphas, s.Resamples, s.ResampleDraws = 40, 2, []int{2, 3}, []float64{0.1}, 4, 4
	s.Slice = func(...string) map[string]string { return map[string]string{} }
	one := profile.Profile{Benchmark: "one", Model: "m", TestedK: 8, TaskIDs: []string{"a"}, PassCounts: []int{3}}
	two := profile.Profile{Benchmark: "two", Model: "m", TestedK: 8, TaskIDs: []string{"a", "b"}, PassCounts: []int{3, 8}}
	sure := profile.Profile{Benchmark: "two", Model: "sure", TestedK: 8, TaskIDs: []string{"a", "b"}, PassCounts: []int{0, 8}}
	stranger := profile.Profile{Benchmark: "two", Model: "stranger", TestedK: 8, TaskIDs: []string{"c", "d"}, PassCounts: []int{4, 4}}
	st, err := Stage(s, pair.AllKnown([]profile.Profile{one, two, sure, stranger}))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	dagtest.Run(t, []dag.Stage{st}, dir)
	rows, _, err := rowfile.ReadFile[variance.Ratio](dir + "/" + variance.RatiosFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !(r.VarianceRatio > 0.4 && r.VarianceRatio < 2.6) {
			t.Errorf("%+v", r)
		}
	}
	if want := 3 * 2 * 14; len(rows) != want { // but for TS-Neyman, of which there is no search
		t.Errorf("%d ratios, want %d", len(rows), want)
	}
}
