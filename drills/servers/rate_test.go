//go:build drill

package servers_test

import (
	"bytes"
	"cmp"
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
func rate(l *drill.Lab) {
	e := l.LoadExperiment("experiments-live.toml")
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	l.OK(err)
	tasks, err := benchmark.Reader{Prompts: prompts}.Read(filepath.Join(*model, "primer.jsonl"))
	l.OK(err)
	servers := l.StartWorker(e, firstPort, l.Path("servers"))
	defer servers.Stop(context.Background())
	r := &rates{l, e, tasks, servers.URLs()}
	r.prepare()
	r.bare(-1) // warms the servers up
	programs := []struct {
		name string
		run  func(round int) float64
		sum  float64
	}{{"the bare loop", r.bare, 0}, {"speceval", r.speceval, 0}, {"inspect_ai", r.inspect, 0}}
	for round := range rateRounds {
		for i := range programs {
			p := &programs[(round+i)%len(programs)] // the first one changes
			rate := p.run(round)
			l.Logf("round %d: %s %.1f rollouts/s", round+1, p.name, rate)
			p.sum += rate
		}
	}
	bare, speceval, inspect := programs[0].sum, programs[1].sum, programs[2].sum
	least := func(what string, ratio, want float64) {
		l.Sub(what, func(l *drill.Lab) {
			if l.Logf("%.3f", ratio); ratio < want {
				l.Errorf("it is %.3f, want %g", ratio, want)
			}
		})
	}
	least("the bare loop is hardly faster than speceval", speceval/bare, ofBare)
	least("speceval is many times as fast as inspect_ai", speceval/inspect, ofInspect)
}

// prepare writes the inputs of the programs.
func (r *rates) prepare() {
	m, s := r.Models[0], r.Sampling
	var inspects bytes.Buffer
	lines := json.NewEncoder(&inspects)
	for _, task := range r.tasks { // the whole question in one turn
		question := strings.TrimSpace(task.SystemPrompt + "\n" + task.UserPrompt)
		r.OK(lines.Encode(map[string]string{"prompt": question, "answer": task.Answer}))
	}
	r.Write(r.Path("inspect.jsonl"), inspects.Bytes())
	r.WriteConfig(r.Path("experiments.toml"), drill.Settings{
		"corpus":    drill.Settings{"source": "vllm", "tasks": drill.FromRoot(*model), "rollouts_per_task": rateRollouts},
		"model":     []drill.Settings{{"id": m.ID, "path": m.Path, "max_sequences": m.MaxSequences}},
		"benchmark": []drill.Settings{{"id": r.tasks[0].Benchmark}},
		"sampling": drill.Settings{
			"temperature": s.Temperature, "top_p": s.TopP, "max_tokens": s.MaxTokens, "context_tokens": s.ContextTokens,
		},
		"systems": drill.Settings{"replicas": len(r.urls), "window": r.Systems.Window},
		"worker":  []drill.Settings{{"name": "cpu", "urls": r.urls}},
	})
}

// speceval generates and scores into a new folder, from the start of the program.
func (r *rates) speceval(round int) float64 {
	begin := time.Now()
	r.Do(0, "run", "generate", "score", "--config", r.Path("experiments.toml"),
		"--out", r.Path(fmt.Sprintf("speceval-%d", round)), "--set", fmt.Sprintf("experiment.seed=%d", round))
	return float64(len(r.tasks)*rateRollouts) / time.Since(begin).Seconds()
}

// inspect evaluates all tasks by a process for each server, a share of the epochs each.
func (r *rates) inspect(round int) float64 {
	share := rateEpochs / len(r.urls)
	var all []*drill.Process
	for i, url := range r.urls {
		all = append(all, r.StartProgram(r.Path(fmt.Sprintf("inspect-%d-%d.txt", round, i)), drill.FromRoot(*python),
			drill.FromRoot("drills/servers/evaluate.py"), r.Path("inspect.jsonl"), strconv.Itoa(share), url, r.Models[0].ID,
			strconv.Itoa(r.Systems.Window), fmt.Sprint(r.Sampling.Temperature), fmt.Sprint(r.Sampling.TopP),
			strconv.Itoa(r.Sampling.MaxTokens)))
	}
	var begin, end float64 // seconds since 1970, as evaluate.py prints them
	for _, p := range all {
		p.Wait()
		p.Says(0)
		var took struct{ Begin, End float64 }
		text := strings.TrimSpace(p.Text())
		r.OK(json.Unmarshal([]byte(text[strings.LastIndexByte(text, '\n')+1:]), &took))
		begin, end = min(cmp.Or(begin, took.Begin), took.Begin), max(end, took.End)
	}
	return float64(len(r.tasks)*share*len(r.urls)) / (end - begin)
}

// bare asks for every rollout as fast as the servers answer, from as many places as
// requests may be outstanding. Answers are read to their end and discarded.
func (r *rates) bare(round int) float64 {
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
			for i := next.Add(1) - 1; i < total && errors.Join(faults[place], r.Ctx.Err()) == nil; i = next.Add(1) - 1 {
				faults[place] = r.ask(client, r.urls[place%len(r.urls)], r.tasks[i/rateRollouts], int64(round+1)<<32+i)
			}
		})
	}
	askers.Wait()
	r.OK(append(faults, r.Ctx.Err())...)
	return float64(total) / time.Since(begin).Seconds()
}

// ask asks for one rollout.
func (r *rates) ask(client *http.Client, url string, task benchmark.Task, seed int64) error {
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
	response, err := client.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
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
