package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/profile"
	"speceval/internal/variance"
	"speceval/pipeline/pair"
	"speceval/stages/report/stored"
)

// liveStudy is a made-up experiment that measures: one profile of 24 tasks, a
// second generation of it, runs on servers of which those of HBN have 0.7 of
// Uniform's variance, and predictions of their times.
func liveStudy() study {
	random := rand.New(rand.NewPCG(8, 15))
	first := profile.Profile{Benchmark: "primer", Model: "small", Scorer: "maths/1", TestedK: 1024}
	second := first
	second.TestedK = 256
	for i := range 24 {
		p := float64(i) / 23
		draw := func(of int) (passes int) {
			for range of {
				if random.Float64() < p {
					passes++
				}
			}
			return passes
		}
		first.TaskIDs = append(first.TaskIDs, fmt.Sprintf("t%02d", i))
		first.PassCounts = append(first.PassCounts, draw(1024))
		second.PassCounts = append(second.PassCounts, draw(256))
	}
	second.TaskIDs = first.TaskIDs
	s := study{Experiment: stored.Experiment{Budgets: []int32{8}}, pairs: []pair.Pair{pair.Known(first)}}
	m, w := int32(4), 0.45
	s.ratios = []variance.Ratio{
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.Oracle, Donors: "none", VarianceRatio: 0.6},
		{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Policy: variance.HBN, Donors: "none", M: &m, W: &w, VarianceRatio: 0.72, RatioSE: 0.001, Draws: 1024},
	}
	s.designs = []variance.Design{{Policy: variance.HBN, Donors: "none", NTasks: 24, Budget: 8, M: m, W: w, Risk: 0.9, RiskSE: 0.001, Selected: true}}
	mean, sd := first.Mean(), first.VarianceSum()/(24*24*8)
	for _, strategy := range []string{measurement.Uniform, measurement.HBNSync, measurement.HBNAsync} {
		of := 1.0
		if strategy != measurement.Uniform {
			of = 0.7
		}
		sample := normalScores(random, 30)
		for i := range 30 {
			r := measurement.Run{Benchmark: "primer", Model: "small", NTasks: 24, ReferenceBudget: 8, Budget: 8, Strategy: strategy, Provenance: measurement.Measured,
				Rewards: measurement.Scored, Repeat: int32(i), Time: 2, CPU: 0.25, Cores: 2, Handling: 0.01, GapMedian: 0.0002, GapP99: 0.003}
			r.Estimate = mean + 0.003 + sample[i]*math.Sqrt(of*sd)
			s.runs = append(s.runs, r)
			if i < 3 {
				r.Rewards, r.CPU = measurement.Coupled, 0.05+0.001*float64(i)
				s.runs = append(s.runs, r)
			}
		}
	}
	for _, p := range []struct {
		strategy            string
		measured, predicted float64
	}{{measurement.Uniform, 2, 2.01}, {measurement.HBNSync, 2.5, 2.44}, {measurement.HBNAsync, 2.1, 2.35}} {
		s.predictions = append(s.predictions, measurement.Prediction{Benchmark: "primer", Model: "small", NTasks: 24, Budget: 8, Strategy: p.strategy, Runs: 3, Draws: 200,
			Measured: p.measured, MeasuredSE: 0.05, Predicted: p.predicted, PredictedSD: 0.02, DifferenceSE: 0.055, Scale: 1.1})
	}
	for i := range int32(2000) {
		s.tokens = append(s.tokens, 40+i%100+(i/100)*(i/100))
	}
	s.architectures = []flops.Architecture{{Model: "small", ThetaCore: 1000, ThetaHead: 100, FullAttentionLayers: 2, AttentionWidth: 64}}
	s.live = stored.Live{
		Timed: true, Predicted: true, Scored: true,
		Rollouts: map[string]stored.Rollouts{first.Name(): {By: generated, Files: []string{generatedFile}}},
		Second:   &stored.Second{Path: "out-live/second/score/profiles.parquet", Profiles: []profile.Profile{second}, Source: stored.SourceOf("second generation", []byte("made up"))},
	}
	return s
}

// normalScores are n normal draws, shifted and scaled to mean 0 and variance 1.
func normalScores(random *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	sum, square := 0.0, 0.0
	for i := range out {
		out[i] = random.NormFloat64()
		sum += out[i]
	}
	for i := range out {
		out[i] -= sum / float64(n)
		square += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(square / float64(n-1))
	}
	return out
}
