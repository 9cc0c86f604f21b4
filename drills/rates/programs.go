package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	process "speceval/drills/lab"
	"speceval/internal/benchmark"
)

// prepare writes what the programs read: a configuration and its task file, and
// a share of the tasks for each process of inspect_ai.
func (b *bench) prepare() error {
	id := b.all[0].Benchmark
	text, err := os.ReadFile(b.tasks)
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.path(id+".jsonl"), text, 0o666); err != nil {
		return err
	}
	model, sampling := b.model(), b.shipped.Sampling
	config := fmt.Sprintf(`[corpus]
source = "vllm"
tasks = %q
rollouts_per_task = %d

[[model]]
id = %q
path = %q
max_sequences = %d

[[benchmark]]
id = %q

[sampling]
temperature = %g
top_p = %g
max_tokens = %d
context_tokens = %d

[systems]
replicas = %d
window = %d

[[worker]]
name = "cpu"
urls = ["%s"]
`, b.dir, b.rollouts, model.ID, model.Path, model.MaxSequences, id,
		sampling.Temperature, sampling.TopP, sampling.MaxTokens, sampling.ContextTokens, len(b.urls), b.window(), strings.Join(b.urls, `", "`))
	if err := os.WriteFile(b.path("experiments.toml"), []byte(config), 0o666); err != nil {
		return err
	}
	for share := range b.urls {
		if err := b.writeShare(share); err != nil {
			return err
		}
	}
	return nil
}

// writeShare writes the tasks that inspect_ai asks one server.
func (b *bench) writeShare(share int) error {
	var lines strings.Builder
	for i, task := range b.all {
		if i%len(b.urls) != share {
			continue
		}
		line, err := json.Marshal(map[string]string{"prompt": prompt(task), "answer": task.Answer})
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	return os.WriteFile(b.share(share), []byte(lines.String()), 0o666)
}

// prompt is the whole of what is asked, in one turn.
func prompt(task benchmark.Task) string {
	return strings.TrimSpace(task.SystemPrompt + "\n" + task.UserPrompt)
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }
func (b *bench) share(n int) string      { return b.path(fmt.Sprintf("share-%d.jsonl", n)) }

// speceval generates and scores into a new folder. Its start and its checks of
// the servers count.
func (b *bench) speceval(ctx context.Context, round int) (float64, error) {
	name := fmt.Sprintf("speceval-%d", round)
	begin := time.Now()
	p, err := process.StartProgram(b.path(name+".txt"), b.environment, b.binary,
		"run", "generate", "score", "--config", b.path("experiments.toml"), "--out", b.path(name), "--set", fmt.Sprintf("experiment.seed=%d", round))
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return 0, err
	}
	return float64(len(b.all)*b.rollouts) / time.Since(begin).Seconds(), nil
}

// evaluation is what evaluate.py says of one server, in seconds since 1970.
type evaluation struct {
	Begin, End float64
	Samples    int
}

// inspect evaluates a share of the tasks on each server at the same time.
func (b *bench) inspect(ctx context.Context, round int) (float64, error) {
	shares := make([]evaluation, len(b.urls))
	faults := make([]error, len(b.urls))
	var both sync.WaitGroup
	for i := range shares {
		both.Go(func() { shares[i], faults[i] = b.evaluate(ctx, round, i) })
	}
	both.Wait()
	for _, err := range faults {
		if err != nil {
			return 0, err
		}
	}
	return rate(shares), nil
}

// rate is the number of samples over the time from the first begin to the last
// end.
func rate(parts []evaluation) float64 {
	begin, end, samples := parts[0].Begin, parts[0].End, 0
	for _, p := range parts {
		begin, end, samples = min(begin, p.Begin), max(end, p.End), samples+p.Samples
	}
	return float64(samples) / (end - begin)
}

func (b *bench) evaluate(ctx context.Context, round, share int) (evaluation, error) {
	var e evaluation
	output := b.path(fmt.Sprintf("inspect-%d-%d.txt", round, share))
	p, err := process.StartProgram(output, b.environment, b.python, b.script, b.share(share), strconv.Itoa(b.epochs), b.urls[share], b.model().ID,
		strconv.Itoa(b.window()), fmt.Sprint(b.shipped.Sampling.Temperature), fmt.Sprint(b.shipped.Sampling.TopP), strconv.Itoa(b.shipped.Sampling.MaxTokens))
	if err != nil {
		return e, err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return e, err
	}
	text, err := os.ReadFile(output)
	if err != nil {
		return e, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		return e, fmt.Errorf("%s: %w", output, err)
	}
	return e, nil
}
