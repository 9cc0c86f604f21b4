package replay

import (
	"math"
	"slices"
	"strings"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/pilot"
	"speceval/internal/policy/policytest"
	"speceval/internal/policy/seed"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
	"speceval/internal/store/rowfile"
	"speceval/method/neyman"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/pipeline/pair"
)

// TestRedrawnProfilesAreBinomial compares how often each count comes up with
// its binomial probability, given that the profile is not degenerate, at five
// standard errors of each of the twelve frequencies.
func TestRedrawnProfilesAreBinomial(t *testing.T) {
	p := profileOf(5, 1, 0, 4)
	random := seed.Root(31).Stream()
	const draws = 40_000
	seen := map[[2]int]float64{}
	for range draws {
		other := redrawn(p, &random)
		if other.TestedK != 5 || other.PassCounts[1] != 0 || other.VarianceSum() == 0 || other.Name() != p.Name() {
			t.Fatalf("redrawn profile %+v", other)
		}
		seen[[2]int{0, other.PassCounts[0]}]++
		seen[[2]int{1, other.PassCounts[2]}]++
	}
	if !slices.Equal(p.PassCounts, []int{1, 0, 4}) {
		t.Errorf("the profile itself is now %v", p.PassCounts)
	}
	sure := func(chance float64) float64 { return math.Pow(chance, 5) + math.Pow(1-chance, 5) }
	for k := range 6 {
		for task, chance := range []float64{0.2, 0.8} {
			want := policytest.Binomial(5, k, chance)
			if k == 0 || k == 5 { // then the other task must vary
				want *= 1 - sure(chance)
			}
			want /= 1 - sure(0.2)*sure(0.8)
			got := seen[[2]int{task, k}] / draws
			if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/draws) {
				t.Errorf("task %d has count %d with frequency %v, want %v", task, k, got, want)
			}
		}
	}
}

// TestErrorsMatchTheRatiosDerivatives has profiles whose ratio is known exactly, by all
// pilots, at any pass probabilities. Forty runs give mean and error of the estimates: the
// errors are those by the derivatives of the exact ratio at five standard errors, and the
// errors claimed for shifts are those seen, within what forty runs can tell.
func TestErrorsMatchTheRatiosDerivatives(t *testing.T) {
	p := profileOf(4000, 1000, 2200, 0)
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	ratios, byTask := resampleCase(t, p)
	const runs, resamples, draws = 40, 2, 4000
	all := make([][]variance.ProfileError, runs)
	for run := range all {
		if all[run], err = profileErrors(t.Context(), p, ratios, prior, resamples, draws, seed.Root(33).Index(run)); err != nil {
			t.Fatal(err)
		}
	}
	for k, r := range ratios {
		if r.M == nil {
			continue
		}
		square, shift := byDerivatives(t, p, r, byTask[k])
		var squares, shifts, claimed []float64
		for _, rows := range all {
			e := rows[k]
			if e.Policy != r.Policy || e.Budget != r.Budget || e.Alpha != r.Alpha || e.Draws != draws || e.Resamples != 0 {
				t.Fatalf("error %+v of ratio %+v", e, r)
			}
			squares = append(squares, e.ProfileSE*e.ProfileSE)
			shifts = append(shifts, e.Shift)
			claimed = append(claimed, e.ShiftSE*e.ShiftSE)
		}
		mean, se := pilot.MeanAndError(squares)
		if !(math.Abs(mean-square) < 5*se) || se > 0.05*mean {
			t.Errorf("%s: mean square of the error %v ± %v, exactly %v", r.Policy, mean, se, square)
		}
		mean, se = pilot.MeanAndError(shifts)
		if !(math.Abs(mean-shift) < 5*se) || se > 0.1*math.Abs(shift) {
			t.Errorf("%s: shift %v ± %v, exactly %v", r.Policy, mean, se, shift)
		}
		theirs, _ := pilot.MeanAndError(claimed)
		if seen := se * se * runs; theirs < 0.4*seen || theirs > 2.5*seen { // χ² of 39: five standard errors
			t.Errorf("%s: shifts vary with variance %v, claimed %v", r.Policy, seen, theirs)
		}
	}
}

