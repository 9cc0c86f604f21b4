package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"sync"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/coupled"
	"speceval/internal/fleet"
	"speceval/internal/flops"
	"speceval/internal/measurement"
	"speceval/internal/paper"
	"speceval/internal/profile"
	"speceval/pipeline/dag"
)

// The data that are built in, each read once. Tests read all of them, so that a fault is one of
// the program.
var (
	publishedProfiles = builtIn(func() ([]profile.Profile, error) { return profile.Parse(data.Profiles(), data.ProfilesName) })
	publishedRuns     = builtIn(func() ([]measurement.Measurement, error) {
		return measurement.Parse(data.Measurements(), data.MeasurementsName)
	})
	// releases are the digests of the published profiles' own files.
	releases = builtIn(func() (coupled.Releases, error) {
		return coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, publishedProfiles())
	})
	// architectures of the paper's models.
	architectures = builtIn(func() ([]flops.Architecture, error) {
		return flops.Parse(data.Architectures(), data.ArchitecturesName)
	})
	// calibration is the model of the fleet that was fitted to the published runs.
	calibration  = builtIn(func() (*fleet.Workload, error) { return fleet.ParseWorkload(data.FleetModels(), data.FleetLengths()) })
	paperNumbers = builtIn(func() (*paper.Numbers, error) { return paper.Parse(data.PaperTargets()) })
	ourPrompts   = builtIn(func() (*benchmark.Prompts, error) { return benchmark.ParsePrompts(data.Prompts()) })
)

func builtIn[T any](read func() (T, error)) func() T {
	return sync.OnceValue(func() T {
		value, err := read()
		if err != nil {
			panic(err)
		}
		return value
	})
}

// calibrationSource is the calibration as an input of units.
func calibrationSource() dag.Source {
	return dag.Source{Name: data.FleetName, SHA256: digest(data.FleetModels(), data.FleetLengths())}
}

// digest is the SHA-256 of files, one after the other.
func digest(files ...[]byte) string {
	h := sha256.New()
	for _, f := range files {
		h.Write(f)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// arePublished reports whether profiles, evaluated ones, are exactly the
// paper's: only then do its numbers apply. Both are sorted.
func arePublished(profiles []profile.Profile) bool {
	papers, _, err := profile.Evaluated(publishedProfiles())
	return err == nil && slices.EqualFunc(profiles, papers, func(a, b profile.Profile) bool {
		return a.SHA256() == b.SHA256()
	})
}

// gpuHours is the time of published runs on their eight GPUs.
func gpuHours(seconds float64) float64 { return seconds * 8 / 3600 }

const gpuHoursName = "GPU-hours as in the published runs on H20"

// cost is the cost of a rollout in the published timing runs.
type cost struct{ tokens, gpuHours float64 }

// publishedCosts derives costs, by benchmark and model, from the longest run of each under
// Uniform.
var publishedCosts = sync.OnceValue(func() map[[2]string]cost {
	longest := map[[2]string]int{}
	all := map[[2]string]cost{}
	for _, run := range publishedRuns() {
		at := slices.IndexFunc(architectures(), func(a flops.Architecture) bool { return a.Model == run.Model })
		key, n := [2]string{run.Benchmark, run.Model}, int(run.AcceptedRollouts)
		if run.Strategy != measurement.Uniform || at < 0 || n <= longest[key] {
			continue
		}
		longest[key] = n
		all[key] = cost{tokens: tokensOf(architectures()[at], run.UsefulFLOPs/float64(n)), gpuHours: gpuHours(run.TimeSeconds) / float64(n)}
	}
	return all
})

// tokensOf inverts the FLOP proxy: tokens of prompt and answer, all counted as
// if they were the answer's. Where prompts are the most of it that is too few,
// by θ_head/(θ_core + θ_head), 15% at most (paper, Table 7).
func tokensOf(a flops.Architecture, work float64) float64 {
	return float64(sort.Search(1<<20, func(n int) bool { return a.Request(0, n) >= work }))
}

// expectedRollouts returns the expected use of a number of rollouts.
func expectedRollouts(benchmark, model string, rollouts, maxTokens int) []dag.Quantity {
	n := float64(rollouts)
	known, ok := publishedCosts()[[2]string{benchmark, model}]
	if !ok {
		return []dag.Quantity{{Name: "requests", Amount: n}, {Name: "tokens at most of what no published run covers", Amount: n * float64(maxTokens)}}
	}
	return []dag.Quantity{
		{Name: "requests", Amount: n}, {Name: "tokens of prompts and answers", Amount: n * known.tokens}, {Name: gpuHoursName, Amount: n * known.gpuHours},
	}
}

// expectedSuite returns the expected use of repeated runs of all strategies in a setting: as they
// did in the published runs; nil where those do not have the setting.
func expectedSuite(profile string, budget, repeats int) []dag.Quantity {
	requests, hours := 0.0, 0.0
	for _, run := range publishedRuns() {
		if int(run.ReferenceBudget) == budget && run.Profile() == profile {
			requests += float64(repeats) * float64(run.AcceptedRollouts+run.ExtraRollouts)
			hours += gpuHours(float64(repeats) * run.TimeSeconds)
		}
	}
	if requests == 0 {
		return nil
	}
	return []dag.Quantity{{Name: "requests", Amount: requests}, {Name: gpuHoursName, Amount: hours}}
}
