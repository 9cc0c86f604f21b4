//go:build drill

package pipeline_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"speceval/data"
	"speceval/drills/drill"
	"speceval/drills/made"
	"speceval/internal/benchmark/upstream"
	"speceval/internal/store/profile"
)

var (
	mib      = flag.Int64("tests", 2200, "benchmarks: MiB of tests in the large files of programs; 0: none are made")
	rollouts = flag.Int("rollouts", 4, "benchmarks: of each task")
)

// TestBenchmarks makes files in the forms in which the paper's benchmarks are published,
// with problems of our own under the published ids: large ones are prepared within a
// bound of memory, and all eighteen groups are prepared, checked, answered by the
// simulated fleet and scored.
func TestBenchmarks(t *testing.T) {
	b := &benchmarks{Lab: drill.New(t, 40*time.Minute), groups: upstream.Groups(), ids: make(map[string][]string)}
	var err error
	b.published, err = profile.Parse(data.Profiles(), data.ProfilesName)
	b.OK(err)
	for _, p := range b.published {
		b.ids[p.Benchmark] = p.TaskIDs
	}
	if *mib > 0 {
		b.large(*mib<<20, 400e6)
	}
	b.compare(b.whole())
}

// benchmarks is a lab with the paper's groups of benchmarks.
type benchmarks struct {
	*drill.Lab
	groups    []upstream.Group
	published []profile.Profile
	ids       map[string][]string // of published tasks, by benchmark
}

// of are the groups of a source, or those of all others.
func (b *benchmarks) of(source string, others bool) []upstream.Group {
	return slices.DeleteFunc(slices.Clone(b.groups), func(g upstream.Group) bool { return (g.Source.ID == source) == others })
}

// benchmark runs `speceval benchmarks` with these words on groups.
func (b *benchmarks) benchmark(groups []upstream.Group, words ...string) *drill.Process {
	b.Helper()
	words = append([]string{"benchmarks"}, words...)
	for _, g := range groups {
		words = append(words, g.ID)
	}
	return b.Do(0, words...)
}

// large makes files of programs as large as the real ones and prepares them in at most
// so many bytes of memory.
func (b *benchmarks) large(wanted, memory int64) {
	from, groups := b.Path("large"), b.of("livecodebench", false)
	b.OK(made.Write(from, made.Options{Groups: groups, IDs: b.ids, Seed: 1, Tests: wanted}))
	size := int64(0)
	for _, path := range b.Walk(from) {
		info, err := os.Stat(path)
		b.OK(err)
		size += info.Size()
	}
	if size < wanted {
		b.Fatalf("%d bytes were made, want %d", size, wanted)
	}
	begin := time.Now()
	p := b.benchmark(groups, "--from", from, "--to", b.Path("large-tasks"))
	b.Logf("%d MB of programs' tests are prepared in %.0f s, with %d MB of memory at most", size/1e6, time.Since(begin).Seconds(), p.Memory()/1e6)
	if p.Memory() > memory {
		b.Errorf("it took %d MB of memory, want at most %d", p.Memory()/1e6, memory/1e6)
	}
	b.OK(os.RemoveAll(from))
}

// modelID is a model of the paper, by whose profiles the fleet answers.
const modelID = "qwen2_5_7b"

// whole takes small files of all groups through everything, and returns their profiles.
func (b *benchmarks) whole() []profile.Profile {
	from, tasks, config, profiles := b.Path("upstream"), b.Path("tasks"), b.Path("experiments.toml"), b.Path("profiles.parquet")
	b.OK(made.Write(from, made.Options{Groups: b.groups, IDs: b.ids, Seed: 2, Tests: 1 << 20, Images: 100_000}))
	b.benchmark(b.of("mmlu", true), "--from", from, "--to", tasks)
	b.benchmark(nil, "check", tasks)
	// The ids of MMLU are hashes of its texts, which are not these.
	b.benchmark(b.of("mmlu", false), "--from", from, "--to", tasks, "--unpublished")
	urls := b.FreeURLs(2) // of a server and of the judge
	b.WriteConfig(config, b.settings(tasks, urls))
	b.Write(profiles, data.Profiles())
	b.Logf("%d groups are prepared and checked", len(b.groups))
	b.Serve("fleet.txt", config, urls, "--profiles", profiles, "--speed", "0")
	b.Do(0, "run", "generate", "score", "--config", config, "--out", b.Path("out"))
	obtained, err := profile.Read(b.Path("out", "score", "profiles.parquet"))
	b.OK(err)
	return obtained
}

// settings are an experiment on all groups, with one server and one judge.
func (b *benchmarks) settings(tasks string, urls []string) drill.Settings {
	var groups []drill.Settings
	for _, g := range b.groups {
		groups = append(groups, drill.Settings{"id": g.ID})
	}
	return drill.Settings{
		"corpus":    drill.Settings{"source": "vllm", "tasks": tasks, "rollouts_per_task": *rollouts},
		"model":     []drill.Settings{{"id": modelID}},
		"benchmark": groups,
		"systems":   drill.Settings{"replicas": 1},
		"worker":    []drill.Settings{{"name": "fleet", "urls": urls[:1]}},
		"judge":     drill.Settings{"urls": urls[1:], "max_tokens": 256},
	}
}

// compare compares profiles with the probabilities by which the fleet answers.
func (b *benchmarks) compare(obtained []profile.Profile) {
	published := make(map[string]profile.Profile)
	for _, p := range b.published {
		if p.Model == modelID {
			published[p.Benchmark] = p
		}
	}
	b.Logf("%-48s tasks  passed  expected", "benchmark")
	tasks, off := 0, 0
	for _, p := range obtained {
		truth := published[p.Benchmark]
		passed, mean, variance := 0.0, 0.0, 0.0
		for i, n := range p.PassCounts {
			q, k := truth.P(i), float64(*rollouts)
			passed, mean, variance = passed+float64(n), mean+k*q, variance+k*q*(1-q)
		}
		tasks += len(p.TaskIDs)
		expected, mark := fmt.Sprintf("%.1f ± %.1f", mean, math.Sqrt(variance)), ""
		if p.TaskIDs[0] != truth.TaskIDs[0] {
			expected = "of other tasks"
		} else if math.Abs(passed-mean) > 4*math.Sqrt(variance)+0.5 {
			mark, off = "  NO", off+1
		}
		b.Logf("%-48s %5d  %6.0f  %s%s", p.Benchmark, len(p.TaskIDs), passed, expected, mark)
	}
	if len(obtained) != len(b.groups) || off > 0 {
		b.Errorf("%d of %d benchmarks are scored, %d of them otherwise than the fleet answers", len(obtained), len(b.groups), off)
	}
	b.Logf("%d tasks of %d benchmarks", tasks, len(obtained))
}
