package evaluate

import (
	"fmt"
	"io"
	"slices"

	"speceval/internal/evaluation"
	"speceval/internal/evaluation/show"
	"speceval/method/estimate"
)

// Pooled is several evaluations of one model on one benchmark, as one estimate.
type Pooled struct {
	Evaluations   []string          `json:"evaluations"` // as they were named
	Weights       []float64         `json:"weights"`     // of their estimates
	Estimates     []float64         `json:"estimates"`
	Errors        []float64         `json:"standard_errors"`
	Estimate      float64           `json:"estimate"`
	StandardError float64           `json:"standard_error"`
	Interval      [2]float64        `json:"interval"` // 95%
	Rollouts      int               `json:"rollouts"`
	Losses        evaluation.Losses `json:"losses"` // of all, with their weights
	evaluation.SampleError
}

// Pool joins stored evaluations of one model under different seeds.
// Each estimate has a weight by the variance that was expected of it before its first
// rollout, so that the whole is unbiased; the error is by all rollouts: a task's stages are
// those of every evaluation. It is a
// *RequestError if they are not of one model that was asked the same.
func (a Archive) Pool(names []string) (*Pooled, error) {
	p := &Pooled{Evaluations: names}
	var all []*evaluation.Result
	var parts []estimate.Part
	var first *evaluation.Setup
	for k, name := range names {
		stored, err := a.Stored(name)
		if err != nil {
			return nil, err
		}
		r, setup := stored.Result, stored.Setup
		if k == 0 {
			first = setup
		}
		differ := ""
		switch {
		case first.Benchmark != setup.Benchmark || !slices.Equal(first.TaskIDs, setup.TaskIDs):
			differ = fmt.Sprintf("they are of different tasks, %s with %d and %s with %d", first.Benchmark, len(first.TaskIDs), setup.Benchmark, len(setup.TaskIDs))
		case first.Model != setup.Model:
			differ = fmt.Sprintf("they are of different models, %s and %s", first.Model, setup.Model)
		case !slices.Equal(first.Shares, setup.Shares):
			differ = "their tasks have different weights"
		default:
			if key := first.Differs(setup); key != "" {
				differ = "they were asked with different " + key
			}
		}
		if len(all) > 0 && r.Rules != all[0].Rules {
			differ = "their answers were scored by different right answers or scorers, which speceval evaluate rescore makes alike"
		}
		if differ != "" {
			return nil, requestf("%s and %s cannot be pooled: %s", names[0], name, differ)
		}
		if slices.ContainsFunc(all, func(other *evaluation.Result) bool { return other.Seed == r.Seed }) {
			return nil, requestf("two of them are under seed %d and share rollouts: they would count twice; evaluate under another --seed", r.Seed)
		}
		part := estimate.Part{Tasks: r.Counted(), Precision: float64(r.Budget)}
		if r.Design.Risk != nil {
			part.Precision /= min(1, *r.Design.Risk)
		}
		all, parts = append(all, r), append(parts, part)
		p.Estimates, p.Errors = append(p.Estimates, r.Estimate), append(p.Errors, r.StandardError)
		p.Rollouts += r.Rollouts
	}
	m, weights, err := estimate.Pool(a.Prior(), parts...)
	if err != nil {
		return nil, err
	}
	p.Weights = weights
	for k, r := range all {
		p.Losses.Add(r.Losses, weights[k])
	}
	p.Estimate, p.StandardError, p.Interval = m.Value, m.StandardError, [2]float64{m.Low, m.High}
	p.SampleError, err = evaluation.OverTasks(m, all[0].Shares(), all[0].ClusterOf())
	return p, err
}

// Text writes the pool for people.
func (p *Pooled) Text(w io.Writer) error {
	for k, name := range p.Evaluations {
		if _, err := fmt.Fprintf(w, "%.4f ± %.4f  weight %.3f  %s\n", p.Estimates[k], p.Errors[k], p.Weights[k], name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\n  together    %.4f ± %.4f, 95%% interval %.4f to %.4f, by %d rollouts\n  other tasks %s\n%s",
		p.Estimate, p.StandardError, p.Interval[0], p.Interval[1], p.Rollouts, show.SampleError(p.SampleError), againLine(p.Losses, "lost       ", "mean"))
	return err
}
