package replay

import (
	"context"
	"testing"

	"speceval/internal/seed"
	"speceval/internal/variance"
	"speceval/method/neyman"
)

// disagreement is the policy that docs/policies.md adds step by step.
const disagreement = "disagreement"

// disagreementScores are 4 for tasks whose pilot rollouts disagree and 1 for the
// others: continuations go with the roots, two to one. They are those of the folded
// counts S = 0, …, ⌊m/2⌋, for S and m−S have the same score.
func disagreementScores(m int) []float64 {
	scores := []float64{1}
	for range m / 2 {
		scores = append(scores, 4)
	}
	return scores
}

// disagreementDesigns takes pilot size and weight from HBN: the best of its own
// would be estimated as EN's are.
func disagreementDesigns(all []variance.Design) []variance.Design {
	var rows []variance.Design
	for _, d := range all {
		if d.Policy == variance.HBN && d.Selected {
			d.Policy = disagreement
			rows = append(rows, d)
		}
	}
	return rows
}

// withWorked knows the policy of the page beside those of the stage.
func withWorked(p *policies, d variance.Design) (continuation, error) {
	tasks, m := int(d.NTasks), int(d.M)
	longest := tasks * (int(d.Budget) - m)
	switch d.Policy {
	case disagreement:
		p.symmetric.prepare(disagreementScores(m), tasks, longest)
		return &p.symmetric, nil
	}
	return p.of(d)
}

// disagreementByTask is the policy in plain words, task by task.
func disagreementByTask(_ *testing.T, successes []int, m int) []float64 {
	var scores []float64
	for _, s := range successes {
		score := 1.0
		if 0 < s && s < m {
			score = 4
		}
		scores = append(scores, score)
	}
	return scores
}

// TestTheWorkedPolicyLiesBetweenUniformAndHBN replays the policy of the page beside
// HBN, on the same draws. It gains 0.09, and is 0.003 behind HBN; the standard errors
// of both are 0.0004, that of their difference is smaller still.
func TestTheWorkedPolicyLiesBetweenUniformAndHBN(t *testing.T) {
	prior, err := neyman.NewPrior(16)
	if err != nil {
		t.Fatal(err)
	}
	p := benchProfile(100)
	hbn := variance.Design{Policy: variance.HBN, NTasks: 100, Budget: 16, M: 6, W: 0.35, Selected: true}
	designs := append([]variance.Design{hbn}, disagreementDesigns([]variance.Design{hbn})...)
	take := policies{prior: prior}
	runs := []*replayed{{design: designs[0]}, {design: designs[1]}}
	const draws = 1024
	err = eachSweep(context.Background(), probabilities(p), draws, 6, oneStream(seed.Root(7).Stream()), func(sw *sweep, _ int) error {
		of := func(k int) (continuation, error) { return withWorked(&take, designs[k]) }
		return eachValue(sw, designs, of, func(k, _ int, c float64) { runs[k].add(c) })
	})
	if err != nil {
		t.Fatal(err)
	}
	best, worked := runs[0].ratio(p, draws), runs[1].ratio(p, draws)
	t.Logf("variance over Uniform's: HBN %.4f ± %.4f, disagreement %.4f ± %.4f", best.VarianceRatio, best.RatioSE, worked.VarianceRatio, worked.RatioSE)
	if !(best.VarianceRatio < worked.VarianceRatio && worked.VarianceRatio < 0.95) || worked.RatioSE > 0.001 || worked.Policy != disagreement {
		t.Errorf("HBN %+v, disagreement %+v", best, worked)
	}
}
