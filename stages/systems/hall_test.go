package systems_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/fleet"
	"speceval/internal/fleet/imitation"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/systems"
)

// The worker of the tests: places at each of its replicas.
const (
	replicas = 2
	window   = 4
)

// hall is the lab with servers: imitated replicas behind HTTP, which count what
// they are asked.
type hall struct {
	*lab
	servers []*server
	drain   chan struct{}

	beforeMeasuring func() // nil: nothing

	mu       sync.Mutex
	asked    int  // requests of rollouts
	warmUps  int  // requests of warm-ups
	leases   int  // that are lent
	acquired int  // leases so far
	real     bool // what leases say of the servers
	// before is called before a request of a rollout is served, with its number
	// from 1; it may answer the request itself.
	before func(n int, s *server, w http.ResponseWriter) (answered bool)
}

// server is one replica.
type server struct {
	*imitation.Replica
	url string
}

// newHall is a hall with servers for the first profile of the lab, at a budget
// of 9, once for each strategy. Nothing waits there unless a speed is set.
func newHall(t *testing.T, speed float64) *hall {
	h := &hall{lab: newLab(t), drain: make(chan struct{})}
	h.settings.Budgets = []int{9}
	h.know(h.profiles[0])
	quiz := systems.Tasks{Source: dag.Source{Name: "quiz.jsonl", SHA256: "q"}}
	for i, id := range h.profiles[0].TaskIDs {
		question := fmt.Sprintf("How much is %d and %d?", i, 17*i)
		quiz.Tasks = append(quiz.Tasks, benchmark.Task{Benchmark: "quiz", ID: id, Index: i, Prompt: question, UserPrompt: question, Scorer: "math", Answer: fmt.Sprint(18 * i)})
	}
	sampling := vllm.Sampling{Model: "m", Temperature: 0.6, TopP: 0.95, MaxTokens: 400}
	h.settings.Measured = &systems.Measured{
		Repeats: []int{1}, Replicas: replicas, Window: window, Return: time.Minute, Clock: clock.Wall{}, CPU: func() time.Duration { return 0 }, Cores: 3,
		Tasks:   map[string]systems.Tasks{"quiz": quiz},
		Models:  map[string]vllm.Sampling{"qwen3_5_4b": sampling, "qwen2_5_3b": sampling},
		Acquire: h.acquire,
	}
	for i := range replicas {
		h.serve(i, speed)
	}
	return h
}

// serve starts a replica.
func (h *hall) serve(i int, speed float64) {
	s := &server{Replica: imitation.New(imitation.Settings{
		Model: "m", MaxModelLen: 4096, Speed: speed, Index: i, Restart: 50 * time.Millisecond,
		Author: fleet.MustAuthor(fleet.AuthorSettings{Model: "m", AnswerTokens: 120}),
	})}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.see(s, w, r) {
			s.ServeHTTP(w, r)
		}
	}))
	h.t.Cleanup(func() { s.Close(); front.Close() })
	s.url = front.URL
	h.servers = append(h.servers, s)
}

// see counts a request, and lets before see it.
func (h *hall) see(s *server, w http.ResponseWriter, r *http.Request) (answered bool) {
	id, err := url.PathUnescape(r.Header.Get("X-Request-Id"))
	if err != nil {
		h.t.Errorf("request id %q: %v", r.Header.Get("X-Request-Id"), err)
	}
	h.mu.Lock()
	switch {
	case id == "warm-up":
		h.warmUps++
		fallthrough
	case !strings.Contains(id, "|task="):
		h.mu.Unlock()
		return false
	}
	h.asked++
	n, before := h.asked, h.before
	h.mu.Unlock()
	return before != nil && before(n, s, w)
}

