package replay

import (
	"math"

	"speceval/internal/pilot"
	"speceval/internal/profile"
	"speceval/internal/variance"
)

// groups is the number of groups of draws whose derivatives are kept apart. Products of
// different groups have no noise in their mean, and their spread is the error.
const groups = 8

// sensitivity is how the variance ratio of a policy changes with the pass probabilities p of
// its profile, from evaluations simulated on the profile. With K rollouts behind each
// probability, and F₁ and F₂ the first two derivatives of the ratio in the p of one task, the
// ratio has
//
//	variance Σ F₁²·p(1−p)/K,   shift ½ Σ F₂·p(1−p)/K,
//
// over profiles redrawn by the binomial law of their pass counts, to the leading order in 1/K.
// An evaluation with the value f = b·Σ v·t/Σ v, for v = p(1−p) and t = Σ c²/n of a task, has
// its derivatives by the log likelihood l of the rollouts that decided on it, with the same
// indices:
//
//	F₁ = E[f·l₁ + f₁],
//	F₂ = E[f·(l₁² + l₂) + 2·f₁·l₁ + f₂].
type sensitivity struct {
	profile profile.Profile
	ps, vs  []float64
	all     float64 // Σ v
	budget  float64
	draws   int
	sums    [groups]groupSums
}

// groupSums are sums over the draws of a group.
type groupSums struct {
	draws, value float64
	tasks        []taskSums
}

// taskSums are sums for one task: of l₁ and l₁² + l₂, of their products with f, and of
// t − Σ v·t/Σ v by itself and times l₁.
type taskSums struct {
	first, valueFirst, second, valueSecond, direct, directFirst float64
}

func newSensitivity(p profile.Profile, budget int32) *sensitivity {
	s := &sensitivity{profile: p, ps: probabilities(p), all: p.VarianceSum(), budget: float64(budget)}
	s.vs = variances(s.ps)
	for g := range s.sums {
		s.sums[g].tasks = make([]taskSums, p.N())
	}
	return s
}

// add takes an evaluation: of each task the rollouts that decided on it, the passes among
// them, and t.
func (s *sensitivity) add(rollouts, passes []int, shrinkage []float64) {
	g := &s.sums[s.draws%groups]
	s.draws++
	mean := 0.0
	for i, v := range s.vs {
		mean += v * shrinkage[i]
	}
	mean /= s.all
	value := s.budget * mean
	g.draws++
	g.value += value
	for i, v := range s.vs {
		if v == 0 {
			continue // redrawn profiles have the same probability
		}
		p, n, x := s.ps[i], float64(rollouts[i]), float64(passes[i])
		first := (x - n*p) / v
		second := first*first - x/(p*p) - (n-x)/((1-p)*(1-p))
		direct := shrinkage[i] - mean
		t := &g.tasks[i]
		t.first += first
		t.valueFirst += value * first
		t.second += second
		t.valueSecond += value * second
		t.direct += direct
		t.directFirst += direct * first
	}
}

// derivatives are F₁ and F₂ of a task by a group. The factors of f and f₁ have the mean zero:
// covariances have less noise than means of products.
func (s *sensitivity) derivatives(g *groupSums, i int) (first, second float64) {
	t, n, slope := g.tasks[i], g.draws, 1-2*s.ps[i]
	covariance := func(product, a, b float64) float64 { return (product - a*b/n) / (n - 1) }
	direct := s.budget / s.all * t.direct / n
	first = covariance(t.valueFirst, g.value, t.first) + slope*direct
	second = covariance(t.valueSecond, g.value, t.second) +
		2*slope*s.budget/s.all*covariance(t.directFirst, t.direct, t.first) -
		2*direct*(1+slope*slope/s.all)
	return first, second
}

// fewestDraws is the fewest draws that have derivatives.
const fewestDraws = 2 * groups

// fill fills in the errors of a ratio, after fewestDraws or more.
func (s *sensitivity) fill(row *variance.ProfileError) {
	square, shifts := 0.0, make([]float64, groups)
	for i, v := range s.vs {
		each := v / float64(s.profile.Rollouts(i))
		sum, squares := 0.0, 0.0
		for g := range s.sums {
			if v == 0 {
				continue
			}
			first, second := s.derivatives(&s.sums[g], i)
			sum += first
			squares += first * first
			shifts[g] += second * each / 2
		}
		square += each * (sum*sum - squares) / (groups * (groups - 1))
	}
	row.ProfileSE = math.Sqrt(max(0, square))
	row.Shift, row.ShiftSE = pilot.MeanAndError(shifts)
	row.Draws = int32(s.draws)
}
