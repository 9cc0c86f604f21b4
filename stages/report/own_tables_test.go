package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"speceval/internal/variance"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
)

// madeErrors makes up the errors that come from the profiles: of every ratio but
// the Oracle's the same, of that a smaller one.
func madeErrors(ratios []variance.Ratio) []variance.ProfileError {
	var all []variance.ProfileError
	for _, r := range ratios {
		e := variance.ProfileError{
			Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget, Policy: r.Policy, Alpha: r.Alpha,
			ProfileSE: 0.006, Shift: 0.001, ShiftSE: 0.0003, Resamples: 100, Draws: 512,
		}
		if r.Policy == variance.Oracle {
			e.ProfileSE, e.Draws = 0.002, 0
		}
		all = append(all, e)
	}
	return all
}

// madeDifferences makes up the differences to HBN, with a tenth of the noise that
// draws of their own would leave.
func madeDifferences(ratios []variance.Ratio) []variance.Difference {
	hbn := map[entry]variance.Ratio{}
	for _, r := range ratios {
		if r.Policy == variance.HBN {
			hbn[entry{profile: name(r), budget: r.Budget}] = r
		}
	}
	var all []variance.Difference
	for _, r := range ratios {
		if h, ok := hbn[entry{profile: name(r), budget: r.Budget}]; ok && r.Policy != variance.HBN {
			all = append(all, variance.Difference{
				Benchmark: r.Benchmark, Model: r.Model, NTasks: r.NTasks, Budget: r.Budget, Policy: r.Policy, Alpha: r.Alpha,
				Difference: r.VarianceRatio - h.VarianceRatio, DifferenceSE: math.Hypot(r.RatioSE, h.RatioSE) / 10, Draws: r.Draws,
			})
		}
	}
	return all
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestErrorsBySource(t *testing.T) {
	s := paperStudy(t)
	rows, err := errorRows(s.Results, madeErrors(s.Ratios))
	if err != nil {
		t.Fatal(err)
	}
	means, err := meanRows(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4*4 {
		t.Fatalf("%d rows, want 4 policies at 4 budgets", len(rows))
	}
	for i, r := range rows {
		where := r.policy + " " + budgetCell(r.budget).Exact()
		mean := means[i/4].means[r.policy]
		if r.mean != mean.Value {
			t.Errorf("%s: mean %v is not the %v of Table 1", where, r.mean, mean.Value)
		}
		near(t, where+": both Monte Carlo errors", math.Hypot(r.replay, r.design), mean.SE)
		want := 0.006 / math.Sqrt(107)
		if r.policy == variance.Oracle {
			want = 0.002 / math.Sqrt(107)
		}
		near(t, where+": error from profiles", r.profiles.se, want)
		near(t, where+": shift", r.profiles.shift, 0.001)
		near(t, where+": its error", r.profiles.shiftSE, 0.0003/math.Sqrt(107))
		if r.policy == variance.HBN {
			near(t, where+": replay", r.replay, replaySE/math.Sqrt(107))
			if r.design == 0 {
				t.Errorf("%s: no error from the design", where)
			}
		}
	}
}

// A policy of which some profiles were not redrawn has no error from profiles,
// rather than one of fewer.
func TestProfilesThatWereNotRedrawnLeaveTheErrorOpen(t *testing.T) {
	s := paperStudy(t)
	errors := madeErrors(s.Ratios)
	for i, e := range errors {
		if e.Policy == variance.HBN && e.Budget == 16 {
			errors = append(errors[:i:i], errors[i+1:]...)
			break
		}
	}
	rows, err := errorRows(s.Results, errors)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if open := r.profiles == nil; open != (r.policy == variance.HBN && r.budget == 16) {
			t.Errorf("%s at %d: without an error from profiles: %v", r.policy, r.budget, open)
		}
	}
	if sheet, err := errorTable(s.Results, nil); err != nil || len(sheet.Data.Rows) != 16 || sheet.Data.Rows[3][5].Exact() != "" {
		t.Errorf("without any: %v", err)
	}
}

func TestDifferencesAreHBNsGains(t *testing.T) {
	s := paperStudy(t)
	rows, err := pairedRows(s.Ratios, madeDifferences(s.Ratios))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3*4 {
		t.Fatalf("%d rows, want 3 policies at 4 budgets", len(rows))
	}
	for _, r := range rows {
		mean := func(policy string) (sum float64) {
			for _, x := range pick(s.Ratios, policy, r.budget) {
				sum += x.VarianceRatio / 107
			}
			return sum
		}
		near(t, r.policy, r.difference.Value, mean(r.policy)-mean(variance.HBN))
		near(t, r.policy+": paired over independent", r.difference.SE, r.independent/10)
		switch {
		case r.profiles != 107 || r.better+r.worse > 107:
			t.Errorf("%s: better on %d, worse on %d of %d", r.policy, r.better, r.worse, r.profiles)
		case r.policy == variance.Oracle && r.budget < 64 && (r.worse != 107 || r.better != 0):
			t.Errorf("HBN is worse than the Oracle on %d profiles, better on %d", r.worse, r.better)
		case r.policy == variance.TunedEN && r.better < 100:
			t.Errorf("HBN is better than EN on %d profiles", r.better)
		}
	}
}

// A difference that is 1.96 of its errors or less counts for neither side.
func TestDifferencesWithinNoiseCountForNobody(t *testing.T) {
	s := smallStudy()
	made := madeDifferences(s.Ratios)
	for i := range made {
		if made[i].Policy == variance.TunedEN {
			made[i].Difference, made[i].DifferenceSE = []float64{0.00195, 0.00197, -0.00197}[i/2%3], 0.001
		}
	}
	rows, err := pairedRows(s.Ratios, made)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.policy == variance.TunedEN && (r.better != 1 || r.worse != 1 || r.profiles != 3) {
			t.Errorf("b = %d: better %d, worse %d of %d", r.budget, r.better, r.worse, r.profiles)
		}
	}
}

