package ranking_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"speceval/method/ranking"
	"speceval/method/staged"
)

func normals(pairs ...float64) (all []ranking.Normal) {
	for k := 0; k < len(pairs); k += 2 {
		all = append(all, ranking.Normal{Mean: pairs[k], Variance: pairs[k+1] * pairs[k+1]})
	}
	return all
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// TestChances holds the chances to closed forms, and to sums over all values of three models.
func TestChances(t *testing.T) {
	near := func(got, want []float64, tolerance float64) {
		t.Helper()
		for k := range want {
			if math.Abs(got[k]-want[k]) > tolerance {
				t.Errorf("%v, want %v within %v", got, want, tolerance)
				return
			}
		}
	}
	for _, c := range [][4]float64{{0.5, 0.02, 0.48, 0.03}, {0.5, 0.001, 0.52, 0.1}, {0.9, 0.05, 0.9, 0.0002}, {0.1, 0.01, 0.2, 0.01}} {
		want := phi((c[0] - c[2]) / math.Hypot(c[1], c[3]))
		near(ranking.Chances(normals(c[:]...)), []float64{want, 1 - want}, 1e-4)
	}
	near(ranking.Chances(normals(0.5, 0, 0.5, 0, 0.4, 0)), []float64{0.5, 0.5, 0}, 1e-12)
	near(ranking.Chances(normals(0.5, 0, 0.4, 0.1)), []float64{phi(1), 1 - phi(1)}, 3e-4)
	for _, c := range [][]float64{{0.5, 0.02, 0.48, 0.03, 0.49, 0.05}, {0.7, 0.01, 0.71, 0.02, 0.6, 0.04}} {
		near(ranking.Chances(normals(c...)), bruteChances(normals(c...)), 2e-3)
	}
	near(ranking.Chances(normals(slices.Repeat([]float64{0.3, 0.02}, 6)...)), slices.Repeat([]float64{1. / 6}, 6), 1e-9)
}

// bruteChances sums over a grid of the values of three models, ties shared.
func bruteChances(of []ranking.Normal) []float64 {
	const steps = 81
	chances, all := make([]float64, 3), 0.0
	var at [3]int
	value := func(k int) (x, weight float64) {
		z := 5 * (2*float64(at[k])/(steps-1) - 1)
		return of[k].Mean + math.Sqrt(of[k].Variance)*z, math.Exp(-z * z / 2)
	}
	for at[0] = range steps {
		for at[1] = range steps {
			for at[2] = range steps {
				var x [3]float64
				weight := 1.0
				for k := range x {
					v, w := value(k)
					x[k], weight = v, weight*w
				}
				top := max(x[0], x[1], x[2])
				var best []int
				for k := range x {
					if x[k] > top-1e-12 {
						best = append(best, k)
					}
				}
				for _, k := range best {
					chances[k] += weight / float64(len(best))
				}
				all += weight
			}
		}
	}
	for k := range chances {
		chances[k] /= all
	}
	return chances
}

// TestScoresDivideWell compares the division by scores with the best of all divisions in two
// models, by the exact probability that the final estimates are in the wrong order.
func TestScoresDivideWell(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		left, spread := 4+random.IntN(30), [2]float64{0.0003 * math.Exp(2*random.Float64()), 0.0003 * math.Exp(2*random.Float64())}
		var at [2]ranking.Standing
		for k := range at {
			spent := float64(1 + random.IntN(6))
			at[k] = ranking.Standing{
				Normal: ranking.Normal{Mean: 0.5 + 0.05*random.Float64(), Variance: spread[k] / spent}, Spread: spread[k],
				Rest: float64(left) / 2 / (float64(left)/2 + spent),
			}
		}
		scores, err := ranking.Scores(ranking.Best, at[:], left)
		if err != nil {
			t.Fatal(err)
		}
		root := [2]float64{at[0].Rest * math.Sqrt(scores[0]), at[1].Rest * math.Sqrt(scores[1])}
		n := min(max(int(math.Round(float64(left)*root[0]/(root[0]+root[1]))), 1), left-1)
		least := 1.0
		for k := 1; k < left; k++ {
			least = min(least, wrongOrder(at, [2]int{k, left - k}))
		}
		if got := wrongOrder(at, [2]int{n, left - n}); got > 1.02*least+1e-4 {
			t.Errorf("%+v with %d left: %v by %d of them for the first, %v is the least", at, left, got, n, least)
		}
	}
}

