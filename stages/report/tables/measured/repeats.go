package measured

import (
	"math"
	"slices"

	"speceval/internal/agreement"
	"speceval/internal/measurement"
	"speceval/internal/profile"
)

// Setting is a setting within which runs can be compared.
type Setting struct {
	Provenance, Benchmark, Model, Rewards string
	Budget                                int32
}

// Profile is the name of the setting's profile.
func (s Setting) Profile() string {
	return profile.Profile{Benchmark: s.Benchmark, Model: s.Model}.Name()
}

// Series is the runs of a strategy in a setting.
type Series struct {
	Setting
	Strategy string
	Runs     []measurement.Run
}

// Grouped puts runs into series: settings in the order of their first runs, and in
// each the strategies likewise.
func Grouped(runs []measurement.Run, wanted func(measurement.Run) bool) (all []Series) {
	for _, r := range runs {
		if !wanted(r) {
			continue
		}
		of := Setting{r.Provenance, r.Benchmark, r.Model, r.Rewards, r.ReferenceBudget}
		at, found := len(all), false
		for i, s := range all {
			if s.Setting == of && !found {
				at, found = i+1, s.Strategy == r.Strategy
			}
		}
		if found {
			all[at-1].Runs = append(all[at-1].Runs, r)
		} else {
			all = slices.Insert(all, at, Series{of, r.Strategy, []measurement.Run{r}})
		}
	}
	return all
}

// Sample is the runs of a strategy in a setting, and what they estimate.
type Sample struct {
	agreement.Sample
	Executions []measurement.Run
}

// SpreadRow is what the runs of a strategy estimate, or those of several strategies
// together.
type SpreadRow struct {
	Setting
	Strategy string
	Samples  []Sample // by strategy
	Uniform  Sample   // of the same setting; of no runs where it has none
	Together agreement.Sample

	Ratio, Replayed agreement.Estimate   // unknown (NaN) where there is none, as of Uniform
	Z               float64              // of their difference
	Verdict         agreement.Verdict    // on it
	Truth           agreement.Estimate   // the mean of the profile
	Bias            agreement.Difference // from it
}

// Both is the name of HBN under either strategy: what the two estimate has the same
// law.
const Both = "hbn"

// Unknown is an estimate that is not there.
var Unknown = agreement.Estimate{Value: math.NaN(), SE: math.NaN()}

// Spreads are the strategies of every setting of runs under real rewards, and both
// of HBN's together. Replayed is the ratio of HBN's variance that a replay gives.
//
// Variances are about the runs' own means. About the mean of the profile they
// would have one degree of freedom more, but would also count its error, b/K of
// Uniform's variance, and whatever bias there is, which has a test of its own
// here.
func Spreads(runs []measurement.Run, profiles []profile.Profile, replayed func(Setting) agreement.Estimate) (rows []SpreadRow) {
	var settings []Setting
	samples := map[Setting]map[string]Sample{}
	for _, s := range Grouped(runs, func(r measurement.Run) bool { return r.Rewards == measurement.Scored }) {
		if samples[s.Setting] == nil {
			settings, samples[s.Setting] = append(settings, s.Setting), map[string]Sample{}
		}
		var estimates []float64
		for _, r := range s.Runs {
			estimates = append(estimates, r.Estimate)
		}
		samples[s.Setting][s.Strategy] = Sample{agreement.NewSample(estimates), s.Runs}
	}
	for _, in := range settings {
		truth := Unknown
		if at := slices.IndexFunc(profiles, func(p profile.Profile) bool { return p.Name() == in.Profile() }); at >= 0 {
			truth = MeanOf(profiles[at])
		}
		of := samples[in]
		add := func(strategy string, samples ...Sample) {
			row := SpreadRow{Setting: in, Strategy: strategy, Samples: samples, Uniform: of[measurement.Uniform], Replayed: replayed(in), Truth: truth}
			if !slices.ContainsFunc(samples, func(s Sample) bool { return s.Runs == 0 }) {
				rows = append(rows, row.judged())
			}
		}
		for _, s := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
			add(s, of[s])
		}
		add(Both, of[measurement.HBNSync], of[measurement.HBNAsync])
	}
	return rows
}

// judged compares the variance with the replay's, which Uniform has none of, and the
// mean with that of the profile.
func (s SpreadRow) judged() SpreadRow {
	var of []agreement.Sample
	for _, x := range s.Samples {
		of = append(of, x.Sample)
	}
	s.Together, s.Ratio, s.Z = combined(of), Unknown, math.NaN()
	if s.Strategy == measurement.Uniform {
		s.Replayed = Unknown
	} else if ratio, ok := agreement.Over(of, s.Uniform.Sample); !ok {
		s.Verdict = agreement.TooFew
	} else if s.Ratio, s.Verdict = ratio.Estimate, agreement.Shown; !math.IsNaN(s.Replayed.Value) {
		d := ratio.Against(s.Replayed)
		s.Z, s.Verdict = d.Z, d.Verdict
	}
	s.Bias = agreement.Mean(s.Together, s.Truth)
	if math.IsNaN(s.Truth.Value) {
		s.Bias.Verdict = agreement.Shown
	}
	return s
}

// combined is the mean of all runs with the variance about the samples' own means.
func combined(samples []agreement.Sample) agreement.Sample {
	if len(samples) == 1 {
		return samples[0]
	}
	var all agreement.Sample
	for _, s := range samples {
		all.Mean += float64(s.Mean * float64(s.Runs))
		all.Runs += s.Runs
	}
	all.Mean /= float64(all.Runs)
	all.Variance, _ = agreement.Pool(samples...)
	return all
}

// MeanOf is the mean of a profile's pass probabilities with its standard error,
// √(Σ p(1−p)/K)/N, each with its own K.
func MeanOf(p profile.Profile) agreement.Estimate {
	sum, variance := 0.0, p.VarianceSum()/float64(p.TestedK)
	if p.Tested != nil {
		variance = 0
	}
	for i := range p.N() {
		sum += p.P(i)
		if p.Tested != nil {
			variance += p.Variance(i) / float64(p.Rollouts(i))
		}
	}
	n := float64(p.N())
	return agreement.Estimate{Value: sum / n, SE: math.Sqrt(variance) / n}
}