// byDerivatives is the square of a ratio's error and its shift by finite differences of the
// exact ratio.
func byDerivatives(t *testing.T, p profile.Profile, r variance.Ratio, scores policytest.Scores) (square, shift float64) {
	t.Helper()
	const step = 40 // rollouts
	for i, passes := range p.PassCounts {
		if passes == 0 || passes == p.TestedK {
			continue
		}
		at := func(more int) float64 {
			other := p
			other.PassCounts = slices.Clone(p.PassCounts)
			other.PassCounts[i] += more
			return exactRatio(t, other, r, scores)
		}
		h, each := float64(step)/float64(p.TestedK), p.P(i)*(1-p.P(i))/float64(p.TestedK)
		slope := (at(step) - at(-step)) / (2 * h)
		square += slope * slope * each
		shift += (at(step) - 2*at(0) + at(-step)) / (h * h) / 2 * each
	}
	return square, shift
}

// resampleCase is a ratio of each policy, exact, with the scores of a pilot.
func resampleCase(t *testing.T, p profile.Profile) ([]variance.Ratio, []policytest.Scores) {
	t.Helper()
	alpha := 0.13
	ms, ws := []int32{3, 2, 2}, []float64{0.4, 0.3, 0.6}
	byTask := []policytest.Scores{nil, policytest.ByTask(t, policy.EN.Name, 0), policytest.ByTask(t, policy.IBN.Name, 13), policytest.ByTask(t, policy.HBN.Name, 0)}
	ratios := []variance.Ratio{
		{Subject: variance.Subject{Policy: policy.Oracle.Name, Donors: "none"}},
		{Subject: variance.Subject{Policy: policy.EN.Name, Donors: "none"}, M: &ms[0], W: &ws[0]},
		{Subject: variance.Subject{Policy: policy.IBN.Name, Donors: "none", Alpha: &alpha}, M: &ms[1], W: &ws[1]},
		{Subject: variance.Subject{Policy: policy.HBN.Name, Donors: "none"}, M: &ms[2], W: &ws[2]},
	}
	for k := range ratios {
		ratios[k].NTasks, ratios[k].Budget = int32(p.N()), 5
		ratios[k].VarianceRatio = exactRatio(t, p, ratios[k], byTask[k])
	}
	return ratios, byTask
}

// exactRatio is the ratio of a design on a profile, by all pilots.
func exactRatio(t *testing.T, p profile.Profile, r variance.Ratio, scores policytest.Scores) float64 {
	t.Helper()
	if r.M == nil {
		ratios := must(analytic(p, []variance.Design{{Budget: r.Budget}}))
		return ratios[0].VarianceRatio
	}
	c := policytest.Coefficient(t, probabilities(p), int(*r.M), int(r.Budget), scores)
	return neyman.Risk(int(r.Budget), int(*r.M), *r.W, c)
}

