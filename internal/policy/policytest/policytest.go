// Package policytest has the scores of policies in plain words, task by task, for
// tests of what computes them fast, and the policy that docs/policies.md adds.
package policytest

import (
	"math"
	"testing"

	"speceval/internal/policy"
	"speceval/method/neyman"
)

// Replace makes other policies those of the replay until the test ends.
func Replace(t testing.TB, list policy.List) {
	before := policy.All
	policy.All = list
	t.Cleanup(func() { policy.All = before })
}

// Scores returns the scores of a pilot vector, task by task, up to a common factor.
type Scores func(t testing.TB, successes []int, m int) []float64

// ByTask is the scores of a policy in two stages; alphaHundredths is 100·α, for policies
// that have a prior strength. A policy without a rule is a failure: write its rule down
// here.
func ByTask(t testing.TB, name string, alphaHundredths int) Scores {
	t.Helper()
	switch name {
	case policy.EN.Name:
		return each(func(s, m int) int { return s * (m - s) })
	case policy.IBN.Name:
		return each(func(s, m int) int { return (100*s + alphaHundredths) * (100*(m-s) + alphaHundredths) })
	case policy.HBN.Name:
		return byPosterior
	case Disagreement.Name:
		return each(func(s, m int) int {
			if 0 < s && s < m {
				return 4
			}
			return 1
		})
	}
	t.Fatalf("there is no rule in plain words of %s", name)
	return nil
}

func each(score func(s, m int) int) Scores {
	return func(_ testing.TB, successes []int, m int) []float64 {
		var scores []float64
		for _, s := range successes {
			scores = append(scores, float64(score(s, m)))
		}
		return scores
	}
}

func byPosterior(t testing.TB, successes []int, m int) []float64 {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, m+1)
	for _, s := range successes {
		counts[s]++
	}
	quadratic := prior.Pilot(m).Scores(counts, prior.NewWork())
	var scores []float64
	for _, s := range successes {
		scores = append(scores, quadratic.At(s))
	}
	return scores
}

// Coefficient is the expectation of Σ(v/L)/Σv over all pilot vectors of m
// rollouts, each with its probability.
func Coefficient(t testing.TB, p []float64, m, budget int, scores Scores) float64 {
	all, expected := 0.0, 0.0
	for _, x := range p {
		all += x * (1 - x)
	}
	successes := make([]int, len(p))
	var visit func(task int, probability float64)
	visit = func(task int, probability float64) {
		if task < len(p) {
			for s := range m + 1 {
				successes[task] = s
				visit(task+1, probability*Binomial(m, s, p[task]))
			}
			return
		}
		allocation, err := neyman.Allocate(scores(t, successes, m), len(p)*(budget-m))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range allocation {
			expected += probability * p[i] * (1 - p[i]) / float64(l) / all
		}
	}
	visit(0, 1)
	return expected
}

// Binomial is the probability of k passes in n rollouts of a task.
func Binomial(n, k int, p float64) float64 {
	x := math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	for i := range k {
		x *= float64(n-i) / float64(i+1)
	}
	return x
}

// Disagreement is the policy that docs/policies.md adds: twice as many
// continuations where the pilot disagrees, whatever the rest of it says.
var Disagreement = &policy.Policy{
	Name: "disagreement", Label: "Disagreement", Macro: "Disagreement", Donors: policy.None,
	TwoStage: &policy.TwoStage{
		Folded: func(s policy.Setting) []float64 { return disagreementScores(s.M) },
	},
	Design: policy.Design{As: policy.HBN},
}

// disagreementScores are 4 for tasks whose pilot rollouts disagree and 1 for the
// others: continuations go with the roots, two to one.
func disagreementScores(m int) []float64 {
	scores := []float64{1}
	for range m / 2 {
		scores = append(scores, 4)
	}
	return scores
}
