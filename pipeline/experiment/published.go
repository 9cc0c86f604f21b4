package experiment

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"speceval/data"
	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/policy/coupled"
	"speceval/internal/results/measurement"
	"speceval/internal/results/paper"
	"speceval/internal/servers/flops"
	"speceval/internal/store/profile"
	"speceval/pipeline/dag"
)

// The data that are built in, each read once. Tests read all of them, so that a fault is one of
// the program.
var (
	// PublishedProfiles are the paper's profiles, sorted by benchmark and model.
	PublishedProfiles = builtIn(func() ([]profile.Profile, error) { return profile.Parse(data.Profiles(), data.ProfilesName) })
	publishedRuns     = builtIn(func() ([]measurement.Measurement, error) {
		return measurement.Parse(data.Measurements(), data.MeasurementsName)
	})
	// releases are the digests of the published profiles' own files.
	releases = builtIn(func() (coupled.Releases, error) {
		return coupled.ParseReleases(data.ProfileSHA256(), data.ProfileSHA256Name, PublishedProfiles())
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
	return fmt.Sprintf("%x", sha256.Sum256(slices.Concat(files...)))
}

// arePublished reports whether profiles, evaluated ones, are exactly the
// paper's: only then do its numbers apply. Both are sorted.
func arePublished(profiles []profile.Profile) bool {
	papers, _, err := profile.Evaluated(PublishedProfiles())
	return err == nil && slices.EqualFunc(profiles, papers, func(a, b profile.Profile) bool {
		return a.SHA256() == b.SHA256()
	})
}

// gpuHours is the time of published runs on their eight GPUs.
func gpuHours(seconds float64) float64 { return seconds * 8 / 3600 }

const gpuHoursName = "GPU-hours as in the published runs on H20"

// hoursOfRollout are the GPU-hours of a rollout in the published runs, by benchmark and model:
// in the longest run of each under Uniform.
var hoursOfRollout = sync.OnceValue(func() map[[2]string]float64 {
	longest, hours := map[[2]string]int32{}, map[[2]string]float64{}
	for _, run := range publishedRuns() {
		key, n := [2]string{run.Benchmark, run.Model}, run.AcceptedRollouts
		if run.Strategy == measurement.Uniform && n > longest[key] {
			longest[key], hours[key] = n, gpuHours(run.TimeSeconds)/float64(n)
		}
	}
	return hours
})

// expectedRollouts returns the expected use of a number of rollouts.
func expectedRollouts(benchmark, model string, rollouts, maxTokens int) []dag.Quantity {
	n := float64(rollouts)
	all := []dag.Quantity{{Name: "requests", Amount: n}, {Name: "tokens of answers at most", Amount: n * float64(maxTokens)}}
	if hours, known := hoursOfRollout()[[2]string{benchmark, model}]; known {
		all = append(all, dag.Quantity{Name: gpuHoursName, Amount: n * hours})
	}
	return all
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
