package pipeline

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/internal/upstream"
	"speceval/internal/upstream/made"
)

// Benchmarks makes files in the forms in which the paper's benchmarks are published,
// with problems of our own under the published ids: large ones are prepared within a
// bound of memory, and all eighteen groups are prepared, checked, answered by the
// simulated fleet and scored.
var Benchmarks = lab.Drill{
	Name: "drill-benchmarks", About: "the paper's benchmarks, from made upstream files to scores, and files of gigabytes",
	Limit: 40 * time.Minute, Shared: []string{"speceval", "dir"},
	Flags: func(flags *flag.FlagSet) func(context.Context, *lab.Lab) error {
		tests := flags.Int64("tests", 2200, "MiB of tests in the large files of programs; 0: none are made")
		memory := flags.Int64("memory", 400, "MB that preparing those may take")
		rollouts := flags.Int("rollouts", 4, "of each task")
		return func(ctx context.Context, l *lab.Lab) error {
			b, err := newBenchmarks(l, *rollouts)
			if err != nil {
				return err
			}
			if *tests > 0 {
				if err := b.large(ctx, *tests<<20, *memory*1e6); err != nil {
					return fmt.Errorf("large files: %w", err)
				}
			}
			return b.whole(ctx)
		}
	},
}

// benchmarks is a lab with the paper's groups of benchmarks.
type benchmarks struct {
	*lab.Lab
	rollouts  int // of each task
	groups    []upstream.Group
	published []profile.Profile
}

func newBenchmarks(l *lab.Lab, rollouts int) (*benchmarks, error) {
	b := &benchmarks{Lab: l, rollouts: rollouts}
	var err error
	if b.published, err = profile.Parse(data.Profiles(), data.ProfilesName); err != nil {
		return nil, err
	}
	b.groups, err = upstream.Parse(data.UpstreamSources(), data.UpstreamGroups())
	return b, err
}

// ids are the published ids of tasks, by benchmark.
func (b *benchmarks) ids() map[string][]string {
	ids := make(map[string][]string)
	for _, p := range b.published {
		ids[p.Benchmark] = p.TaskIDs
	}
	return ids
}

// of are the groups of a source, or those of all others.
func (b *benchmarks) of(source string, others bool) []upstream.Group {
	return slices.DeleteFunc(slices.Clone(b.groups), func(g upstream.Group) bool { return (g.Source.ID == source) == others })
}

// benchmark runs `speceval benchmarks` with these words on groups.
func (b *benchmarks) benchmark(ctx context.Context, groups []upstream.Group, words ...string) (*lab.Process, error) {
	words = append([]string{"benchmarks"}, words...)
	for _, g := range groups {
		words = append(words, g.ID)
	}
	return b.Do(ctx, 0, words...)
}

