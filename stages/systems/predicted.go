package systems

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/policy"
	"speceval/internal/policy/seed"
	"speceval/internal/results/measurement"
	"speceval/internal/servers/router"
	"speceval/internal/store/group"
	"speceval/pipeline/dag"
)

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
		once, scale := average(drawn), average(scales) // the scales of the repeats multiply the times of draws
		_, measuredSE := measurement.Spread(measured)
		sd, _ := measurement.Spread(drawn)
		p := predicted{Prediction: measurement.Prediction{
			Benchmark: s.pair.Benchmark, Model: s.pair.Model, NTasks: int32(s.pair.N()), Budget: int32(s.budget), Strategy: strategy.Name,
			Runs: int32(len(measured)), Draws: draws,
			Measured: average(measured), MeasuredSE: measuredSE, Predicted: scale * once, PredictedSD: sd * scale, Scale: scale,
		}}
		for i, t := range measured {
			p.missed = append(p.missed, t/(scales[i]*once)-1)
		}
		rows = append(rows, p)
	}
	return rows, nil
}

// setErrors sets the errors of the differences of a model's rows. The distance of a run from
// its prediction depends on the machine: its relative spread is the spread of HBN's runs in
// all settings together, about the means of their rows, since a setting has few. It is
// unknown if each has a single one.
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

// draws is how many executions under the virtual clock a prediction is the mean
// of.
const draws = 32

// computation is how long a provisional allocation takes in the background.
// BenchmarkProvisional says 11 to 14 µs on an idle machine (BENCHMARKS.md); a
// hundred times as much would not show in a time.
const computation = 100 * time.Microsecond

// predictionsUnit predicts the times of the settings that were executed on servers, one
// model after the other. A model whose runs do not tell its speed has no predictions,
// and a note says why.
func (s *Settings) predictionsUnit(settings []*setting) dag.Unit {
	u := dag.Unit{
		ID:         "predictions",
		Config:     s.Slice(append([]string{measuredRepeatsKey}, commonKeys...)...),
		Seed:       seed.Root(s.Seed).Child(name).Label(),
		Outputs:    []string{measurement.PredictionsFile, measurement.SpeedsFile},
		Provenance: "computed",
	}
	for _, s := range settings {
		s.feed(&u)
		u.Needs = append(u.Needs, s.ref(measuredKind), s.ref("plan"))
	}
	u.Run = func(ctx context.Context, job *dag.Job) error {
		var predictions []measurement.Prediction
		var speeds []measurement.Speed
		for _, own := range group.By(settings, (*setting).model) {
			found, err := timed(job, own)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				continue
			}
			o := observed{settings: found}
			if err := o.fit(ctx); err != nil {
				if ctx.Err() != nil {
					return err
				}
				job.Note("no times of %s are predicted: %v", own[0].model(), err)
				continue
			}
			speeds = append(speeds, o.row(own[0].model()))
			var all []predicted
			for _, s := range o.settings {
				rows, err := o.predict(ctx, s)
				if err != nil {
					return fmt.Errorf("predict times of %s: %w", s.id(), err)
				}
				all = append(all, rows...)
			}
			setErrors(all)
			for _, p := range all {
				predictions = append(predictions, p.Prediction)
			}
		}
		if err := dag.WriteRows(job, measurement.PredictionsFile, measurement.PredictionSchema, predictions); err != nil {
			return err
		}
		return dag.WriteRows(job, measurement.SpeedsFile, measurement.SpeedSchema, speeds)
	}
	return u
}

// observed is the properties of one model's replicas by runs of Uniform. It uses other runs
// only by their time, which it is compared with.
type observed struct {
	settings []*timedSetting
	speed    fleet.Speed
	handling time.Duration           // of the router, for a completion
	runs     int                     // that were fitted
	tasks    map[benchmarkTask][]int // tokens of their rollouts
}

// settling is how often the speed and the scales are found from each other. By the
// runs of two real servers a fourth time changes predicted times by 0.003% and
// scales by 0.01%.
const settling = 3

