package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/pipeline/config"
)

const (
	rateRounds   = 3  // turns of each program
	rateRollouts = 96 // of each task by speceval and by the bare loop
	rateEpochs   = 16 // of each task by inspect_ai

	// The rate of speceval, of the others' in the same rounds.
	ofBare    = 0.9
	ofInspect = 5.0
)

// rates measures programs on the servers of experiments-live.toml.
type rates struct {
	*lab.Lab
	*config.Config
	python string // with inspect_ai
	tasks  []benchmark.Task
	urls   []string
}

// rate measures how many rollouts a second three programs get from the same servers, by
// turns, with the same tasks, sampling and number of outstanding requests: a bare load
// loop that stores nothing, speceval with generation and scoring, and inspect_ai without
// the time of its imports.
func (o *realVLLM) rate(ctx context.Context) error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(o.small)
	if err != nil {
		return err
	}
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(filepath.Join(folder, "primer.jsonl"))
	if err != nil {
		return err
	}
	e, err := lab.LoadExperiment("experiments-live.toml")
	if err != nil {
		return err
	}
	servers, err := lab.StartWorker(ctx, e, o.port, o.Path("logs"))
	if err != nil {
		return err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	r := &rates{Lab: o.Lab, Config: e, python: o.python, tasks: tasks, urls: servers.URLs()}
	if err := r.prepare(folder); err != nil {
		return err
	}
	if _, err := r.bare(ctx, -1); err != nil { // warms the servers up
		return err
	}
	names := []string{"bare loop", "speceval", "inspect_ai"}
	sums := make([]float64, len(names))
	for round := range rateRounds {
		for i := range names {
			at := (round + i) % len(names) // the first one changes
			rate, err := []func(context.Context, int) (float64, error){r.bare, r.speceval, r.inspect}[at](ctx, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", names[at], round+1, err)
			}
			r.Printf("round %d: %s %.1f rollouts/s", round+1, names[at], rate)
			sums[at] += rate
		}
	}
	return lab.Report(r.Stdout, rateChecks(sums[0], sums[1], sums[2]))
}

// rateChecks compares the rate of speceval with those of the others.
func rateChecks(bare, speceval, inspect float64) []lab.Check {
	least := func(what string, ratio, want float64) lab.Check {
		var fault error
		if ratio < want {
			fault = fmt.Errorf("it is %.3f, want %g", ratio, want)
		}
		return lab.Check{What: fmt.Sprintf("%s (%.3f)", what, ratio), Fault: fault}
	}
	return []lab.Check{
		least("the bare loop is hardly faster than speceval", speceval/bare, ofBare),
		least("speceval is many times as fast as inspect_ai", speceval/inspect, ofInspect),
	}
}

// prepare writes the inputs of the programs, whose task file is in a folder.
func (r *rates) prepare(folder string) (err error) {
	m := r.Models[0]
	var inspects strings.Builder
	for _, task := range r.tasks { // the whole question in one turn
		line, problem := json.Marshal(map[string]string{"prompt": strings.TrimSpace(task.SystemPrompt + "\n" + task.UserPrompt), "answer": task.Answer})
		err = errors.Join(err, problem)
		inspects.Write(append(line, '\n'))
	}
	return errors.Join(err, os.WriteFile(r.Path("inspect.jsonl"), []byte(inspects.String()), 0o666),
		lab.WriteConfig(r.Path("experiments.toml"), lab.Settings{
			"corpus":    lab.Settings{"source": "vllm", "tasks": folder, "rollouts_per_task": rateRollouts},
			"model":     []lab.Settings{{"id": m.ID, "path": m.Path, "max_sequences": m.MaxSequences}},
			"benchmark": []lab.Settings{{"id": r.tasks[0].Benchmark}},
			"sampling": lab.Settings{
				"temperature": r.Sampling.Temperature, "top_p": r.Sampling.TopP, "max_tokens": r.Sampling.MaxTokens, "context_tokens": r.Sampling.ContextTokens,
			},
			"systems": lab.Settings{"replicas": len(r.urls), "window": r.Systems.Window},
			"worker":  []lab.Settings{{"name": "cpu", "urls": r.urls}},
		}))
}

