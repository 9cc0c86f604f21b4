package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"speceval/data"
	process "speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/internal/rollout"
)

const (
	smallbench = "smallbench" // the id of the small benchmark
	rollouts   = 40           // K, of each of its tasks
)

// field is where rollouts are generated: a folder with a configuration, the
// outputs and what the program said.
type field struct {
	options
	dir   string
	tasks int
}

// generate has the program make a few thousand rollouts by two servers that it
// launches itself. The program is killed in the middle and run again; then an
// engine is killed. In the end every rollout must be there, once.
func generate(ctx context.Context, o options, dir string, stdout io.Writer) error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Parse(data.SmallBenchmark(), data.SmallBenchmarkName)
	if err != nil {
		return err
	}
	f := &field{o, dir, len(tasks)}
	if err := os.WriteFile(filepath.Join(dir, "experiments.toml"), []byte(f.configuration()), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d rollouts by two real servers that speceval launches\n", f.total())
	before, err := f.killed(ctx, stdout)
	if err != nil {
		return fmt.Errorf("the run that is killed: %w", err)
	}
	if err := f.resumed(ctx, stdout); err != nil {
		return fmt.Errorf("the run that resumes: %w", err)
	}
	return f.check(before, stdout)
}

func (f *field) total() int { return f.tasks * rollouts }

// configuration is the experiment: one thinking model.
func (f *field) configuration() string {
	return fmt.Sprintf(`[corpus]
source = "vllm"
rollouts_per_task = %d

[[model]]
id = "thinking"
path = %q
served = "thinking"
thinking = true
thinking_budget = 16
reasoning_parser = "qwen3"
max_sequences = %d

[[benchmark]]
id = %q

[sampling]
max_tokens = 48
context_tokens = %d

[systems]
replicas = 2
window = %d

%s`, rollouts, model(f.options, "thinking").Path, sequences, smallbench, contextTokens, sequences, launched(f.options, "thinking"))
}

// launched is the part of a configuration by which speceval launches two
// servers of a kind, as realResults does, on a core each.
func launched(o options, kind string) string {
	return worker(o, recipe(o, kind, 0).Arguments) + fmt.Sprintf(`
[serving]
start_seconds = %d
`, int(startLimit.Seconds()))
}

// worker is the [[worker]] of a configuration that launches servers with some
// arguments.
func worker(o options, arguments []string) string {
	r := recipe(o, kinds[0], 0)
	var environment []string
	for _, variable := range r.Environment {
		if !strings.HasPrefix(variable, "VLLM_CPU_OMP_THREADS_BIND") {
			environment = append(environment, variable)
		}
	}
	environment = append(environment, "VLLM_CPU_OMP_THREADS_BIND={replica}") // a core each
	return fmt.Sprintf(`[[worker]]
name = "cpu"
launch = %q
port = %d
arguments = [%s]
environment = [%s]
`, r.Command, firstPort, list(arguments), list(environment))
}

func list(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, strconv.Quote(word))
	}
	return strings.Join(quoted, ", ")
}

func (f *field) out() string { return filepath.Join(f.dir, "out") }

func (f *field) start(name string) (*process.Process, error) {
	return process.StartProgram(filepath.Join(f.dir, name+".txt"), f.environment, f.binary,
		"run", "generate", "--config", filepath.Join(f.dir, "experiments.toml"), "--out", f.out())
}

// killed runs the program until a fifth is there, and kills it. Its servers
// must end with it. It returns what was stored then.
func (f *field) killed(ctx context.Context, stdout io.Writer) ([]rollout.Place, error) {
	p, err := f.start("killed")
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	if err := f.await(ctx, p, f.total()/5); err != nil {
		return nil, err
	}
	p.Kill()
	stored, err := rollout.Stored(f.out())
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stdout, "speceval killed when %d of %d were stored\n", len(stored), f.total())
	begin := time.Now()
	for _, port := range []int{firstPort, firstPort + 1} {
		if err := process.PortFreed(ctx, port); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(stdout, "its servers were gone %.1f s later\n", time.Since(begin).Seconds())
	return stored, nil
}

// resumed runs the program again, kills an engine when a half is there, and
// waits for the end.
func (f *field) resumed(ctx context.Context, stdout io.Writer) error {
	p, err := f.start("resumed")
	if err != nil {
		return err
	}
	defer p.Kill()
	if err := f.await(ctx, p, f.total()/2); err != nil {
		return err
	}
	if err := process.KillEngine(process.GroupOn(firstPort + 1)); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "an engine killed when a half was stored")
	return p.Succeed(ctx)
}

// await waits until so many rollouts are stored.
func (f *field) await(ctx context.Context, p *process.Process, n int) error {
	return p.Until(ctx, func() (bool, error) {
		stored, err := rollout.Stored(f.out())
		return len(stored) >= n, err
	})
}

// check counts what is stored.
func (f *field) check(before []rollout.Place, stdout io.Writer) error {
	stored, err := rollout.Stored(f.out())
	if err != nil {
		return err
	}
	times := make(map[rollout.Place]int)
	tasks := make(map[int32]int)
	for _, place := range stored {
		times[place]++
		tasks[place.TaskIndex]++
	}
	twice, lost := len(stored)-len(times), 0
	for _, place := range before {
		if times[place] == 0 {
			lost++
		}
	}
	short := f.tasks - len(tasks)
	for _, n := range tasks {
		if n != rollouts {
			short++
		}
	}
	fmt.Fprintf(stdout, "%d stored of %d; twice: %d; lost of those before the kill: %d; tasks without exactly %d: %d\n",
		len(stored), f.total(), twice, lost, rollouts, short)
	if len(stored) != f.total() || twice+lost+short > 0 {
		return errors.New("not every rollout is there once")
	}
	return nil
}
