package replay_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/policytest"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/replay"
)

// searching is small with a search for TS-Neyman. In a race, 0.05 is between those that run.
func searching(exhaustive bool) replay.Settings {
	s := small()
	s.TSNeyman = replay.TSNeyman{
		Exhaustive: exhaustive, Alphas: []float64{0.02, 0.04, 0.05, 0.07, 0.11, 0.2, 0.5}, WarmStarts: []int{2, 5},
		Draws: 6, RaceDraws: 6, FinalDraws: 20, Finalists: 1,
	}
	if exhaustive {
		s.TSNeyman.Alphas = []float64{0.04, 0.5}
	}
	base := s
	s.Slice = func(keys ...string) map[string]string { return sliceOf(base, keys) }
	return s
}

func TestTheSearchLeavesItsCandidatesAndRatios(t *testing.T) {
	dir := ran(t, searching(false), profiles())
	search := read[variance.Search](t, dir, variance.SearchFile)
	type candidate struct {
		Budget int32   `parquet:"budget"`
		Alpha  float64 `parquet:"alpha"`
		M0     int32   `parquet:"m0"`
	}
	runners := read[candidate](t, dir, "replay/parts/ts_neyman/runners.parquet")
	finalists := read[candidate](t, dir, "replay/parts/ts_neyman/finalists.parquet")
	if len(runners) == 0 || len(runners) == len(search) {
		t.Fatalf("%d of %d candidates ran the whole race, want some out", len(runners), len(search))
	}
	var feasible []int32
	selected := map[int32]variance.Search{}
	for _, c := range search {
		feasible = append(feasible, c.Budget)
		at := candidate{c.Budget, c.Alpha, c.M0}
		want := int32(2)
		switch {
		case c.Alpha == 0.05 && !slices.Contains(finalists, at):
			want = 0 // by the curve alone
		case slices.Contains(finalists, at):
			want = 20
		case slices.Contains(runners, at):
			want = 6
		}
		if want *= 100 / 5 * 6 / c.Budget; c.Draws != want || c.Finalist != slices.Contains(finalists, at) {
			t.Errorf("%+v: want %d trajectories, finalists are %v", c, want, finalists)
		}
		if c.Selected {
			selected[c.Budget] = c
		}
	}
	// of the prior strength that is out at once, the first warm start alone has run
	if want := append(slices.Repeat([]int32{3}, 7), slices.Repeat([]int32{6}, 13)...); !slices.Equal(feasible, want) || len(selected) != 2 {
		t.Errorf("candidates at budgets %v, want %v; %d selected", feasible, want, len(selected))
	}
	sums := map[int32]float64{}
	for _, r := range read[variance.Ratio](t, dir, variance.RatiosFile) {
		if r.Policy == policy.TS.Name {
			best := selected[r.Budget]
			sums[r.Budget] += r.VarianceRatio / float64(len(profiles()))
			if *r.Alpha != best.Alpha || *r.M != best.M0 || r.W != nil || r.Draws != 20*100/r.NTasks*6/r.Budget {
				t.Errorf("%+v is not of the selected candidate %+v", r, best)
			}
		}
	}
	for b, best := range selected {
		if d := sums[b] - best.MSE; d > 1e-12 || d < -1e-12 {
			t.Errorf("b = %d: the mean of the ratios is %v, of the search %v", b, sums[b], best.MSE)
		}
	}
}

// TestEveryPriorStrengthIsACandidate has strengths that are close together, and a last one that is
// close to the one before it.
func TestEveryPriorStrengthIsACandidate(t *testing.T) {
	for _, alphas := range [][]float64{{0.1}, {0.1, 0.12}, {0.1, 0.12, 0.14}, {0.05, 0.08, 0.12, 0.15}} {
		s := searching(false)
		s.TSNeyman.Alphas, s.TSNeyman.WarmStarts, s.TSNeyman.Finalists = alphas, []int{2}, len(alphas)
		dir := ran(t, s, profiles())
		var got []float64
		for _, c := range read[variance.Search](t, dir, variance.SearchFile) {
			if c.Budget == 6 && c.Finalist {
				got = append(got, c.Alpha)
			}
		}
		if !slices.Equal(got, alphas) {
			t.Errorf("%v: finalists %v, want all", alphas, got)
		}
	}
}

// TestExhaustiveSearchHasTheTrajectoriesOfTheRace runs as many trajectories of
// every candidate as the race first does of four tasks: the same ones.
func TestExhaustiveSearchHasTheTrajectoriesOfTheRace(t *testing.T) {
	race, every := searching(false), searching(true)
	const draws = 2 * 100 / 4
	race.TSNeyman.FinalDraws, every.TSNeyman.Draws = 2, draws
	four := slices.DeleteFunc(profiles(), func(p profile.Profile) bool { return p.N() != 4 })
	raced, all := ran(t, race, four), ran(t, every, four)
	compared := 0
	for _, c := range read[variance.Search](t, all, variance.SearchFile) {
		if !c.Finalist || c.Draws != draws {
			t.Errorf("%+v has not run all trajectories", c)
		}
		for _, r := range read[variance.Search](t, raced, variance.SearchFile) {
			if r.Budget != 6 || c.Budget != 6 || r.Alpha != c.Alpha || r.M0 != c.M0 {
				continue // of a smaller budget the race has more
			}
			if r.Finalist && r.MSE == c.MSE {
				t.Errorf("%+v was judged by the trajectories of the race again", r)
			}
			if r.Draws == draws && !r.Finalist { // out after the first
				compared++
				for _, d := range []float64{r.MSE - c.MSE, r.MSESE - c.MSESE, r.Raw - c.Raw, r.RawSE - c.RawSE} {
					if math.Abs(d) > 1e-12 { // of sums in another order
						t.Errorf("exhaustively %+v, raced %+v", c, r)
					}
				}
			}
		}
	}
	if compared == 0 {
		t.Error("nothing compared")
	}
}

// TestThePolicyOfThePageIsOneLine runs the stage with one policy more in the list:
// its rows are in every file, in their place, and no other row has changed.
func TestThePolicyOfThePageIsOneLine(t *testing.T) {
	s := searching(false)
	without, with := ran(t, s, profiles()), t.TempDir()
	policytest.Replace(t, slices.Insert(slices.Clone(policy.All), 2, policytest.Disagreement))
	more := stage(t, s, profiles())
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
		if r.Policy == policytest.Disagreement.Name || policy.All.Find(r.Key()).PaperTable > 0 {
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
