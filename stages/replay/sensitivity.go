package replay

import (
	"math"

	"speceval/internal/policy/pilot"
	"speceval/internal/results/variance"
	"speceval/internal/store/profile"
)

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
//
// Draws are in groups that are independent of one another: products of different groups have
// no noise in their mean, and their spread is the error.
type sensitivity struct {
	profile profile.Profile
	ps, vs  []float64
	all     float64 // Σ v
	budget  float64
	groups  []groupSums
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

// newSensitivity is of a budget b, by two groups of draws or more.
func newSensitivity(p profile.Profile, budget int32, groups int) *sensitivity {
	s := &sensitivity{profile: p, ps: probabilities(p), all: p.VarianceSum(), budget: float64(budget), groups: make([]groupSums, groups)}
	s.vs = variances(s.ps)
	for g := range s.groups {
		s.groups[g].tasks = make([]taskSums, p.N())
	}
	return s
}

// addEvaluation takes an evaluation of a group: of each task the rollouts that decided on it, the passes
// among them, and t.
func (s *sensitivity) addEvaluation(group int, rollouts, passes []int, shrinkage []float64) {
	g := &s.groups[group]
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

// derivatives are F₁ and F₂ of a task by a group. The factors of f and f₁ have the mean zero,
// so that the mean of other groups is taken off first, which leaves less noise.
func (s *sensitivity) derivatives(group, i int) (first, second float64) {
	var value, direct, draws float64
	for other := range s.groups {
		if g := &s.groups[other]; other != group {
			value, direct, draws = value+g.value, direct+g.tasks[i].direct, draws+g.draws
		}
	}
	value, direct = value/draws, direct/draws
	g := &s.groups[group]
	t, slope, scale := g.tasks[i], 1-2*s.ps[i], s.budget/s.all
	first = (t.valueFirst - value*t.first + slope*scale*t.direct) / g.draws
	second = (t.valueSecond - value*t.second + 2*slope*scale*(t.directFirst-direct*t.first) - 2*scale*t.direct*(1+slope*slope/s.all)) / g.draws
	return first, second
}

// fill fills in the errors of a ratio.
func (s *sensitivity) fill(row *variance.ProfileError) {
	n := float64(len(s.groups))
	square, shifts := 0.0, make([]float64, len(s.groups))
	for i, v := range s.vs {
		if v == 0 {
			continue
		}
		each, sum, squares := v/float64(s.profile.Rollouts(i)), 0.0, 0.0
		for g := range s.groups {
			first, second := s.derivatives(g, i)
			sum += first
			squares += first * first
			shifts[g] += second * each / 2
		}
		square += each * (sum*sum - squares) / (n * (n - 1))
	}
	row.ProfileSE = math.Sqrt(max(0, square))
	row.Shift, row.ShiftSE = pilot.MeanAndError(shifts)
	for g := range s.groups {
		row.Draws += int32(s.groups[g].draws)
	}
}
