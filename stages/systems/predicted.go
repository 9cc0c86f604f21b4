package systems

import (
	"context"
	"fmt"
	"math"
	"slices"

	"speceval/internal/measurement"
	"speceval/internal/policy"
)

// predictAll are the rows of all settings.
func (o *observed) predictAll(ctx context.Context) ([]measurement.Prediction, error) {
	var all []predicted
	for _, s := range o.settings {
		rows, err := o.predict(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("predict times of %s: %w", s.id(), err)
		}
		all = append(all, rows...)
	}
	setErrors(all)
	var rows []measurement.Prediction
	for _, p := range all {
		rows = append(rows, p.Prediction)
	}
	return rows, nil
}

// predicted is a row with what was missed in each of its runs, relative to what is
// predicted of the run.
type predicted struct {
	measurement.Prediction
	missed []float64
}

// predict are the rows of a setting.
func (o *observed) predict(ctx context.Context, s *timedSetting) ([]predicted, error) {
	var rows []predicted
	for _, strategy := range policy.Strategies {
		at := slices.IndexFunc(s.executions, func(e execution) bool { return e.strategy == strategy })
		var measured, scales []float64
		for _, r := range s.runs {
			if r.Strategy == strategy.Name {
				measured, scales = append(measured, r.Time), append(scales, s.scales[r.Repeat])
			}
		}
		if at < 0 || len(measured) == 0 {
			continue
		}
		drawn := make([]float64, draws)
		for draw := range drawn {
			var err error
			if drawn[draw], err = o.execute(ctx, s, s.executions[at], draw); err != nil {
				return nil, err
			}
		}
		rows = append(rows, compare(measurement.Prediction{
			Benchmark: s.pair.Benchmark, Model: s.pair.Model, NTasks: int32(s.pair.N()), Budget: int32(s.budget), Strategy: strategy.Name,
			Runs: int32(len(measured)), Draws: draws,
		}, measured, scales, drawn))
	}
	return rows, nil
}

// compare completes a row but for its error: by the times of the runs, the scales
// of their repeats, and the times of the draws, which the scales multiply.
func compare(row measurement.Prediction, measured, scales, drawn []float64) predicted {
	p := predicted{Prediction: row}
	once := average(drawn)
	p.Scale = average(scales)
	p.Measured, p.Predicted = average(measured), p.Scale*once
	_, p.MeasuredSE = measurement.Spread(measured)
	p.PredictedSD, _ = measurement.Spread(drawn)
	p.PredictedSD *= p.Scale
	for i, t := range measured {
		p.missed = append(p.missed, t/(scales[i]*once)-1)
	}
	return p
}

// setErrors sets the errors of the differences of a model's rows. How far a run is
// from what is predicted of it is a matter of the machine: its relative spread is
// that of HBN's runs in all settings together, about the means of their rows, since
// a setting has few. It is unknown if each has a single one.
func setErrors(rows []predicted) {
	squares, freedom := 0.0, 0
	for _, r := range rows {
		if ofUniform(r.Strategy) {
			continue
		}
		mean := average(r.missed)
		for _, missed := range r.missed {
			squares += float64((missed - mean) * (missed - mean))
		}
		freedom += len(r.missed) - 1
	}
	spread := math.NaN()
	if freedom > 0 {
		spread = math.Sqrt(squares / float64(freedom))
	}
	for i := range rows {
		r := &rows[i]
		r.DifferenceSE = math.Hypot(spread*r.Predicted/math.Sqrt(float64(r.Runs)), r.PredictedSD)
	}
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / math.Max(1, float64(len(values)))
}
