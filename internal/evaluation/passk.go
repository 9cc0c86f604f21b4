package evaluation

import (
	"fmt"

	"speceval/method/estimate"
	"speceval/method/neyman"
)

// PassK is the chance of k rollouts of a task, as a mean over tasks.
type PassK struct {
	K             int        `json:"k"`
	Any           bool       `json:"any"` // pass@k, that one of them passes; otherwise pass^k, that all do
	Estimate      float64    `json:"estimate"`
	StandardError float64    `json:"standard_error"`
	Interval      [2]float64 `json:"interval"` // 95%
}

// Name is pass@k or pass^k.
func (p PassK) Name() string { return estimate.Question{K: p.K, Any: p.Any}.String() }

// Floor is the rollouts that every task is to have ahead for as long as it has weight
// left, for what is asked of k rollouts. More than what the budget leaves is too much.
func (s *Setup) Floor(pilots int) int {
	least := 1
	for _, k := range s.PassK {
		least = max(least, estimate.Question{K: k}.BestFloor(pilots, s.Budget))
	}
	return least
}

// passK answers what was asked of k rollouts.
func (r *Result) passK(ks []int, least int, prior *neyman.Prior) error {
	r.PassK = nil
	if r.Dropped > 0 && least > 1 { // the last stage had fewer rollouts than that takes
		return nil
	}
	for _, k := range ks {
		for _, any := range []bool{true, false} {
			q := estimate.Question{K: k, Any: any, Least: least}
			a, err := q.Of(prior, r.Counted())
			if err != nil {
				return fmt.Errorf("%v: %w", q, err)
			}
			r.PassK = append(r.PassK, PassK{K: k, Any: any, Estimate: a.Value, StandardError: a.StandardError, Interval: [2]float64{a.Low, a.High}})
		}
	}
	return nil
}
