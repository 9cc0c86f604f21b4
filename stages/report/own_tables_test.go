package report_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/results/variance"
	"speceval/stages/report/tables"
)

func TestErrorsBySource(t *testing.T) {
	s := paperStudy(t)
	split, means := s.sheet(t, tables.Errors), s.sheet(t, tables.Variance)
	if split.Rows != 4*4 {
		t.Fatalf("%d rows, want 4 policies at 4 budgets", split.Rows)
	}
	for i, label := range split.Labels() {
		of := func(column string) float64 { return number(t, split, i, column) }
		name := split.Column("policy").Cell(i).Exact()
		if of("variance_ratio") != number(t, means, i/4, name) {
			t.Errorf("%s: the mean is not that of Table 1", label)
		}
		if name == policy.Oracle.Name {
			near(t, label+": Monte Carlo error", math.Hypot(of("replay_se"), of("design_se")), 0)
			near(t, label+": error from profiles", of("profile_se"), 0.002/math.Sqrt(107))
			continue
		}
		near(t, label+": both Monte Carlo errors", math.Hypot(of("replay_se"), of("design_se")), number(t, means, i/4, name+"_se"))
		near(t, label+": error from profiles", of("profile_se"), 0.006/math.Sqrt(107))
		near(t, label+": shift", of("shift"), 0.001)
		near(t, label+": its error", of("shift_se"), 0.0003/math.Sqrt(107))
		near(t, label+": replay", of("replay_se"), replaySE/math.Sqrt(107))
		if name == policy.HBN.Name && of("design_se") == 0 {
			t.Errorf("%s: no error from the design", label)
		}
	}
}

// A policy of which some profiles were not redrawn has no error from profiles,
// rather than one of fewer.
func TestProfilesThatWereNotRedrawnLeaveTheErrorOpen(t *testing.T) {
	s := paperStudy(t)
	s.errors = madeErrors(s.ratios)
	s.errors[4*4].Resamples = 7 // of the Oracle at b = 8, on the second profile
	i := slices.IndexFunc(s.errors, func(e variance.ProfileError) bool { return e.Policy == policy.HBN.Name && e.Budget == 16 })
	s.errors = slices.Delete(s.errors, i, i+1)
	split := s.sheet(t, tables.Errors)
	for i, label := range split.Labels() {
		for _, column := range []string{"profile_se", "shift", "shift_se", "resamples"} {
			if open := split.Column(column).Cell(i).IsMissing(); open != (label == "b=16 hbn") {
				t.Errorf("%s: without %s: %v", label, column, open)
			}
		}
	}
	if number(t, split, row(t, split, "b=8 oracle"), "resamples") != 7 || number(t, split, row(t, split, "b=16 oracle"), "resamples") != 100 {
		t.Error("the fewest resamples are not told")
	}
	s.errors = []variance.ProfileError{}
	if split = s.sheet(t, tables.Errors); split.Rows != 16 || !split.Column("profile_se").Cell(3).IsMissing() {
		t.Errorf("without any: %d rows", split.Rows)
	}
}

func TestDifferencesAreHBNsGains(t *testing.T) {
	s := paperStudy(t)
	paired := s.sheet(t, tables.Paired)
	if paired.Rows != 3*4 {
		t.Fatalf("%d rows, want 3 policies at 4 budgets", paired.Rows)
	}
	for i, label := range paired.Labels() {
		of := func(column string) float64 { return number(t, paired, i, column) }
		p, budget := policy.All.Find(policy.Key{Name: paired.Column("policy").Cell(i).Exact(), Donors: paired.Column("donors").Cell(i).Exact()}), int32(of("budget"))
		mean := func(p *policy.Policy) (sum float64) {
			for _, r := range variance.Pick(s.ratios, p, budget) {
				sum += r.VarianceRatio / 107
			}
			return sum
		}
		near(t, label, of("difference"), mean(p)-mean(policy.HBN))
		near(t, label+": paired over independent", of("difference_se"), of("independent_se")/10)
		if of("profiles") != 107 || p == policy.Oracle && budget < 64 && (of("profiles_worse") != 107 || of("profiles_better") != 0) {
			t.Errorf("%s: better on %v, worse on %v of %v profiles", label, of("profiles_better"), of("profiles_worse"), of("profiles"))
		}
	}
}

// A difference that is 1.96 of its errors or less counts for neither side.
func TestDifferencesWithinNoiseCountForNeitherSide(t *testing.T) {
	s := smallStudy()
	s.differences = madeDifferences(s.ratios)
	for i := range s.differences {
		if d := &s.differences[i]; d.Policy == policy.EN.Name {
			d.Difference, d.DifferenceSE = []float64{0.00195, 0.00197, -0.00197}[i/2%3], 0.001
		}
	}
	paired := s.sheet(t, tables.Paired)
	for _, label := range []string{"b=8 tuned_en", "b=12 tuned_en"} {
		i := row(t, paired, label)
		if number(t, paired, i, "profiles_better") != 1 || number(t, paired, i, "profiles_worse") != 1 || number(t, paired, i, "profiles") != 3 {
			t.Errorf("%s: %s", label, lines(paired)[i])
		}
	}
}

func TestEquivalentBudgets(t *testing.T) {
	s := paperStudy(t)
	worth := s.sheet(t, tables.Equivalents)
	designs := variance.NewSchedules(s.designs)
	var hbn []variance.Ratio
	for _, r := range s.ratios {
		if r.Policy == policy.HBN.Name {
			hbn = append(hbn, r)
		}
	}
	if worth.Rows != len(hbn) || len(hbn) != 4*107 {
		t.Fatalf("%d budgets, want %d", worth.Rows, len(hbn))
	}
	for i, r := range hbn {
		budget := number(t, worth, i, "equivalent_budget")
		if budget != float64(r.Budget)/r.VarianceRatio || number(t, worth, i, "rounded") != math.Floor(budget) {
			t.Errorf("%s", lines(worth)[i])
		}
		se := must(variance.TotalSE(designs, r))
		up, down := float64(r.Budget)/(r.VarianceRatio+se), float64(r.Budget)/(r.VarianceRatio-se)
		if got := number(t, worth, i, "equivalent_se"); math.Abs(got/((down-up)/2)-1) > 1e-4 {
			t.Errorf("%s: error %v of b/r, but between %v and %v one way and the other", r.Profile(), got, up, down)
		}
	}
}

// TestTiesAreWhatTheSearchCannotTellApart has a candidate that is no worse beyond
// noise, and one that is.
func TestTiesAreWhatTheSearchCannotTellApart(t *testing.T) {
	s := paperStudy(t)
	best := s.search[0] // at b = 8
	near, far := best, best
	near.Selected, near.M0, near.Excess, near.ExcessSE = false, 3, 0.0029, 0.001
	far.Selected, far.M0, far.Excess, far.ExcessSE = false, 4, 0.0031, 0.001
	s.search = []variance.Search{best, near, far}
	sheet := s.sheet(t, tables.TSNeyman)
	if sheet.Rows != 1 || number(t, sheet, 0, "candidates") != 3 || number(t, sheet, 0, "ties") != 1 {
		t.Errorf("%q, want one tie of three candidates", lines(sheet))
	}
	if notes := strings.Join(sheet.Print().Notes, "\n"); !strings.Contains(notes, "as good within noise: (0.07, 3)") {
		t.Errorf("notes %s", notes)
	}
}
