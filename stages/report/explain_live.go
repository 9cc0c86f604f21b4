package report

import (
	"fmt"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/stages/report/measured"
)

// takeRuns takes a cell of prediction_variance apart into the runs that it is of.
func takeRuns(e *evidence, p place) (d dissected, err error) {
	strategies := []string{p.fields["strategy"]}
	switch p.column {
	case "uniform_variance":
		strategies = []string{measurement.Uniform}
	case "variance", "mean":
		if strategies[0] == measured.HBN {
			strategies = []string{measurement.HBNSync, measurement.HBNAsync}
		}
	case "ratio":
		return takeRatio(p)
	default:
		return d, errNoParts
	}
	runs, err := readLiveRows[measurement.Run](e.in, measurement.RunsFile)
	if err != nil {
		return d, err
	}
	var parts []Part
	var samples []agreement.Sample
	byStrategy := map[string][]measurement.Run{}
	for _, strategy := range strategies {
		var estimates []float64
		for _, r := range runs {
			if p.isOf(r) && r.Strategy == strategy {
				byStrategy[strategy] = append(byStrategy[strategy], r)
				estimates = append(estimates, r.Estimate)
			}
		}
		if len(estimates) == 0 {
			return d, fmt.Errorf("%s has no such runs of %s any more", measurement.RunsFile, strategy)
		}
		samples = append(samples, agreement.NewSample(estimates))
	}
	_, freedom := agreement.Pool(samples...)
	for i, strategy := range strategies {
		for _, r := range byStrategy[strategy] {
			away := r.Estimate - samples[i].Mean
			share := away * away / float64(freedom)
			if p.column == "mean" {
				share = r.Estimate / float64(freedom+len(samples))
			}
			parts = append(parts, shared(fmt.Sprintf("%s, repeat %d", r.Strategy, r.Repeat), share, r.Estimate, away))
		}
	}
	d.parts = added("runs", []string{"estimate", "less the mean"}, parts)
	return d, nil
}

// takeRatio takes a ratio apart into its two variances, as the row has them.
func takeRatio(p place) (d dissected, err error) {
	variance, ok := numberIn(p.fields["variance"])
	uniform, both := numberIn(p.fields["uniform_variance"])
	if !ok || !both {
		return d, errNoParts
	}
	d.parts = ranked("variances", "it is that of the strategy over that of Uniform", []string{"variance", "runs"}, []Part{
		option(p.fields["strategy"], variance, float64(p.integer("runs"))), option(measurement.Uniform, uniform, float64(p.integer("uniform_runs")))}, false)
	d.parts.makes(variance / uniform)
	if se, ok := numberIn(p.fields["ratio_se"]); ok {
		d.errors = []ErrorOf{{"finite number of runs", &se, "of both variances, as if the estimates were normal"}}
	}
	return d, nil
}

// isOf reports whether a run under real rewards is of the row's setting.
func (p place) isOf(r measurement.Run) bool {
	return r.Rewards == measurement.Scored && r.Provenance == p.fields["provenance"] &&
		r.Benchmark == p.fields["benchmark"] && r.Model == p.fields["model"] && r.ReferenceBudget == p.budget()
}
