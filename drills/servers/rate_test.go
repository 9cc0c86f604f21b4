//go:build drill

package servers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"speceval/data"
	"speceval/drills/drill"
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
	*drill.Lab
	*config.Config
	tasks []benchmark.Task
	urls  []string
}

// rate measures how many rollouts a second three programs get from the same servers, by
// turns, with the same tasks, sampling and number of outstanding requests: a bare load
// loop that stores nothing, speceval with generation and scoring, and inspect_ai without
// the time of its imports.
func (o *realVLLM) rate() {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	o.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(drill.FromRoot(filepath.Join(*tiny, "primer.jsonl")))
	o.OK(err)
	e := o.LoadExperiment("experiments-live.toml")
	servers := o.StartWorker(e, portOr(firstPort), o.Path("logs"))
	defer servers.Stop(context.Background())
	r := &rates{Lab: o.Lab, Config: e, tasks: tasks, urls: servers.URLs()}
	r.prepare()
	_, err = r.bare(o.Ctx, -1) // warms the servers up
	o.OK(err)
	names := []string{"bare loop", "speceval", "inspect_ai"}
	sums := make([]float64, len(names))
	for round := range rateRounds {
		for i := range names {
			at := (round + i) % len(names) // the first one changes
			rate, err := []func(context.Context, int) (float64, error){r.bare, r.speceval, r.inspect}[at](o.Ctx, round)
			o.OK(err)
			r.Logf("round %d: %s %.1f rollouts/s", round+1, names[at], rate)
			sums[at] += rate
		}
	}
	for i, least := range map[int]float64{0: ofBare, 2: ofInspect} {
		ratio := sums[1] / sums[i]
		r.Logf("speceval has %.3f times the rate of %s", ratio, names[i])
		if ratio < least {
			r.Errorf("it is %.3f, want %g", ratio, least)
		}
	}
}

// prepare writes the inputs of the programs.
func (r *rates) prepare() {
	m := r.Models[0]
	var inspects strings.Builder
	for _, task := range r.tasks { // the whole question in one turn
		line, err := json.Marshal(map[string]string{"prompt": strings.TrimSpace(task.SystemPrompt + "\n" + task.UserPrompt), "answer": task.Answer})
		r.OK(err)
		inspects.Write(append(line, '\n'))
	}
	r.Write(r.Path("inspect.jsonl"), []byte(inspects.String()))
	r.WriteConfig(r.Path("experiments.toml"), drill.Settings{
		"corpus":    drill.Settings{"source": "vllm", "tasks": drill.FromRoot(*tiny), "rollouts_per_task": rateRollouts},
		"model":     []drill.Settings{{"id": m.ID, "path": m.Path, "max_sequences": m.MaxSequences}},
		"benchmark": []drill.Settings{{"id": r.tasks[0].Benchmark}},
		"sampling": drill.Settings{
			"temperature": r.Sampling.Temperature, "top_p": r.Sampling.TopP, "max_tokens": r.Sampling.MaxTokens, "context_tokens": r.Sampling.ContextTokens,
		},
		"systems": drill.Settings{"replicas": len(r.urls), "window": r.Systems.Window},
		"worker":  []drill.Settings{{"name": "cpu", "urls": r.urls}},
	})
}

// speceval generates and scores into a new folder, from the start of the program.
func (r *rates) speceval(_ context.Context, round int) (float64, error) {
	begin := time.Now()
	r.Do(0, "run", "generate", "score", "--config", r.Path("experiments.toml"),
		"--out", r.Path(fmt.Sprintf("speceval-%d", round)), "--set", fmt.Sprintf("experiment.seed=%d", round))
	return float64(len(r.tasks)*rateRollouts) / time.Since(begin).Seconds(), nil
}

// inspect evaluates all tasks by a process for each server, a share of the epochs each.
func (r *rates) inspect(_ context.Context, round int) (float64, error) {
	shares := make([]struct{ Begin, End float64 }, len(r.urls)) // seconds since 1970, as evaluate.py prints them
	var all []*drill.Process
	for i, url := range r.urls {
		all = append(all, r.StartProgram(r.Path(fmt.Sprintf("inspect-%d-%d.txt", round, i)), drill.FromRoot(*python),
			"drills/servers/evaluate.py", r.Path("inspect.jsonl"), strconv.Itoa(rateEpochs/len(r.urls)), url, r.Models[0].ID,
			strconv.Itoa(r.Systems.Window), fmt.Sprint(r.Sampling.Temperature), fmt.Sprint(r.Sampling.TopP), strconv.Itoa(r.Sampling.MaxTokens)))
	}
	for i, p := range all {
		p.Wait()
		p.Says(0)
		text := strings.TrimSpace(p.Text())
		r.OK(json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &shares[i]))
	}
	begin, end := shares[0].Begin, shares[0].End
	for _, s := range shares {
		begin, end = min(begin, s.Begin), max(end, s.End)
	}
	return float64(len(r.tasks)*(rateEpochs/len(r.urls))*len(r.urls)) / (end - begin), nil
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