// wrongOrder is the probability that two final estimates are in another order than the means.
func wrongOrder(at [2]ranking.Standing, n [2]int) (wrong float64) {
	now, covariance, variance := 0.0, 0.0, 0.0 // of the difference of the means; with the final one; of that
	for k, s := range at {
		now += s.Variance
		covariance += s.Rest * s.Variance
		variance += s.Rest * s.Rest * (s.Variance + s.Spread/float64(n[k]))
	}
	d, sd := at[0].Mean-at[1].Mean, math.Sqrt(now)
	rest, all := math.Sqrt(variance-covariance*covariance/now), 0.0
	for k := range 4001 {
		z := 8 * (float64(k)/2000 - 1)
		weight, true := math.Exp(-z*z/2), d+sd*z
		final := d + covariance/now*sd*z
		all += weight
		wrong += weight * phi(-final/rest*math.Copysign(1, true))
	}
	return wrong / all
}

// TestContestsAreUnbiased follows every outcome of a contest of three models with one task. On
// each path the budget is spent exactly and the weights add up to one, and the expectation of
// each mean is its probability.
func TestContestsAreUnbiased(t *testing.T) {
	ps := []float64{0.3, 0.8, 0.6}
	for _, goal := range []ranking.Goal{ranking.Best, ranking.Order} {
		for _, plan := range []staged.Plan{
			{Pilots: 1, Weight: 0.2, Fractions: []float64{0.4, 1}},
			{Pilots: 1, Weight: 0.3, Fractions: []float64{0.4, 0.5, 1}},
			{Pilots: 1, Weight: 0.2, Fractions: []float64{0.4, 1}, Cells: []staged.Cell{{Tasks: 1, Least: 3}, {Tasks: 2}}},
		} {
			sums, total := make([]float64, 3), 0.0
			sizes := make(map[string]bool)
			contest(t, goal, plan, ps, nil, func(chance float64, s *staged.Stages, spent []int) {
				total += chance
				for k := range sums {
					sums[k] += chance * s.Means()[k]
				}
				sizes[fmt.Sprint(spent)] = true
				if spent[0]+spent[1]+spent[2] != 9 || plan.Cells != nil && spent[0] < 3 {
					t.Errorf("%v rollouts, want 9", spent)
				}
			})
			if math.Abs(total-1) > 1e-12 || floats.Distance(sums, ps, 1) > 1e-12 || len(sizes) < 3 {
				t.Errorf("%+v: means %v of %v, sizes %v, probability %v", plan, sums, ps, sizes, total)
			}
		}
	}
}

// contest visits every end of a contest that begins with some outcomes, passes by stage and
// model, with its probability and the rollouts of each model.
func contest(t *testing.T, goal ranking.Goal, plan staged.Plan, ps []float64, outcomes [][]int, visit func(float64, *staged.Stages, []int)) {
	s, err := staged.New(3, 3, plan)
	if err != nil {
		t.Fatal(err)
	}
	chance, spent, weights := 1.0, make([]int, 3), make([]float64, 3)
	standings, passes := make([]ranking.Standing, 3), make([]int, 3)
	for stage := 0; ; stage++ {
		for k, n := range s.Sizes() {
			spent[k], weights[k] = spent[k]+n, weights[k]+s.Weights()[k]
		}
		if stage == len(outcomes) {
			break
		}
		for k, x := range outcomes[stage] {
			passes[k] += x
			chance *= binomial(s.Sizes()[k], x, ps[k])
			a, n := float64(passes[k])+1, float64(spent[k])+2
			v := a * (n - a) / n / (n + 1) / 10 // as if there were ten such tasks
			standings[k] = ranking.Standing{Normal: ranking.Normal{Mean: a / n, Variance: v / float64(spent[k])}, Spread: v, Rest: s.Rest()[k]}
		}
		if err := s.Observe(outcomes[stage]); err != nil {
			t.Fatal(err)
		}
		if s.Done() {
			if floats.Distance(weights, []float64{1, 1, 1}, 1) > 1e-12 {
				t.Errorf("weights of %v", weights)
			}
			visit(chance, s, spent)
			return
		}
		scores, err := ranking.Scores(goal, standings, s.Left())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Decide(scores); err != nil {
			t.Fatal(err)
		}
	}
	for a := range s.Sizes()[0] + 1 {
		for b := range s.Sizes()[1] + 1 {
			for c := range s.Sizes()[2] + 1 {
				contest(t, goal, plan, ps, append(slices.Clip(outcomes), []int{a, b, c}), visit)
			}
		}
	}
}