func TestDifferencesOfFewerProfilesAreAnError(t *testing.T) {
	s := paperStudy(t)
	made := madeDifferences(s.Ratios)
	if _, err := pairedRows(s.Ratios, made[1:]); err == nil || !strings.Contains(err.Error(), "oracle has 106 differences to HBN at budget 8, but 107 ratios; run the replay stage again") {
		t.Errorf("error %v", err)
	}
	if rows, err := pairedRows(s.Ratios, nil); err != nil || len(rows) != 0 {
		t.Errorf("without differences: %d rows, %v", len(rows), err)
	}
}

func TestEquivalentBudgets(t *testing.T) {
	s := paperStudy(t)
	all, err := equivalents(s.Results)
	if err != nil {
		t.Fatal(err)
	}
	var tasks, sum float64
	for _, e := range all {
		if e.hbn.Budget != 16 {
			continue
		}
		tasks += float64(e.hbn.NTasks)
		sum += float64(e.hbn.NTasks) * e.budget.Value
		if e.rounded != int32(e.budget.Value) {
			t.Errorf("%s: %v is rounded to %d", name(e.hbn), e.budget.Value, e.rounded)
		}
		se, err := totalSE(newSchedules(s.Designs), e.hbn)
		if err != nil {
			t.Fatal(err)
		}
		up, down := 16/(e.hbn.VarianceRatio+se), 16/(e.hbn.VarianceRatio-se)
		if math.Abs(e.budget.SE/((down-up)/2)-1) > 1e-4 {
			t.Errorf("%s: error %v of b/r, but between %v and %v one way and the other", name(e.hbn), e.budget.SE, up, down)
		}
	}
	if len(all) != 4*107 || math.Abs(sum/tasks-continuousBudgets[16]) > 1e-6 {
		t.Errorf("%d budgets, their mean %v is not the %v of Table 4", len(all), sum/tasks, continuousBudgets[16])
	}
}

// refused stores good rows and a spoiled one, and wants an error that names it.
func refused[T any](t *testing.T, file string, good []T, spoil func(*T), read func(locate) ([]T, error)) {
	t.Helper()
	dir := t.TempDir()
	rows := slices.Clone(good[:5])
	spoil(&rows[4])
	write(t, filepath.Join(dir, filepath.FromSlash(file)), rows)
	if _, err := read(folder(dir)); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), file+": row 5: ") || !strings.Contains(err.Error(), "run the replay stage again") {
		t.Errorf("%s: error %v", file, err)
	}
}

