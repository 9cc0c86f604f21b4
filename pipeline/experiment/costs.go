package experiment

import (
	"slices"

	"speceval/data"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/pipeline/dag"
	"speceval/pipeline/pair"
)

// cost is what a rollout took in the published timing runs, on eight H20 GPUs.
type cost struct{ tokens, gpuHours float64 }

const (
	publishedGPUs  = 8 // that a published run had
	secondsPerHour = 3600
)

type costs map[[2]string]cost // by benchmark and model

// publishedCosts derives costs from the longest run of each benchmark and
// model under Uniform.
func publishedCosts() (costs, error) {
	runs, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return nil, err
	}
	architectures, err := flops.Parse(data.Architectures(), data.ArchitecturesName)
	if err != nil {
		return nil, err
	}
	longest := make(map[[2]string]int)
	all := make(costs)
	for _, run := range runs {
		at := slices.IndexFunc(architectures, func(a flops.Architecture) bool { return a.Model == run.Model })
		key, n := [2]string{run.Benchmark, run.Model}, int(run.AcceptedRollouts)
		if run.Strategy != measurement.Uniform || at < 0 || n <= longest[key] {
			continue
		}
		longest[key] = n
		all[key] = cost{
			tokens:   tokensOf(architectures[at], run.UsefulFLOPs/float64(n)),
			gpuHours: run.TimeSeconds * publishedGPUs / secondsPerHour / float64(n),
		}
	}
	return all, nil
}

// tokensOf inverts the FLOP proxy: tokens of prompt and answer, all counted as
// if they were the answer's. Where prompts are the most of it that is too few,
// by θ_head/(θ_core + θ_head), 15% at most (paper, Table 7).
func tokensOf(a flops.Architecture, work float64) float64 {
	low, high := 0, 1<<20
	for low < high {
		if mid := (low + high) / 2; a.Request(0, mid) < work {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return float64(low)
}

// expect is what so many requests take.
func (c costs) expect(benchmark, model string, requests, maxTokens int) []dag.Quantity {
	n := float64(requests)
	known, ok := c[[2]string{benchmark, model}]
	if !ok {
		return []dag.Quantity{{Name: "requests", Amount: n}, {Name: "tokens at most of what no published run covers", Amount: n * float64(maxTokens)}}
	}
	return []dag.Quantity{
		{Name: "requests", Amount: n}, {Name: "tokens of prompts and answers", Amount: n * known.tokens},
		{Name: "GPU-hours as in the published runs on H20", Amount: n * known.gpuHours},
	}
}

// expectedSuites is what the runs of all strategies in a setting take, each so
// many times at each of the budgets: as they did in the published runs, where those have the setting.
func expectedSuites(budgets, repeats []int) (func(pair.Pair, int) []dag.Quantity, error) {
	runs, err := measurement.Parse(data.Measurements(), data.MeasurementsName)
	if err != nil {
		return nil, err
	}
	type setting struct {
		profile string
		budget  int
	}
	requests, hours := make(map[setting]float64), make(map[setting]float64)
	for _, run := range runs {
		key := setting{run.Profile(), int(run.ReferenceBudget)}
		at := slices.Index(budgets, key.budget)
		if at < 0 {
			continue
		}
		requests[key] += float64(repeats[at]) * float64(run.AcceptedRollouts+run.ExtraRollouts)
		hours[key] += float64(repeats[at]) * run.TimeSeconds * publishedGPUs / secondsPerHour
	}
	return func(p pair.Pair, budget int) []dag.Quantity {
		key := setting{p.Name(), budget}
		if requests[key] == 0 {
			return nil
		}
		return []dag.Quantity{
			{Name: "requests", Amount: requests[key]},
			{Name: "GPU-hours as in the published runs on H20", Amount: hours[key]},
		}
	}, nil
}
