package replay

import (
	"math"
	"slices"
	"testing"

	"speceval/internal/policy"
	"speceval/internal/seed"
	"speceval/internal/tsneyman"
)

// trajectories runs a candidate of TS-Neyman on made-up probabilities.
func trajectories(t *testing.T, alpha float64, ps []float64, warm int, budgets []int, first, draws int) []tsCounts {
	t.Helper()
	at := seed.Root(7)
	streams := tsStreams{at.Child("outcomes").Stream(), at.Child("choices").Stream()}
	counts, err := tsRun(t.Context(), tsneyman.NewSampler(alpha), ps, warm, budgets, first, draws, streams)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

var mixed = []float64{0, 0.02, 0.3, 0.5, 0.9, 1, 0.7, 0.99}

func TestTrajectoriesSpendTheBudgetAndGoOnFromOneToTheNext(t *testing.T) {
	budgets := []int{3, 8, 20}
	counts := trajectories(t, 0.1, mixed, 2, budgets, 0, 6)
	for k, b := range budgets {
		for trajectory := range 6 {
			total := int32(0)
			for i, p := range mixed {
				at := trajectory*len(mixed) + i
				n, s := counts[k].rollouts[at], counts[k].successes[at]
				total += n
				if n < 2 || s < 0 || s > n || p == 0 && s != 0 || p == 1 && s != n {
					t.Errorf("b = %d: task %d with p = %g passed %d of %d", b, i, p, s, n)
				}
				if k > 0 && (n < counts[k-1].rollouts[at] || s < counts[k-1].successes[at]) {
					t.Errorf("b = %d: task %d has fewer rollouts than before", b, i)
				}
			}
			if total != int32(b*len(mixed)) {
				t.Errorf("b = %d: %d rollouts", b, total)
			}
		}
	}
	if later := trajectories(t, 0.1, mixed, 2, budgets, 4, 2); !slices.Equal(later[2].rollouts, counts[2].rollouts[4*len(mixed):]) {
		t.Error("trajectory 4 depends on those before it")
	}
}

// TestUniformCountsHaveUniformError gives every task the same rollouts: the
// control variate is then the error itself, and leaves its exact mean.
func TestUniformCountsHaveUniformError(t *testing.T) {
	counts := trajectories(t, 0.1, mixed, 5, []int{5}, 0, 400)[0]
	controlled, raw := counts.mse(mixed, 5)
	if math.Abs(controlled.value-1) > 1e-12 || controlled.se > 1e-12 {
		t.Errorf("the MSE is %v ± %v of Uniform's, want it exactly", controlled.value, controlled.se)
	}
	if math.Abs(raw.value-1) > 4*raw.se || raw.se == 0 {
		t.Errorf("the plain estimate is %v ± %v, want 1", raw.value, raw.se)
	}
}

// TestTheControlVariateHasMeanZero compares both estimates of the same MSE: they
// agree within 4 standard errors of their difference, and the controlled one has
// much less noise.
func TestTheControlVariateHasMeanZero(t *testing.T) {
	for k, counts := range trajectories(t, 0.07, mixed, 2, []int{4, 16}, 0, 6000) {
		budget := []int{4, 16}[k]
		controlled, raw := counts.mse(mixed, budget)
		if d := controlled.value - raw.value; math.Abs(d) > 4*raw.se {
			t.Errorf("b = %d: %v with the control variate, %v ± %v without", budget, controlled.value, raw.value, raw.se)
		}
		if controlled.se > 0.75*raw.se {
			t.Errorf("b = %d: standard error %v with the control variate, %v without", budget, controlled.se, raw.se)
		}
	}
}

// TestDenominatorsComeFromTheOtherHalf has two trajectories on two tasks: each is
// held against a martingale with the rollouts of the other, by hand.
func TestDenominatorsComeFromTheOtherHalf(t *testing.T) {
	ps := []float64{0.5, 0.2}
	c := tsCounts{2, []int32{2, 6, 4, 4}, []int32{2, 1, 1, 2}}
	uniform := (0.25 + 0.16) / (4 * 4)
	by := func(n, d, other [2]float64) float64 {
		e := (d[0]/n[0] + d[1]/n[1]) / 2
		z := (d[0]/other[0] + d[1]/other[1]) / 2
		a := (n[0]*0.25/(other[0]*other[0]) + n[1]*0.16/(other[1]*other[1])) / 4
		return (e*e - (z*z - a)) / uniform
	}
	first, second := [2]float64{2, 6}, [2]float64{4, 4}
	want := (by(first, [2]float64{1, -0.2}, second) + by(second, [2]float64{-1, 1.2}, first)) / 2
	if got, _ := c.mse(ps, 4); math.Abs(got.value-want) > 1e-12 {
		t.Errorf("%v, want %v", got.value, want)
	}
}

func TestAWarmStartMaySpendTheWholeBudget(t *testing.T) {
	if got := feasible([]int{5, 8, 10}, 8); !slices.Equal(got, []int{8, 10}) {
		t.Errorf("feasible budgets %v", got)
	}
}

func tsRows(budget int32, alpha float64, m0 int32, draws int32, values ...float64) []tsRow {
	var rows []tsRow
	for i, v := range values {
		rows = append(rows, tsRow{Benchmark: string(rune('a' + i)), Model: "m", NTasks: 10, Budget: budget,
			Alpha: alpha, M0: m0, MSE: v, MSESE: 0.03, Raw: v + 0.1, RawSE: 0.06, Draws: draws})
	}
	return rows
}

func TestTheRaceSendsOnTheBestOfEachBudget(t *testing.T) {
	rows := slices.Concat(
		tsRows(8, 0.1, 2, 4, 0.9, 0.8), tsRows(8, 0.2, 2, 4, 0.7, 0.8), tsRows(8, 0.3, 2, 4, 0.99, 0.9),
		tsRows(16, 0.1, 2, 4, 0.5, 0.6), tsRows(16, 0.2, 2, 4, 0.7, 0.8), tsRows(16, 0.3, 5, 4, 0.6, 0.6))
	for each, want := range map[int][]tsFinalist{
		1: {{0.1, 2}, {0.2, 2}},
		2: {{0.1, 2}, {0.2, 2}, {0.3, 5}},
		9: {{0.1, 2}, {0.2, 2}, {0.3, 2}, {0.3, 5}},
	} {
		if got := tsBest(tsMeans(rows), each); !slices.Equal(got, want) {
			t.Errorf("%d of each budget: %v, want %v", each, got, want)
		}
	}
}

func TestFinalistsAreJudgedByTheirLastTrajectories(t *testing.T) {
	first := slices.Concat(tsRows(8, 0.1, 2, 4, 0.5, 0.5), tsRows(8, 0.2, 2, 4, 0.6, 0.6), tsRows(8, 0.3, 2, 4, 0.9, 0.9))
	last := slices.Concat(tsRows(8, 0.1, 2, 100, 0.8, 0.9), tsRows(8, 0.2, 2, 100, 0.7, 0.8))
	search, ratios := tsSelect(first, last)
	want := []struct {
		mse                float64
		draws              int32
		finalist, selected bool
	}{{0.85, 100, true, false}, {0.75, 100, true, true}, {0.9, 4, false, false}}
	if len(search) != len(want) {
		t.Fatalf("%d candidates, want %d", len(search), len(want))
	}
	for i, w := range want {
		s := search[i]
		if math.Abs(s.MSE-w.mse) > 1e-12 || s.Draws != w.draws || s.Finalist != w.finalist || s.Selected != w.selected {
			t.Errorf("candidate %d is %+v, want %+v", i, s, w)
		}
		if se := 0.03 / math.Sqrt2; math.Abs(s.MSESE-se) > 1e-12 || math.Abs(s.Raw-s.MSE-0.1) > 1e-12 {
			t.Errorf("candidate %d: standard error %v, want %v; plain estimate %v", i, s.MSESE, se, s.Raw)
		}
	}
	if len(ratios) != 2 || ratios[0].Policy != policy.TS.Name || *ratios[0].Alpha != 0.2 || *ratios[1].M != 2 || ratios[0].W != nil || ratios[1].VarianceRatio != 0.8 {
		t.Errorf("ratios %+v", ratios)
	}
}