// fit finds the speed by the requests of Uniform's runs, and how much slower the
// replicas were in each repeat by their times.
func (o *observed) fit(ctx context.Context) error {
	handled, completions := 0.0, 0
	for _, s := range o.settings {
		if most := s.Measured.MaxSequences[s.pair.Model]; most > 0 && most < s.Measured.Window {
			return fmt.Errorf("of %d requests at a replica only %d run at a time: what waits there cannot be told from what runs", s.Measured.Window, most)
		}
		for _, r := range s.runs {
			if ofUniform(r.Strategy) {
				handled, completions = handled+r.Handling, completions+int(r.Accepted)
				o.runs++
			}
		}
		s.scales = slices.Repeat([]float64{1}, s.measuredRepeats())
	}
	if o.runs == 0 {
		return fmt.Errorf("there are no runs of %s", policy.UniformAtBudget.Name)
	}
	o.handling = time.Duration(handled / float64(completions) * float64(time.Second))
	for range settling {
		o.centre()
		var served []fleet.Served
		for _, s := range o.settings {
			served = append(served, s.served()...)
		}
		var err error
		if o.speed, err = fleet.FitSpeed(served); err != nil {
			return err
		}
		for _, s := range o.settings {
			if err := o.scale(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// centre divides the scales by their mean, so that the speed is the average repeat's. Runs
// may take longer than their requests show: without it, scales would grow by as much each
// time.
func (o *observed) centre() {
	sum, n := 0.0, 0
	for _, s := range o.settings {
		for _, scale := range s.scales {
			sum, n = sum+scale, n+1
		}
	}
	for _, s := range o.settings {
		for r := range s.scales {
			s.scales[r] *= float64(n) / sum
		}
	}
}

// scale finds by how much the times of each repeat of a setting are longer than
// the speed says: its runs of Uniform, executed again with the same lengths, must
// take as long in all. A machine's speed may change from minute to minute; within
// a repeat all strategies are run one after another.
func (o *observed) scale(ctx context.Context, s *timedSetting) error {
	measured, predicted := make([]float64, len(s.scales)), make([]float64, len(s.scales))
	for _, e := range s.executions {
		at := slices.IndexFunc(s.runs, func(r measurement.Run) bool { return r.Strategy == e.strategy.Name && int(r.Repeat) == e.repeat })
		if e.strategy.Policy != policy.Uniform || at < 0 {
			continue
		}
		t, err := o.execute(ctx, s, e, e.repeat)
		if err != nil {
			return err
		}
		measured[e.repeat], predicted[e.repeat] = measured[e.repeat]+s.runs[at].Time, predicted[e.repeat]+t
	}
	for r := range s.scales {
		if predicted[r] > 0 {
			s.scales[r] = measured[r] / predicted[r]
		}
	}
	return nil
}

// ofUniform reports whether a stored strategy is Uniform at some budget.
func ofUniform(strategy string) bool {
	s := policy.FindStrategy(strategy)
	return s != nil && s.Policy == policy.Uniform
}

// execute is the time of an execution under the virtual clock, in seconds. The
// draw says which of Uniform's runs rollouts have their lengths of.
func (o *observed) execute(ctx context.Context, s *timedSetting, e execution, draw int) (float64, error) {
	engine, err := virtual.New(virtual.Settings{
		Timing: o.speed.Timing, Latency: o.speed.Latency, Handling: o.handling, Computation: computation,
		Replicas: s.Measured.Replicas, Window: s.Measured.Window, Lengths: o.lengths(s, e, draw),
	})
	if err != nil {
		return 0, err
	}
	out, err := e.run(ctx, router.Settings{Engine: engine, Reward: e.coupledRewards()})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.strategy.Name, err)
	}
	return out.record.Time.Seconds(), nil
}

// row is the fitted speed as a row.
func (o *observed) row(model string) measurement.Speed {
	t := o.speed.Timing
	return measurement.Speed{
		Model: model, Base: t.Base.Seconds(), Sequence: t.Sequence.Seconds(), Prompt: t.Prompt.Seconds(),
		Latency: o.speed.Latency.Seconds(), Handling: o.handling.Seconds(),
		Runs: int32(o.runs), Requests: int32(o.speed.Requests), Residual: o.speed.Residual,
	}
}