// speceval generates and scores into a new folder, from the start of the program.
func (r *rates) speceval(ctx context.Context, round int) (float64, error) {
	begin := time.Now()
	_, err := r.Do(ctx, 0, "run", "generate", "score", "--config", r.Path("experiments.toml"),
		"--out", r.Path(fmt.Sprintf("speceval-%d", round)), "--set", fmt.Sprintf("experiment.seed=%d", round))
	return float64(len(r.tasks)*rateRollouts) / time.Since(begin).Seconds(), err
}

// inspect evaluates all tasks by a process for each server, a share of the epochs each.
func (r *rates) inspect(ctx context.Context, round int) (float64, error) {
	shares := make([]struct{ Begin, End float64 }, len(r.urls)) // seconds since 1970, as evaluate.py prints them
	faults := make([]error, len(r.urls))
	var all sync.WaitGroup
	for i, url := range r.urls {
		all.Go(func() {
			p, err := lab.StartProgram(r.Path(fmt.Sprintf("inspect-%d-%d.txt", round, i)), nil, r.python, "drills/servers/evaluate.py", r.Path("inspect.jsonl"),
				strconv.Itoa(rateEpochs/len(r.urls)), url, r.Models[0].ID, strconv.Itoa(r.Systems.Window),
				fmt.Sprint(r.Sampling.Temperature), fmt.Sprint(r.Sampling.TopP), strconv.Itoa(r.Sampling.MaxTokens))
			if err == nil {
				defer p.Kill()
				err = p.Succeed(ctx)
			}
			if err == nil {
				text := strings.TrimSpace(p.Text())
				err = json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &shares[i])
			}
			faults[i] = err
		})
	}
	all.Wait()
	begin, end := shares[0].Begin, shares[0].End
	for _, s := range shares {
		begin, end = min(begin, s.Begin), max(end, s.End)
	}
	return float64(len(r.tasks)*(rateEpochs/len(r.urls))*len(r.urls)) / (end - begin), errors.Join(faults...)
}

// bare asks for every rollout as fast as the servers answer, from as many places as
// requests may be outstanding. Answers are read to their end and discarded.
func (r *rates) bare(ctx context.Context, round int) (float64, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: r.Systems.Window}
	defer transport.CloseIdleConnections()
	client, total := &http.Client{Transport: transport}, int64(len(r.tasks)*rateRollouts)
	faults := make([]error, len(r.urls)*r.Systems.Window)
	if round < 0 {
		total = int64(4 * len(faults)) // a warm-up
	}
	var next atomic.Int64
	var askers sync.WaitGroup
	begin := time.Now()
	for place := range faults {
		askers.Go(func() {
			for i := next.Add(1) - 1; i < total && faults[place] == nil; i = next.Add(1) - 1 {
				faults[place] = r.ask(ctx, client, r.urls[place%len(r.urls)], r.tasks[i/rateRollouts], int64(round+1)<<32+i)
			}
		})
	}
	askers.Wait()
	return float64(total) / time.Since(begin).Seconds(), errors.Join(faults...)
}

// ask asks for one rollout.
func (r *rates) ask(ctx context.Context, client *http.Client, url string, task benchmark.Task, seed int64) error {
	messages := []map[string]string{{"role": "user", "content": task.UserPrompt}}
	if task.SystemPrompt != "" {
		messages = append([]map[string]string{{"role": "system", "content": task.SystemPrompt}}, messages...)
	}
	body, err := json.Marshal(map[string]any{
		"model": r.Models[0].ID, "messages": messages, "seed": seed,
		"temperature": r.Sampling.Temperature, "top_p": r.Sampling.TopP, "max_tokens": r.Sampling.MaxTokens,
	})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s: %s", url, response.Status, text))
	}
	return err
}
