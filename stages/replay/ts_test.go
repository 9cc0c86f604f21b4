package replay

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/policy/tsneyman"
)

// trajectories runs a candidate of TS-Neyman on made-up probabilities.
func trajectories(t *testing.T, alpha float64, ps []float64, warm int, spans []tsSpan, first int) []tsErrors {
	t.Helper()
	at := seed.Root(7)
	streams := tsStreams{at.Child("outcomes").Stream(), at.Child("choices").Stream()}
	candidate := tsCandidate{tsneyman.NewSampler(alpha), tsneyman.NewStates(alpha)}
	errors := must(candidate.errors(t.Context(), ps, warm, spans, first, streams))
	return errors
}

var mixed = []float64{0, 0.02, 0.3, 0.5, 0.9, 1, 0.7, 0.99}

func TestSmallerBudgetsHaveMoreTrajectories(t *testing.T) {
	if got, want := (tsTask{draws: 6}).spans([]int{8, 16, 64}, 10, 100), []tsSpan{{16, 24}, {64, 6}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	// A warm start may spend the whole budget.
	if got, want := (tsTask{draws: 3, equally: true}).spans([]int{5, 8, 10}, 8, 30), []tsSpan{{8, 3}, {10, 3}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got := trajectories(t, 0.1, mixed, 2, []tsSpan{{3, 6}, {8, 4}}, 0)
	if len(got[0].raw) != 6 || len(got[1].controlled) != 4 {
		t.Errorf("%d and %d errors, want 6 and 4", len(got[0].raw), len(got[1].controlled))
	}
	alone := trajectories(t, 0.1, mixed, 2, []tsSpan{{8, 4}}, 0)
	if !slices.Equal(alone[0].raw, got[1].raw) {
		t.Error("a trajectory depends on the budgets at which it is looked at")
	}
	if later := trajectories(t, 0.1, mixed, 2, []tsSpan{{3, 2}}, 4); !slices.Equal(later[0].raw, got[0].raw[4:]) {
		t.Error("trajectory 4 depends on those before it")
	}
}

// candidateRows are two batches a profile, value ± spread.
func candidateRows(budget int32, alpha float64, m0, draws int32, values ...float64) []tsRow {
	var rows []tsRow
	for i, v := range values {
		for batch, d := range []float64{-0.03, 0.03} {
			x := v + d
			rows = append(rows, tsRow{Benchmark: string(rune('a' + i)), Model: "m", NTasks: 10, tsCandidateAt: tsCandidateAt{budget, alpha, m0},
				Batch: int32(batch), MSE: x, Squares: x * x, Raw: x + 0.1, RawSquares: (x + 0.1) * (x + 0.1), Draws: draws / 2})
		}
	}
	return rows
}

func TestTheRaceSendsOnTheBestOfEachBudget(t *testing.T) {
	search := newSearch(slices.Concat(
		candidateRows(8, 0.1, 2, 4, 0.9, 0.8), candidateRows(8, 0.2, 2, 4, 0.7, 0.8), candidateRows(8, 0.3, 2, 4, 0.99, 0.9),
		candidateRows(16, 0.1, 2, 4, 0.5, 0.6), candidateRows(16, 0.2, 2, 4, 0.7, 0.8), candidateRows(16, 0.3, 5, 4, 0.6, 0.6)))
	for each, want := range map[int][]tsCandidateAt{
		1: {{8, 0.2, 2}, {16, 0.1, 2}},
		2: {{8, 0.1, 2}, {8, 0.2, 2}, {16, 0.1, 2}, {16, 0.3, 5}},
	} {
		if got := search.finalists(nil, each); !slices.Equal(got, want) {
			t.Errorf("%d of each budget: %v, want %v", each, got, want)
		}
	}
}

func TestFinalistsAreJudgedByTheirLastTrajectories(t *testing.T) {
	first := slices.Concat(candidateRows(8, 0.1, 2, 4, 0.5, 0.5), candidateRows(8, 0.2, 2, 4, 0.6, 0.6), candidateRows(8, 0.3, 2, 4, 0.9, 0.9))
	last := slices.Concat(candidateRows(8, 0.1, 2, 100, 0.8, 0.9), candidateRows(8, 0.2, 2, 100, 0.7, 0.8))
	search, ratios := selectTS(newSearch(first), newSearch(last), nil)
	want := []struct {
		mse, excess        float64
		draws              int32
		finalist, selected bool
	}{{0.85, -0.1, 100, true, false}, {0.75, 0, 100, true, true}, {0.9, 0.3, 4, false, false}}
	if len(search) != len(want) {
		t.Fatalf("%d candidates, want %d", len(search), len(want))
	}
	for i, w := range want {
		s := search[i]
		if math.Abs(s.MSE-w.mse) > 1e-12 || s.Draws != w.draws || s.Finalist != w.finalist || s.Selected != w.selected {
			t.Errorf("candidate %d is %+v, want %+v", i, s, w)
		}
		if math.Abs(s.Raw-s.MSE-0.1) > 1e-12 {
			t.Errorf("candidate %d: plain estimate %v", i, s.Raw)
		}
		// batches of the same number rise and fall together in all candidates
		if math.Abs(s.Excess-w.excess) > 1e-12 || s.ExcessSE > 1e-9 {
			t.Errorf("candidate %d: %v ± %v worse than the best, want %v ± 0", i, s.Excess, s.ExcessSE, w.excess)
		}
	}
	if len(ratios) != 2 || ratios[0].Policy != policy.TS.Name || *ratios[0].Alpha != 0.2 || *ratios[1].M != 2 || ratios[0].W != nil || math.Abs(ratios[1].VarianceRatio-0.8) > 1e-12 {
		t.Errorf("ratios %+v", ratios)
	}
}

// TestTheBestPriorStrengthsRun has scouts of seven prior strengths, and a budget that is below a
// warm start.
func TestTheBestPriorStrengthsRun(t *testing.T) {
	var rows []tsRow
	var want []tsCandidateAt
	for _, budget := range []int32{4, 8} {
		for k, alpha := range []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7} {
			mean := 0.8 + 0.01*float64(3*k%7) // 0.3 and 0.5 have the largest
			rows = append(rows, candidateRows(budget, alpha, 2, 4, mean, mean)...)
			if alpha == 0.3 || alpha == 0.5 {
				continue
			}
			if want = append(want, tsCandidateAt{budget, alpha, 2}); budget == 8 {
				want = append(want, tsCandidateAt{budget, alpha, 5})
			}
		}
	}
	if got := newSearch(rows).runners([]int{2, 5}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestNoCurveLeadsFarFromTheBest has prior strengths that are far apart, of which a curve through all
// would choose another one.
func TestNoCurveLeadsFarFromTheBest(t *testing.T) {
	var rows []tsRow
	alphas := []float64{0.01, 0.1, 1, 10}
	for k, mean := range []float64{0.75, 0.7, 0.96, 0.99} {
		rows = append(rows, candidateRows(8, alphas[k], 2, 4, mean, mean)...)
	}
	if got, want := newSearch(rows).finalists(alphas, 1), []tsCandidateAt{{8, 0.1, 2}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestACurveTellsCandidatesApart has a law that is on the curve, with noise, of
// which the curve leaves less; the stated errors are those that occur. Most candidates are
// between those that ran.
func TestACurveTellsCandidatesApart(t *testing.T) {
	ran := []float64{0.03, 0.05, 0.08, 0.12, 0.18}
	warm := []int32{2, 5, 10}
	law := func(alpha float64, m0 int32) float64 {
		l := math.Log(alpha / 0.06)
		return 0.7 + 0.005*l*l + float64(m0)*0.0001
	}
	random := seed.Root(9).Stream()
	var squares, stated, own, out float64
	const repeats = 200
	for range repeats {
		var scouts, rows, finals []tsRow
		run := func(to *[]tsRow, a float64, m int32, batches int) {
			for p := range 5 {
				for b := range batches {
					noise := 0.01 * (random.Float64() - 0.5) * math.Sqrt(12)
					*to = append(*to, tsRow{Benchmark: string(rune('a' + p)), tsCandidateAt: tsCandidateAt{8, a, m}, Batch: int32(b), MSE: law(a, m) + noise, Draws: 1})
				}
			}
		}
		for _, m := range warm {
			for _, a := range ran {
				run(&scouts, a, m, 2)
				run(&rows, a, m, tsBatches)
			}
			run(&scouts, 1, m, 2)
		}
		run(&finals, 0.04, 2, tsBatches)
		search := newSearch(scouts, rows)
		group := search.atBudgets()[0]
		at := func(alpha float64, m0 int32) tsCandidateAt { return tsCandidateAt{8, alpha, m0} }
		ranking := search.rank(group, []float64{0.01, 0.03, 0.04, 0.05, 0.08, 0.1, 0.12, 0.18, 0.5, 1})
		if want := 3 * 7; len(ranking.weights) != want { // 0.01, 0.5 and 1 are not on the curve
			t.Fatalf("%v, want %d", ranking.weights, want)
		}
		excess := ranking.excess(at(0.1, 5), at(0.04, 2))
		d := excess.value - (law(0.1, 5) - law(0.04, 2))
		squares += d * d / repeats
		stated += excess.se * excess.se / repeats
		alone := search.rank(group, nil).excess(at(0.12, 5), at(0.03, 2))
		own += alone.se * alone.se / repeats
		result, _ := selectTS(search, newSearch(finals), []float64{0.04})
		out += result[len(result)-2].Excess / repeats
	}
	if want := law(1, 5) - law(0.04, 2); math.Abs(out-want) > 0.001 { // seven standard errors
		t.Errorf("%v worse by the first trajectories alone, want %v", out, want)
	}
	if ratio := squares / stated; ratio < 0.6 || ratio > 1.5 { // 200 squares: ±10%, and the errors of the errors
		t.Errorf("errors of %.3g where %.3g is stated", math.Sqrt(squares), math.Sqrt(stated))
	}
	if stated > own/2 {
		t.Errorf("a standard error of %.3g on the curve, of %.3g by the candidates' own", math.Sqrt(stated), math.Sqrt(own))
	}
}
