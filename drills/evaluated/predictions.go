package evaluated

import (
	"fmt"
	"path/filepath"

	"speceval/internal/policy"
	"speceval/internal/profile"
	"speceval/internal/rowfile"
	"speceval/internal/variance"
)

// Predictions are HBN's variance ratios to Uniform, by the replay stage.
type Predictions []variance.Ratio

// ReadPredictions reads those in an output folder of the replay stage.
func ReadPredictions(out string) (Predictions, error) {
	path := filepath.Join(out, filepath.FromSlash(variance.TwoStageFile))
	rows, _, err := rowfile.ReadFile[variance.Ratio](path)
	if err != nil {
		return nil, err
	}
	var all Predictions
	for _, r := range rows {
		if r.Policy == policy.HBN.Name {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no row of %s", path, policy.HBN.Name)
	}
	return all, nil
}

// Of is the prediction for a profile at a budget.
func (all Predictions) Of(p profile.Profile, budget int) (variance.Ratio, error) {
	for _, r := range all {
		if r.Benchmark == p.Benchmark && r.Model == p.Model && int(r.Budget) == budget {
			return r, nil
		}
	}
	return variance.Ratio{}, fmt.Errorf("the replay has no ratio of %s at %d rollouts per task", p.Name(), budget)
}