func binomial(n, k int, p float64) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
}

// TestWrong holds what can be wrong, and what Uniform would need, to closed forms in two models.
func TestWrong(t *testing.T) {
	of := normals(0.50, 0.01, 0.53, 0.01)
	want := phi(-3 / math.Sqrt2)
	for _, goal := range []ranking.Goal{ranking.Best, ranking.Order} {
		if got := ranking.Wrong(goal, of); math.Abs(got-want) > 1e-5 {
			t.Errorf("%v, want %v", got, want)
		}
		// What counts is the variance of the difference.
		if u, ok := ranking.Uniform(goal, normals(0.50, 0.01, 0.53, 0.02), []float64{0.001, 0.001}); !ok || math.Abs(u-0.002/0.0005) > 0.01 {
			t.Errorf("%v, %v", u, ok)
		}
	}
	if got := ranking.Wrong(ranking.Order, normals(0.5, 0.01, 0.5, 0.01, 0.9, 0.01)); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("%v pairs", got)
	}
	for _, certain := range [][]ranking.Normal{normals(0.5, 0.01, 0.5, 0.01), normals(0.1, 0.01, 0.9, 0.01)} {
		if u, ok := ranking.Uniform(ranking.Best, certain, []float64{0.001, 0.001}); ok {
			t.Errorf("Uniform needs %v", u)
		}
	}
}

// Two models that are alike and far behind decide on the order, and not on the best.
func TestGoals(t *testing.T) {
	var at []ranking.Standing
	for _, n := range normals(0.50, 0.02, 0.51, 0.02, 0.30, 0.02, 0.30, 0.02) {
		at = append(at, ranking.Standing{Normal: n, Spread: 4 * n.Variance, Rest: 0.5})
	}
	best, err := ranking.Scores(ranking.Best, at, 40)
	if err != nil {
		t.Fatal(err)
	}
	order, err := ranking.Scores(ranking.Order, at, 40)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Max(best[2:]) > 1e-3 || slices.Min(best[:2]) < 0.9 || slices.Min(order) < 0.5 {
		t.Errorf("scores for the best %v, for the order %v", best, order)
	}
}

func TestScoresOfNothing(t *testing.T) {
	far := []ranking.Standing{{Normal: normals(0.1, 1e-6)[0], Spread: 1e-6, Rest: 0.5}, {Normal: normals(0.9, 1e-6)[0], Spread: 1e-6, Rest: 0.5}}
	if scores, err := ranking.Scores(ranking.Best, far, 4); err != nil || scores[0] != 1 || scores[1] != 1 {
		t.Errorf("%v, %v", scores, err)
	}
	settled := []ranking.Standing{{Normal: normals(0.5, 0.01)[0], Spread: 1e-4}, {Normal: normals(0.5, 0)[0], Rest: 0.5}}
	if scores, err := ranking.Scores(ranking.Best, settled, 4); err != nil || scores[1] != 1 {
		t.Errorf("%v, %v", scores, err)
	}
	far[0].Mean = math.NaN()
	if _, err := ranking.Scores(ranking.Best, far, 4); err == nil {
		t.Error("a mean that is no number is scored")
	}
}