// at has something happen before request n, once.
func (h *hall) at(n int, do func(s *server, w http.ResponseWriter) (answered bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.warmUps = 0, 0
	h.before = func(i int, s *server, w http.ResponseWriter) bool { return i == n && do(s, w) }
}

// counts are the requests since the last call.
func (h *hall) counts() (asked, warmUps int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked, warmUps = h.asked, h.warmUps
	h.asked, h.warmUps, h.before = 0, 0, nil
	return asked, warmUps
}

func (h *hall) acquire(ctx context.Context, model string) (systems.Lease, error) {
	if err := ctx.Err(); err != nil {
		return systems.Lease{}, err
	}
	var members []pool.Replica
	for _, s := range h.servers {
		c, err := vllm.New(s.url, vllm.Options{Connections: window + 2})
		if err != nil {
			return systems.Lease{}, err
		}
		members = append(members, pool.Replica{Client: c})
	}
	p, err := pool.Open(ctx, members, pool.Requirement{Model: "m", Foreign: true}, pool.Settings{Window: window, Attempts: 5, Outage: time.Minute})
	if err != nil {
		return systems.Lease{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leases++
	h.acquired++
	release := func() {
		p.Close()
		h.mu.Lock()
		h.leases--
		h.mu.Unlock()
	}
	return systems.Lease{Pool: p, Simulated: !h.real, Release: release}, nil
}

// attempt runs what is stale until it ends, or ctx or the drain does.
func (h *hall) attempt(ctx context.Context) error {
	h.t.Helper()
	stages := h.stages()
	for i := range stages[2].Units {
		unit := &stages[2].Units[i]
		if run := unit.Run; unit.ID == measuredUnit && h.beforeMeasuring != nil {
			unit.Run = func(ctx context.Context, job *dag.Job) error {
				h.beforeMeasuring()
				return run(ctx, job)
			}
		}
	}
	plan := dagtest.Plan(h.t, stages, h.dir, dag.Selection{})
	runner := dag.Runner{Executor: dagtest.Serial{}, Now: func() time.Time { return time.Unix(0, 0) }}
	err := runner.Run(ctx, h.drain, plan)
	h.idle()
	return err
}

// idle fails the test if something is left of an attempt: a lease, or a request
// at a server a while later.
func (h *hall) idle() {
	h.t.Helper()
	h.mu.Lock()
	leases := h.leases
	h.mu.Unlock()
	if leases != 0 {
		h.t.Errorf("%d leases were not given back", leases)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		left := 0
		for _, s := range h.servers {
			c := must(vllm.New(s.url, vllm.Options{}))
			if m, err := c.Metrics(context.Background()); err == nil {
				left += m.Running + m.Waiting
			}
			c.Close()
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%d requests are left at the servers", left)
		}
	}
}

// succeed runs what is stale to its end.
func (h *hall) succeed() {
	h.t.Helper()
	ok(h.t, h.attempt(h.t.Context()))
}

// fail runs what is stale, which must fail in such words.
func (h *hall) fail(words ...string) {
	h.t.Helper()
	err := h.attempt(h.t.Context())
	if err == nil {
		h.t.Fatal("it did not fail")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			h.t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// scratch lists the files of the measured unit's scratch folder.
func (h *hall) scratch(pattern string) []string {
	h.t.Helper()
	found := must(filepath.Glob(filepath.Join(h.dir, "scratch", "systems", "measured", "*", "*", "*", pattern)))
	return found
}

// measuredFile is an output of the measured unit at a budget.
func measuredFile(what string, budget int) string {
	return fmt.Sprintf("systems/%s/measured/benchmark=quiz/model=qwen3_5_4b/budget=%d.parquet", what, budget)
}

// manifest is the text of the manifest of a unit.
func (h *hall) manifest(unit string) string {
	h.t.Helper()
	text := must(os.ReadFile(filepath.Join(h.dir, "manifests", "systems", filepath.FromSlash(unit)+".json")))
	return string(text)
}

const measuredUnit = "measured/quiz__model=qwen3_5_4b/budget=9"

// intrude makes tokens at a server that are none of ours.
func (s *server) intrude(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"user","content":"Who goes there?"}],"max_tokens":3500,"ignore_eos":true}`
	response, err := http.Post(s.url+"/v1/chat/completions", "application/json", bytes.NewBufferString(body))
	if err != nil {
		t.Error(err)
		return
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the intruder was told %s", response.Status)
	}
}
