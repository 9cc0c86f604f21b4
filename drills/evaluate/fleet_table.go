package main

import (
	"fmt"
	"io"
	"strings"

	"speceval/drills/evaluated"
)

// row is what came of a series.
type row struct {
	*series
	tally            *tally
	ratio, ratioSE   float64 // of the mean squared error to Uniform's variance
	predicted        float64 // the same by the replay, or 1 of Uniform
	predictedSE      float64
	fast, slow       float64 // pass rates of the halves of pilots that were answered faster and slower, means
	extra            float64 // rollouts beside those that count, mean
	pilots           int
	seconds          float64 // of an evaluation, mean
	coverage, spread float64 // share of intervals that hold the truth, and its standard deviation if that is 95%
}

// rowOf sums a series up beside its prediction.
func rowOf(s *series, predictions evaluated.Predictions) (row, error) {
	r := row{series: s, tally: s.tally(), predicted: 1, pilots: s.results[0].Design.Pilots}
	r.ratio, r.ratioSE = r.tally.ratio()
	r.coverage, r.spread = r.tally.Coverage(), evaluated.ShareError(nominal, r.tally.Evaluations)
	if s.policy != evaluated.Uniform {
		p, err := predictions.Of(s.profile, s.budget)
		if err != nil {
			return r, err
		}
		r.predicted, r.predictedSE = p.VarianceRatio, p.RatioSE
	}
	n := float64(len(s.results))
	for i, result := range s.results {
		r.fast += s.fast[i] / n
		r.slow += s.slow[i] / n
		r.extra += float64(result.Extra) / n
		r.seconds += result.Seconds / n
	}
	return r, nil
}

// seriesTable prints rows as Markdown.
func seriesTable(w io.Writer, rows []row) error {
	var b strings.Builder
	fmt.Fprint(&b, "| tasks | N | b | policy | m | evaluations | bias | coverage | √(stated/seen) | variance/Uniform's | by the replay | passed of the faster, slower half | surplus | s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		predicted := fmt.Sprintf("%.3f ± %.3f", r.predicted, r.predictedSE)
		if r.predictedSE == 0 {
			predicted = "1"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %d | %d | %+.5f (%+.1f s.e.) | %.1f%% ± %.1f | %.3f | %.3f ± %.3f | %s | %.3f, %.3f | %.1f | %.2f |\n",
			r.profile.Benchmark, r.profile.N(), r.budget, r.policy, r.pilots, r.tally.Evaluations, r.tally.Bias(), r.tally.BiasScore(),
			100*r.coverage, 100*r.spread, r.tally.Calibration(), r.ratio, r.ratioSE, predicted, r.fast, r.slow, r.extra, r.seconds)
	}
	fmt.Fprint(&b, "\nThe variance is the mean squared error, relative to Uniform's, which is known. The halves are those of the pilot by the time to the answer: wrong answers take longer, so that whoever prefers what completes first is too optimistic.\n\n")
	_, err := io.WriteString(w, b.String())
	return err
}
