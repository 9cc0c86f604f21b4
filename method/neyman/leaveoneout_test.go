package neyman

import (
	"math"
	"math/rand/v2"
	"testing"
)

// directWeight is the weight task by task: for every number of own successes their
// chance, by Bayes' rule, and the task's part of the continuation, by the roots of the
// scores.
func directWeight(p *Prior, others []int, budget, pilots int) float64 {
	var known []int
	for s, n := range others {
		for range n {
			known = append(known, s)
		}
	}
	roots := 0.0
	if len(known) > 0 {
		for _, v := range directScores(p, known, pilots) {
			roots += math.Sqrt(v)
		}
	}
	part, all := 0.0, 0.0
	for own := range pilots + 1 {
		score := directScores(p, append([]int{own}, known...), pilots)[0]
		continuation := max(1, float64((len(known)+1)*(budget-pilots))*math.Sqrt(score)/(roots+math.Sqrt(score)))
		chance := directChance(p, known, own, pilots)
		all += chance * score
		part += chance * score / continuation
	}
	c := part / all
	return c / (1/float64(pilots) + c)
}

// directChance is the chance of own successes after the others', up to a factor.
func directChance(p *Prior, known []int, own, m int) float64 {
	chance := 0.0
	for k, a := range p.a {
		b, log := p.b[k], p.log[k]
		for _, s := range append([]int{own}, known...) {
			log += lbeta(a+float64(s), b+float64(m-s)) - lbeta(a, b)
		}
		chance += math.Exp(log)
	}
	ways, _ := math.Lgamma(float64(m + 1))
	x, _ := math.Lgamma(float64(own + 1))
	y, _ := math.Lgamma(float64(m - own + 1))
	return chance * math.Exp(ways-x-y)
}

// pilotsOf draws the pilots of all tasks but one, by successes.
func pilotsOf(random *rand.Rand, tasks, m int) []int {
	others := make([]int, m+1)
	center := random.Float64()
	for range tasks - 1 {
		s := 0
		p := min(1, max(0, center+random.Float64()-0.5))
		for range m {
			if random.Float64() < p {
				s++
			}
		}
		others[s]++
	}
	return others
}

func TestLeaveOneOutIsThatOfTheFormula(t *testing.T) {
	prior := mustPrior(t, 16)
	random := rand.New(rand.NewPCG(4, 4))
	for range 60 {
		tasks, pilots := 1+random.IntN(20), 1+random.IntN(8)
		budget := pilots + 1 + random.IntN(10)
		rule := must(NewLeaveOneOut(prior, tasks, budget, pilots))
		for range 3 {
			others := pilotsOf(random, tasks, pilots)
			got, want := rule.Weight(others), directWeight(prior, others, budget, pilots)
			if !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("others %v at b = %d: weight %v, want %v", others, budget, got, want)
			}
		}
	}
}

func TestLeaveOneOutRefuses(t *testing.T) {
	prior := mustPrior(t, 2)
	for _, tt := range []struct{ tasks, budget, pilots int }{{0, 4, 2}, {3, 4, 0}, {3, 4, 4}} {
		if _, err := NewLeaveOneOut(prior, tt.tasks, tt.budget, tt.pilots); err == nil {
			t.Errorf("%+v is taken", tt)
		}
	}
	rule := must(NewLeaveOneOut(prior, 3, 4, 2))
	for _, others := range [][]int{nil, {1, 1}, {1, 1, 1}, {0, 1, 1, 0}} {
		if w := rule.Weight(others); !math.IsNaN(w) {
			t.Errorf("others %v: weight %v", others, w)
		}
	}
	if w := rule.Weight([]int{1, 0, 1}); !(w > 0 && w < 1) {
		t.Errorf("weight %v", w)
	}
}
