package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"speceval/data"
	process "speceval/drills/lab"
	"speceval/internal/profile"
	"speceval/internal/upstream/made"
)

// modelID is a model of the paper, by whose profiles the fleet answers.
const modelID = "qwen2_5_7b"

// speceval runs a command of the program, whose output goes to a file, and gives the
// memory that it took at most, in bytes.
func (l *lab) speceval(ctx context.Context, name string, words ...string) (memory int64, err error) {
	p, err := process.StartProgram(l.path(name+".txt"), nil, l.binary, words...)
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return 0, fmt.Errorf("speceval %s: %w", words[0], err)
	}
	return p.Memory(), nil
}

// whole takes small files of all groups through everything.
func (l *lab) whole(ctx context.Context) error {
	from, tasks, config := l.path("upstream"), l.path("tasks"), l.path("experiments.toml")
	if err := made.Write(from, made.Options{Groups: l.groups, IDs: l.ids, Seed: 2, Tests: 1 << 20, Images: 100_000}); err != nil {
		return err
	}
	published := append([]string{"benchmarks", "--from", from, "--to", tasks}, named(l.of("mmlu", true))...)
	if _, err := l.speceval(ctx, "published", published...); err != nil {
		return err
	}
	if _, err := l.speceval(ctx, "check", "benchmarks", "check", tasks); err != nil {
		return err
	}
	// The ids of MMLU are hashes of its texts, which are not these.
	other := append([]string{"benchmarks", "--from", from, "--to", tasks, "--unpublished"}, named(l.of("mmlu", false))...)
	if _, err := l.speceval(ctx, "unpublished", other...); err != nil {
		return err
	}
	text, url, judge, err := l.configuration(tasks)
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "%d groups are prepared and checked\n", len(l.groups))
	fleet, err := process.StartProgram(l.path("fleet.txt"), nil, l.binary, "fleet", "--config", config, "--profiles", l.path("profiles.parquet"), "--speed", "0")
	if err != nil {
		return err
	}
	defer fleet.Kill()
	for _, server := range []string{url, judge} {
		if err := fleet.Until(ctx, func() (bool, error) { return process.Healthy(ctx, server), nil }); err != nil {
			return fmt.Errorf("the fleet: %w", err)
		}
	}
	begin := time.Now()
	if _, err := l.speceval(ctx, "run", "run", "generate", "score", "--config", config, "--out", l.path("out")); err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "generated and scored in %.0f s\n", time.Since(begin).Seconds())
	return l.compare(l.path("out/score/profiles.parquet"))
}

// configuration is an experiment on all groups, with one server and one judge, whose
// addresses it gives.
func (l *lab) configuration(tasks string) (text, url, judge string, err error) {
	if err := os.WriteFile(l.path("profiles.parquet"), data.Profiles(), 0o666); err != nil {
		return "", "", "", err
	}
	var urls []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", "", err
		}
		defer listener.Close() // after both are known, so that they differ
		urls = append(urls, "http://"+listener.Addr().String())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[corpus]\nsource = \"vllm\"\ntasks = %q\nrollouts_per_task = %d\n\n[[model]]\nid = %q\n", tasks, l.rollouts, modelID)
	for _, g := range l.groups {
		fmt.Fprintf(&b, "\n[[benchmark]]\nid = %q\n", g.ID)
	}
	fmt.Fprintf(&b, "\n[systems]\nreplicas = 1\n\n[[worker]]\nname = \"fleet\"\nurls = [%q]\n\n[judge]\nurls = [%q]\nmax_tokens = 256\n", urls[0], urls[1])
	return b.String(), urls[0], urls[1], nil
}

// probabilities are those that the fleet answers by, of each benchmark's tasks.
func (l *lab) probabilities() (map[string][]float64, error) {
	published, err := profile.Parse(data.Profiles(), data.ProfilesName)
	probabilities := map[string][]float64{}
	for _, p := range published {
		if p.Model == modelID {
			for i := range p.TaskIDs {
				probabilities[p.Benchmark] = append(probabilities[p.Benchmark], p.P(i))
			}
		}
	}
	return probabilities, err
}

// compare holds profiles against the probabilities that the fleet answers by.
func (l *lab) compare(profiles string) error {
	read, err := profile.Read(profiles)
	if err != nil {
		return err
	}
	probabilities, err := l.probabilities()
	if err != nil {
		return err
	}
	fmt.Fprintf(l.stdout, "%-48s tasks  passed  expected\n", "benchmark")
	tasks, off := 0, 0
	for _, p := range read {
		passed, mean, variance := 0.0, 0.0, 0.0
		for i, n := range p.PassCounts {
			q := probabilities[p.Benchmark][i]
			passed, mean, variance = passed+float64(n), mean+float64(l.rollouts)*q, variance+float64(l.rollouts)*q*(1-q)
		}
		tasks += len(p.TaskIDs)
		expected, mark := fmt.Sprintf("%.1f ± %.1f", mean, math.Sqrt(variance)), ""
		if p.TaskIDs[0] != l.ids[p.Benchmark][0] {
			expected = "of other tasks"
		} else if math.Abs(passed-mean) > 4*math.Sqrt(variance)+0.5 {
			mark, off = "  NO", off+1
		}
		fmt.Fprintf(l.stdout, "%-48s %5d  %6.0f  %s%s\n", p.Benchmark, len(p.TaskIDs), passed, expected, mark)
	}
	if len(read) != len(l.groups) || off > 0 {
		return fmt.Errorf("%d of %d benchmarks are scored, %d of them otherwise than the fleet answers", len(read), len(l.groups), off)
	}
	fmt.Fprintf(l.stdout, "%d tasks of %d benchmarks\n", tasks, len(read))
	return nil
}
