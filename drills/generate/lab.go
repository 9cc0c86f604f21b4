package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"speceval/data"
	process "speceval/drills/lab"
	"speceval/internal/benchmark"
)

// lab is where the drill happens: a folder with a configuration, task files,
// logs and the outputs of two runs.
type lab struct {
	options
	dir   string
	model string
	tasks []benchmark.Task // of both benchmarks
	urls  []string         // of the replicas
}

// newLab writes the configuration and the task files.
func newLab(o options, dir string) (*lab, error) {
	l := &lab{options: o, dir: dir, model: "qwen2_5_3b"}
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return nil, err
	}
	small, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		return nil, err
	}
	sums := sums(40)
	l.tasks = append(small, sums...)
	if err := os.Mkdir(l.path("tasks"), 0o777); err != nil {
		return nil, err
	}
	file, err := os.Create(l.path("tasks", "sums.jsonl"))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(benchmark.WriteTasks(file, sums), file.Close()); err != nil {
		return nil, err
	}
	if l.urls, err = freeURLs(o.replicas); err != nil {
		return nil, err
	}
	return l, os.WriteFile(l.path("experiments.toml"), []byte(l.configuration()), 0o666)
}

// sums is a second benchmark, so that there is more than one unit.
func sums(n int) []benchmark.Task {
	var tasks []benchmark.Task
	for i := range n {
		prompt := fmt.Sprintf("How much is %d and %d?", 17+i, 4*i+3)
		tasks = append(tasks, benchmark.Task{
			Benchmark: "sums", ID: fmt.Sprintf("sum-%d", i), Index: i, Prompt: prompt,
			UserPrompt: prompt, Scorer: "math", Answer: strconv.Itoa(20 + 5*i),
		})
	}
	return tasks
}

// freeURLs finds ports that nothing listens on.
func freeURLs(n int) ([]string, error) {
	var urls []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // when all are found, so that they differ
		urls = append(urls, "http://"+listener.Addr().String())
	}
	return urls, nil
}

func (l *lab) path(parts ...string) string {
	return filepath.Join(append([]string{l.dir}, parts...)...)
}

func (l *lab) total() int { return len(l.tasks) * l.rollouts }

// configuration is the experiment of the drill.
func (l *lab) configuration() string {
	return fmt.Sprintf(`[experiment]
seed = %d

[corpus]
source = "vllm"
tasks = %q
rollouts_per_task = %d

[[model]]
id = %q

[[benchmark]]
id = "smallbench"
[[benchmark]]
id = "sums"

[[worker]]
name = "fleet"
urls = ["%s"]

[serving]
hang_seconds = 1
outage_seconds = 60
on_loss = "again" # the fleet repeats an answer by its seed
`, masterSeed, l.path("tasks"), l.rollouts, l.model, strings.Join(l.urls, `", "`))
}

// fleet starts the fleet and waits until every replica is healthy.
func (l *lab) fleet(ctx context.Context, name, faults string) (*process.Process, error) {
	args := []string{"fleet", "--config", l.path("experiments.toml"), "--log", l.requestLog(name),
		"--restart", "2s",
		"--seed", strconv.FormatUint(l.seed, 10), "--speed", strconv.FormatFloat(l.speed, 'g', -1, 64)}
	if faults != "" {
		args = append(args, "--fail", faults)
	}
	p, err := process.StartProgram(l.path(name+"-fleet.txt"), nil, l.binary, args...)
	if err != nil {
		return nil, err
	}
	for _, url := range l.urls {
		if err := p.Until(ctx, func() (bool, error) { return process.Healthy(ctx, url), nil }); err != nil {
			p.Kill()
			return nil, fmt.Errorf("the fleet, of which %s is to be healthy: %w", url, err)
		}
	}
	return p, nil
}

// requestLog is where the fleet of a run writes what is asked of it.
func (l *lab) requestLog(name string) string { return l.path(name + "-requests.jsonl") }

// stage starts the generate stage with its outputs in the folder of that name.
func (l *lab) stage(name string, attempt int) (*process.Process, error) {
	return process.StartProgram(l.path(fmt.Sprintf("%s-run-%02d.txt", name, attempt)), nil, l.binary,
		"run", "generate", "--config", l.path("experiments.toml"), "--out", l.path(name))
}

// undisturbed runs the stage once, on a fleet without faults.
func (l *lab) undisturbed(ctx context.Context) error {
	fleet, err := l.fleet(ctx, "undisturbed", "")
	if err != nil {
		return err
	}
	defer fleet.Kill()
	p, err := l.stage("undisturbed", 0)
	if err != nil {
		return err
	}
	defer p.Kill()
	return p.Succeed(ctx)
}