// large makes files of programs as large as the real ones and prepares them in at most
// so many bytes of memory.
func (b *benchmarks) large(ctx context.Context, wanted, memory int64) error {
	from, groups := b.Path("large"), b.of("livecodebench", false)
	begin := time.Now()
	if err := made.Write(from, made.Options{Groups: groups, IDs: b.ids(), Seed: 1, Tests: wanted}); err != nil {
		return err
	}
	size := int64(0)
	err := filepath.Walk(from, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	b.Printf("%d MB of programs' tests made in %.0f s", size/1e6, time.Since(begin).Seconds())
	if size < wanted {
		return fmt.Errorf("%d bytes were made, want %d", size, wanted)
	}
	begin = time.Now()
	p, err := b.benchmark(ctx, groups, "--from", from, "--to", b.Path("large-tasks"))
	if err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	b.Printf("prepared in %.0f s (%.0f MB/s), with %d MB of memory at most", seconds, float64(size)/1e6/seconds, p.Memory()/1e6)
	if p.Memory() > memory {
		return fmt.Errorf("it took %d MB of memory, want at most %d", p.Memory()/1e6, memory/1e6)
	}
	return os.RemoveAll(from)
}

// modelID is a model of the paper, by whose profiles the fleet answers.
const modelID = "qwen2_5_7b"

// whole takes small files of all groups through everything.
func (b *benchmarks) whole(ctx context.Context) error {
	from, tasks, config, profiles := b.Path("upstream"), b.Path("tasks"), b.Path("experiments.toml"), b.Path("profiles.parquet")
	if err := made.Write(from, made.Options{Groups: b.groups, IDs: b.ids(), Seed: 2, Tests: 1 << 20, Images: 100_000}); err != nil {
		return err
	}
	if _, err := b.benchmark(ctx, b.of("mmlu", true), "--from", from, "--to", tasks); err != nil {
		return err
	}
	if _, err := b.benchmark(ctx, nil, "check", tasks); err != nil {
		return err
	}
	// The ids of MMLU are hashes of its texts, which are not these.
	if _, err := b.benchmark(ctx, b.of("mmlu", false), "--from", from, "--to", tasks, "--unpublished"); err != nil {
		return err
	}
	urls, err := lab.FreeURLs(2) // of a server and of the judge
	if err != nil {
		return err
	}
	if err := lab.WriteConfig(config, b.settings(tasks, urls)); err != nil {
		return err
	}
	if err := os.WriteFile(profiles, data.Profiles(), 0o666); err != nil {
		return err
	}
	b.Printf("%d groups are prepared and checked", len(b.groups))
	fleet, err := b.Serve(ctx, "fleet.txt", config, urls, "--profiles", profiles, "--speed", "0")
	if err != nil {
		return err
	}
	defer fleet.Kill()
	begin := time.Now()
	if _, err := b.Do(ctx, 0, "run", "generate", "score", "--config", config, "--out", b.Path("out")); err != nil {
		return err
	}
	b.Printf("generated and scored in %.0f s", time.Since(begin).Seconds())
	obtained, err := profile.Read(b.Path("out", "score", "profiles.parquet"))
	if err != nil {
		return err
	}
	return b.compare(obtained)
}

// settings are an experiment on all groups, with one server and one judge.
func (b *benchmarks) settings(tasks string, urls []string) lab.Settings {
	var groups []lab.Settings
	for _, g := range b.groups {
		groups = append(groups, lab.Settings{"id": g.ID})
	}
	return lab.Settings{
		"corpus":    lab.Settings{"source": "vllm", "tasks": tasks, "rollouts_per_task": b.rollouts},
		"model":     []lab.Settings{{"id": modelID}},
		"benchmark": groups,
		"systems":   lab.Settings{"replicas": 1},
		"worker":    []lab.Settings{{"name": "fleet", "urls": urls[:1]}},
		"judge":     lab.Settings{"urls": urls[1:], "max_tokens": 256},
	}
}

// compare compares profiles with the probabilities by which the fleet answers.
func (b *benchmarks) compare(obtained []profile.Profile) error {
	published := make(map[string]profile.Profile)
	for _, p := range b.published {
		if p.Model == modelID {
			published[p.Benchmark] = p
		}
	}
	b.Printf("%-48s tasks  passed  expected", "benchmark")
	tasks, off := 0, 0
	for _, p := range obtained {
		truth := published[p.Benchmark]
		passed, mean, variance := 0.0, 0.0, 0.0
		for i, n := range p.PassCounts {
			q, k := truth.P(i), float64(b.rollouts)
			passed, mean, variance = passed+float64(n), mean+k*q, variance+k*q*(1-q)
		}
		tasks += len(p.TaskIDs)
		expected, mark := fmt.Sprintf("%.1f ± %.1f", mean, math.Sqrt(variance)), ""
		if p.TaskIDs[0] != truth.TaskIDs[0] {
			expected = "of other tasks"
		} else if math.Abs(passed-mean) > 4*math.Sqrt(variance)+0.5 {
			mark, off = "  NO", off+1
		}
		b.Printf("%-48s %5d  %6.0f  %s%s", p.Benchmark, len(p.TaskIDs), passed, expected, mark)
	}
	if len(obtained) != len(b.groups) || off > 0 {
		return fmt.Errorf("%d of %d benchmarks are scored, %d of them otherwise than the fleet answers", len(obtained), len(b.groups), off)
	}
	b.Printf("%d tasks of %d benchmarks", tasks, len(obtained))
	return nil
}