func TestRowsThatAreNoErrorOrDifferenceAreNamed(t *testing.T) {
	s := paperStudy(t)
	errors := madeErrors(s.Ratios)
	refused(t, variance.ErrorsFile, errors, func(e *variance.ProfileError) { e.ProfileSE = math.NaN() }, readErrors)
	refused(t, variance.ErrorsFile, errors, func(e *variance.ProfileError) { e.Resamples = 1 }, readErrors)
	refused(t, variance.DifferencesFile, madeDifferences(s.Ratios), func(d *variance.Difference) { d.DifferenceSE = -1 }, readDifferences)
	refused(t, variance.SearchFile, s.Search, func(c *variance.Search) { c.MSESE = -1 }, readSearch)
	refused(t, variance.SearchFile, s.Search, func(c *variance.Search) { c.Draws = 1 }, readSearch)
}

// TestTablesWaitForWhatTheyAreMadeOf makes the report where ratios are stored, but
// neither redrawn profiles nor paired differences.
func TestTablesWaitForWhatTheyAreMadeOf(t *testing.T) {
	s := paperStudy(t)
	dir := t.TempDir()
	stages := []dag.Stage{replayed(s), Stage(settings(t, s))}
	dagtest.Select(t, stages, dir, dag.Selection{Stages: []string{"replay"}})
	for _, file := range []string{variance.ErrorsFile, "manifests/replay/profile_errors.json", variance.DifferencesFile, "manifests/replay/differences.json"} {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			t.Fatal(err)
		}
	}
	dagtest.Select(t, stages, dir, dag.Selection{Stages: []string{"report"}})
	csv := func(base string) string {
		data, err := os.ReadFile(filepath.Join(dir, "tables", base+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if split, paired := csv("error_split"), csv("paired_differences"); !strings.HasSuffix(split, ",,,,\n") || !strings.HasSuffix(paired, "profiles\n") {
		t.Errorf("made of what is not there:\n%s%s", split, paired)
	}
	dagtest.Run(t, stages, dir)
	if split, paired := csv("error_split"), csv("paired_differences"); strings.Contains(split, ",,") || strings.HasSuffix(paired, "profiles\n") {
		t.Errorf("what they are made of has come unnoticed:\n%s%s", split, paired)
	}
}

func TestTheFewestResamplesAreTold(t *testing.T) {
	ratios := pick(paperStudy(t).Ratios, variance.HBN, 8)
	errors := madeErrors(ratios)
	errors[1].Resamples = 7
	if p := newProfileErrors(errors).over(ratios, equalWeights(len(ratios))); p == nil || p.resamples != 7 {
		t.Errorf("%+v, want 7 resamples", p)
	}
	if p := newProfileErrors(errors[1:]).over(ratios, equalWeights(len(ratios))); p != nil {
		t.Errorf("%+v, though a profile was not redrawn", p)
	}
}

// TestTheMeanEquivalentIsByTasks has b/r = 20 on 10 tasks and 10 on 30.
func TestTheMeanEquivalentIsByTasks(t *testing.T) {
	near(t, "the mean", meanEquivalent([]variance.Ratio{{NTasks: 10, Budget: 8, VarianceRatio: 0.4}, {NTasks: 30, Budget: 8, VarianceRatio: 0.8}}), 12.5)
}

// TestTiesAreAmongFinalists has a candidate that is as good, but was left behind
// in the race, on fewer trajectories.
func TestTiesAreAmongFinalists(t *testing.T) {
	s := paperStudy(t)
	best, _ := selectedSearch(s.Search, 8)
	finalist, raced := best, best
	finalist.Selected, finalist.M0 = false, 3
	raced.Selected, raced.Finalist, raced.M0 = false, false, 4
	best.Finalist, finalist.Finalist = true, true
	rows, err := tsRows(s.Results, []variance.Search{best, finalist, raced})
	if want := fmt.Sprintf("(%g, 3)", best.Alpha); err != nil || len(rows) != 1 || rows[0].searched != 3 || !slices.Equal(rows[0].ties, []string{want}) {
		t.Errorf("%+v, %v; want the tie %s", rows, err, want)
	}
}
