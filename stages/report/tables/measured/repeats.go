package measured

import (
	"math"
	"slices"

	"speceval/internal/policy"
	"speceval/internal/results/agreement"
	"speceval/internal/results/measurement"
	"speceval/internal/store/group"
	"speceval/internal/store/profile"
	"speceval/stages/report/model"
)

// setting is a setting within which runs can be compared.
type setting struct {
	provenance, benchmark, model, rewards string
	budget                                int32
}

func settingOf(r measurement.Run) setting {
	return setting{r.Provenance, r.Benchmark, r.Model, r.Rewards, r.ReferenceBudget}
}

// profile is the name of the setting's profile.
func (s setting) profile() string { return model.ProfileName(s.benchmark, s.model) }

// series is the runs of a strategy in a setting.
type series []measurement.Run

// grouped puts the wanted runs into series: settings in the order of their first runs, and in
// each the strategies in canonical order.
func grouped(runs []measurement.Run, wanted func(measurement.Run) bool) (all []series) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r measurement.Run) bool { return !wanted(r) })
	slices.SortStableFunc(runs, func(a, b measurement.Run) int { return place(a) - place(b) })
	for _, own := range group.By(series(runs), settingOf) {
		all = append(all, group.By(own, func(r measurement.Run) string { return r.Strategy })...)
	}
	return all
}

// place is the place of a run's strategy among all.
func place(r measurement.Run) int {
	return slices.IndexFunc(policy.Strategies, func(s *policy.Strategy) bool { return s.Name == r.Strategy })
}

// estimates are what the runs estimate of the benchmark's mean.
func (s series) estimates() agreement.Sample {
	var values []float64
	for _, r := range s {
		values = append(values, r.Estimate)
	}
	return agreement.NewSample(values)
}

// unknown is an estimate that is not there.
var unknown = agreement.Estimate{Value: math.NaN(), SE: math.NaN()}

// meanOf is the mean of a profile's pass probabilities with its standard error,
// √(Σ p(1−p)/K)/N, each with its own K.
func meanOf(p profile.Profile) agreement.Estimate {
	square := 0.0
	for i := range p.N() {
		square += p.Variance(i) / float64(p.Rollouts(i))
	}
	return agreement.Estimate{Value: p.Mean(), SE: math.Sqrt(square) / float64(p.N())}
}
