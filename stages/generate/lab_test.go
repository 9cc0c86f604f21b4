package generate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"speceval/internal/benchmark"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/vllm"
	"speceval/internal/store/rollout"
	"speceval/internal/store/rowfile"
	"speceval/pipeline/dag"
	"speceval/pipeline/dag/dagtest"
	"speceval/stages/generate"
)

// lab is a small corpus and servers that answer at once.
type lab struct {
	t        *testing.T
	dir      string
	settings generate.Settings
	drain    chan struct{}

	mu      sync.Mutex
	asked   []vllm.Request
	leases  int
	answer  func(n int, r vllm.Request) (vllm.Completion, error) // n counts from 1
	version string

	continues bool // and tells tokens
}

func newLab(t *testing.T, tasks, rollouts int) *lab {
	l := &lab{t: t, dir: t.TempDir(), version: "0.23.0", answer: echo}
	b := generate.Benchmark{ID: "quiz", Source: dag.Source{Name: "quiz", SHA256: "q"}}
	for i := range tasks {
		b.Tasks = append(b.Tasks, benchmark.Task{Benchmark: "quiz", ID: fmt.Sprint("t", i), Index: i, UserPrompt: fmt.Sprint("question ", i), Scorer: "math", Answer: "1"})
	}
	l.settings = generate.Settings{
		Seed: 42, Rollouts: rollouts, Benchmarks: []generate.Benchmark{b},
		Models: []generate.Model{{
			ID: "m", Sampling: vllm.Sampling{Model: "served-m", Temperature: 0.6, TopP: 0.95, MaxTokens: 100}, Config: "m/1",
		}},
		Config:  map[string]string{"sampling.temperature": "0.6"},
		Servers: l.servers, Clock: clock.Wall{},
	}
	return l
}

// echo answers any request in one token.
func echo(_ int, r vllm.Request) (vllm.Completion, error) {
	return vllm.Completion{
		Text: "answer to " + r.Messages[len(r.Messages)-1].Content, Finish: "stop",
		Usage: vllm.Usage{Prompt: 3, Completion: 5, Reasoning: -1},
		Sent:  time.Unix(100, 0), Finished: time.Unix(101, 500_000_000),
	}, nil
}

func (l *lab) servers(_ context.Context, model string, _ <-chan struct{}) (generate.Servers, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if model != "m" {
		return nil, fmt.Errorf("no server for %s", model)
	}
	l.leases++
	return l, nil
}

// Stream answers in two pieces, where somebody hears them.
func (l *lab) Stream(ctx context.Context, r vllm.Request, seen func(vllm.Piece)) (vllm.Completion, string, error) {
	if err := ctx.Err(); err != nil {
		return vllm.Completion{}, "http://a:1", err
	}
	l.mu.Lock()
	l.asked = append(l.asked, r)
	n, answer := len(l.asked), l.answer
	l.mu.Unlock()
	c, err := answer(n, r)
	if half := len(c.TokenIDs) / 2; half > 0 && seen != nil {
		seen(vllm.Piece{PromptIDs: c.PromptIDs, IDs: c.TokenIDs[:half]})
		seen(vllm.Piece{IDs: c.TokenIDs[half:], Text: c.Text, Finish: c.Finish})
	}
	return c, "http://a:1", err
}

func (l *lab) Continues() bool    { return l.continues }
func (l *lab) Places() int        { return 8 }
func (l *lab) Resent() int        { return 0 }
func (l *lab) Versions() []string { return []string{l.version} }
func (l *lab) ThinkEnd() int32    { return 7 }
func (l *lab) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases--
}

// try runs what is stale, or everything if forced, and counts the requests.
func (l *lab) try(force bool) (requests int, err error) {
	l.t.Helper()
	l.asked = nil
	plan := dagtest.Plan(l.t, []dag.Stage{generate.Stage(l.settings)}, l.dir, dag.Selection{Stages: []string{"generate"}, Force: force})
	runner := dag.Runner{Executor: dagtest.Serial{}, Origin: dagtest.Origin, Now: clock.Wall{}.Now, KeepGoing: true}
	err = runner.Run(l.t.Context(), l.drain, plan)
	if l.leases != 0 {
		l.t.Errorf("%d leases of servers were not given back", l.leases)
	}
	return len(l.asked), err
}

// stopAt runs until the servers fail at a rollout of the second part, with the first written.
func (l *lab) stopAt(last rollout.Rollout) {
	l.t.Helper()
	answer := l.answer
	l.answer = func(n int, r vllm.Request) (vllm.Completion, error) {
		if r.Seed != last.Seed {
			return answer(n, r)
		}
		for len(must(filepath.Glob(l.file("scratch/generate/quiz/m/*/part-0000.sha256")))) == 0 && l.t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return vllm.Completion{}, errOutage
	}
	l.fails(false)
	l.answer = answer
}

// fails is try with an error.
func (l *lab) fails(force bool) {
	l.t.Helper()
	if _, err := l.try(force); err == nil {
		l.t.Fatal("no error")
	}
}

func (l *lab) run() int {
	l.t.Helper()
	n := must(l.try(false))
	return n
}

// asks is run, and checks the number of its requests.
func (l *lab) asks(want int) {
	l.t.Helper()
	if n := l.run(); n != want {
		l.t.Errorf("%d requests, want %d", n, want)
	}
}

func (l *lab) file(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

func part(n int) string {
	return fmt.Sprintf("generate/benchmark=quiz/model=m/part-%04d.parquet", n)
}

// rows are those of all parts, in order.
func (l *lab) rows() []rollout.Rollout {
	l.t.Helper()
	parts := must(filepath.Glob(l.file("generate/benchmark=quiz/model=m/*")))
	slices.Sort(parts)
	var all []rollout.Rollout
	for _, path := range parts {
		rows, _, err := rowfile.ReadFile[rollout.Rollout](path)
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// wantWhole checks that every rollout is there once, in order, each under a
// seed of its own.
func (l *lab) wantWhole() []rollout.Rollout {
	l.t.Helper()
	rows, k := l.rows(), l.settings.Rollouts
	if want := len(l.settings.Benchmarks[0].Tasks) * k; len(rows) != want {
		l.t.Fatalf("%d rollouts, want %d", len(rows), want)
	}
	seeds := make(map[int64]bool)
	for i, r := range rows {
		if r.TaskIndex != int32(i/k) || r.TaskID != fmt.Sprint("t", i/k) || r.Rollout != int32(i%k) {
			l.t.Fatalf("row %d is %s", i, r.ID())
		}
		seeds[r.Seed] = true
	}
	if len(seeds) != len(rows) {
		l.t.Errorf("%d seeds for %d rollouts", len(seeds), len(rows))
	}
	if _, err := os.Stat(l.file("scratch")); !errors.Is(err, os.ErrNotExist) {
		l.t.Errorf("scratch is still there: %v", err)
	}
	return rows
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