// TestInTwoStagesItIsHBN replays a policy that is HBN by another way, in stages, two of
// them: on the same pilots the two differ by the nodes that the one leaves out. The errors
// that come from the profile are alike as well.
func TestInTwoStagesItIsHBN(t *testing.T) {
	again := &policy.Policy{
		Name: "again", Donors: policy.None, InStages: &policy.InStages{After: 1}, Design: policy.Design{As: policy.HBN},
	}
	s := paper
	s.Draws, s.Replicates, s.Budgets, s.ResampleDraws = 40_000, 2, []int{8, 16}, 2000
	s.Slice = func(...string) map[string]string { return map[string]string{} }
	dir := t.TempDir()
	policytest.Replace(t, policy.List{policy.HBN, again})
	st := must(Stage(s, []pair.Pair{pair.Known(benchProfile(30))}))
	dagtest.Run(t, []dag.Stage{st}, dir)
	rows, _, err := rowfile.ReadFile[variance.Difference](dir + "/" + variance.DifferencesFile)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d differences, %v", len(rows), err)
	}
	errors, _, err := rowfile.ReadFile[variance.ProfileError](dir + "/" + variance.ErrorsFile)
	if err != nil || len(errors) != 4 {
		t.Fatalf("%d errors of profiles, %v", len(errors), err)
	}
	for k, hbn := range errors[:len(errors)-1] {
		if again := errors[k+1]; again.Budget == hbn.Budget && (math.Abs(again.ProfileSE-hbn.ProfileSE) > 0.1*hbn.ProfileSE || math.Abs(again.Shift-hbn.Shift) > 5*math.Hypot(again.ShiftSE, hbn.ShiftSE)) {
			t.Errorf("b = %d: the errors from the profile are %+v and %+v", hbn.Budget, hbn, again)
		}
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
	draw := pilot.InTurn(&random)
	all, err := policy.Siblings.Count(own, []profile.Profile{other}, draw)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if d := all[0]; d.Passes[0] != 50 || d.Passes[1] != 0 || d.Passes[2] != 30 || d.Rollouts[0] != 64 || d.Rollouts[1] != 0 {
		t.Errorf("the donor is %+v", d)
	}
	if all, err = policy.Siblings16.Count(own, []profile.Profile{other}, draw); err != nil || all[0].Rollouts[0] != 16 || all[0].Passes[0] > 16 || all[0].Rollouts[1] != 0 {
		t.Errorf("drawn anew it is %+v, %v", all, err)
	}
	if all, err = policy.Earlier64.Count(own, []profile.Profile{own}, draw); err != nil || all[0].Rollouts[1] != 64 {
		t.Errorf("an earlier evaluation is %+v, %v", all, err)
	}
	for _, known := range []*policy.Donors{policy.Siblings, policy.Siblings16} {
		if _, err := known.Count(own, []profile.Profile{own}, draw); err == nil || !strings.Contains(err.Error(), "cannot be a donor of itself") {
			t.Errorf("%s: a profile is its own sibling: %v", known.Name, err)
		}
	}
	if _, err := policy.Siblings.Count(own, []profile.Profile{of("r", "b", "x", 1)}, draw); err == nil || !strings.Contains(err.Error(), "another benchmark") {
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
	st := must(Stage(s, pair.AllKnown([]profile.Profile{one, two, sure, stranger})))
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

// TestStagedErrorsAreHonest replays policies in stages under forty seeds: their means vary as
// their standard errors say, within what forty of them can tell.
func TestStagedErrorsAreHonest(t *testing.T) {
	p := benchProfile(20)
	prior := must(neyman.NewPrior(8))
	for _, known := range []*policy.Donors{policy.None, policy.Siblings16} {
		const runs = 40
		values, differences := make([][]float64, 2), make([][]float64, 2)
		stated, statedDifferences := make([]float64, 2), make([]float64, 2)
		for run := range runs {
			s := &stagesReplay{profile: p, known: known, prior: prior, at: seed.Root(35).Index(run)}
			if known.Siblings {
				s.sources = benchSiblings(p)
			}
			s.hbn = []variance.Design{{Policy: policy.HBN.Name, NTasks: 20, Budget: 16, M: 6, W: 0.33}}
			for _, of := range inStages(known) {
				s.runs = append(s.runs, &stagesRun{policy: of, design: variance.Design{NTasks: 20, Budget: 16, M: 4, W: 0.2}})
			}
			ok(t, s.replay(t.Context(), 8192))
			rows := s.results()
			for k, r := range rows.ratios {
				values[k], stated[k] = append(values[k], r.VarianceRatio), stated[k]+r.RatioSE*r.RatioSE/runs
				d := rows.differences[k]
				differences[k], statedDifferences[k] = append(differences[k], d.Difference), statedDifferences[k]+d.DifferenceSE*d.DifferenceSE/runs
			}
		}
		for k := range values {
			for what, of := range map[string]struct {
				values []float64
				stated float64
			}{"ratio": {values[k], stated[k]}, "difference": {differences[k], statedDifferences[k]}} {
				_, se := pilot.MeanAndError(of.values)
				if seen := se * se * runs; of.stated < 0.4*seen || of.stated > 2.5*seen { // χ² of 39: five standard errors
					t.Errorf("%s, policy %d: the %s varies by %v, stated %v", known.Name, k+1, what, seen, of.stated)
				}
			}
		}
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
