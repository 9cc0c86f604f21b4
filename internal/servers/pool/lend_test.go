package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"speceval/internal/fleet/imitation"
	"speceval/internal/machine/clock"
	"speceval/internal/servers/launcher"
	"speceval/internal/servers/pool"
	"speceval/internal/servers/vllm"
)

// The test binary is also the server that recipes start.
func TestMain(m *testing.M) {
	if os.Getenv("SERVE") != "" {
		serve()
	}
	os.Exit(m.Run())
}

// serve imitates a server as the flags of a recipe say, until it is killed.
func serve() {
	r := imitation.New(imitation.Settings{Model: flagValue("--served-model-name"), MaxModelLen: 4096})
	if err := r.Listen("127.0.0.1:" + flagValue("--port")); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for { // no empty select: without cgo the runtime ends it as a deadlock
		time.Sleep(time.Hour)
	}
}

func flagValue(name string) string {
	for i, word := range os.Args {
		if word == name {
			return os.Args[i+1]
		}
	}
	return ""
}

// running is a server of a model.
func running(t *testing.T, s imitation.Settings) *imitation.Replica {
	t.Helper()
	r := imitation.New(s)
	t.Cleanup(r.Close)
	if err := r.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return r
}

// said collects the lines of reports.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) report(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, text)
}

func (s *said) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func servers(t *testing.T, all ...pool.Worker) (*pool.Servers, *said) {
	t.Helper()
	return opened(t, pool.New, all)
}

// workers are lent whole.
func workers(t *testing.T, all ...pool.Worker) (*pool.Servers, *said) {
	t.Helper()
	return opened(t, pool.NewWorkers, all)
}

func opened(t *testing.T, open func(pool.Settings) *pool.Servers, all []pool.Worker) (*pool.Servers, *said) {
	t.Helper()
	log := new(said)
	s := open(pool.Settings{
		Window: 4, Attempts: 2, Report: log.report,
		Workers: all, Start: time.Minute, Logs: t.TempDir(), Environment: append(os.Environ(), "SERVE=1"),
	})
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, log
}

func model(id string) pool.Model {
	return pool.Model{
		ID:       id,
		Launch:   launcher.Model{Path: "weights/" + id, Served: id, MaxSequences: 8, ContextTokens: 4096},
		Requires: pool.Requirement{Model: id, ContextTokens: 4096, Version: "0.23.0"},
	}
}

func acquire(t *testing.T, s *pool.Servers, m pool.Model) *pool.Lease {
	return must(s.Acquire(t.Context(), m))
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func ask(t *testing.T, l *pool.Lease, model string) {
	t.Helper()
	request := vllm.Request{
		Sampling: vllm.Sampling{Model: model, Temperature: 1, TopP: 1, MaxTokens: 3},
		Messages: []vllm.Message{{Role: "user", Content: "?"}}, Seed: 1,
	}
	if c, server, err := l.Stream(t.Context(), request, nil); err != nil || c.Usage.Completion == 0 {
		t.Errorf("%s at %q: %+v, %v", model, server, c, err)
	}
}

// hasty is a clock that is ten times as fast as the wall's.
type hasty struct{ began time.Time }

func (h hasty) Now() time.Time { return h.began.Add(10 * time.Since(h.began)) }

func (h hasty) Sleep(ctx context.Context, d time.Duration) error {
	return clock.Wall{}.Sleep(ctx, d/10)
}

// TestAServerThatLoadsIsWaitedFor, as long as an outage may last, or until the end of the work.
func TestAServerThatLoadsIsWaitedFor(t *testing.T) {
	behind := running(t, imitation.Settings{Model: "a", MaxModelLen: 4096})
	to := must(url.Parse(behind.URL()))
	for _, tt := range []struct {
		name   string
		loads  int64 // questions that are answered by 503
		error  string
		closed bool
	}{{"in time", 10, "", false}, {"too long", 1e9, "Loading model", false}, {"interrupted", 1e9, "context canceled", true}} {
		t.Run(tt.name, func(t *testing.T) {
			var asked atomic.Int64
			log, drain := new(said), make(chan struct{})
			proxy := httputil.NewSingleHostReverseProxy(to)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n := asked.Add(1); n > tt.loads {
					proxy.ServeHTTP(w, r)
					return
				} else if n == 3 && tt.closed {
					close(drain)
				}
				http.Error(w, `{"error":{"message":"Loading model"}}`, http.StatusServiceUnavailable)
			}))
			defer server.Close()
			s := pool.New(pool.Settings{
				Window: 1, Attempts: 1, Outage: 20 * time.Second, Clock: hasty{time.Now()}, Report: log.report,
				Workers: []pool.Worker{{Name: "one", URLs: []string{server.URL}}},
			})
			m := foreign("a")
			m.Drain = drain
			lease, err := s.Acquire(t.Context(), m)
			if tt.error == "" && err != nil || tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error)) {
				t.Fatal(err)
			}
			if !tt.closed && strings.Count(log.all(), "(serving.outage_seconds)") != 1 {
				t.Errorf("said %q", log.all())
			}
			if err == nil {
				lease.Release()
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// freePorts returns the first of n free ports in a row. They lie below the ports that the system
// gives to connections.
func freePorts(t *testing.T, n int) int {
	t.Helper()
search:
	for first := 10000 + os.Getpid()*16%20000; first < 32000; first += n {
		for port := range n {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+port)))
			if err != nil {
				continue search
			}
			l.Close()
		}
		return first
	}
	t.Fatal("no free ports")
	return 0
}

func recipe(t *testing.T, replicas int) *launcher.Recipe {
	t.Helper()
	self := must(os.Executable())
	return &launcher.Recipe{Command: strconv.Quote(self) + " serve {model}", Port: freePorts(t, replicas), Replicas: replicas}
}

func TestARecipeServesOneModelAtATime(t *testing.T) {
	s, log := servers(t, pool.Worker{Name: "gpus", Recipe: recipe(t, 1)})
	a := acquire(t, s, model("a"))
	ask(t, a, "a")
	inVain(t, s, model("b"))
	got := make(chan *pool.Lease)
	go func() {
		lease, err := s.Acquire(t.Context(), model("b"))
		if err != nil {
			t.Error(err)
		}
		got <- lease
	}()
	a.Release()
	b := <-got
	ask(t, b, "b")
	if _, _, err := a.Stream(t.Context(), vllm.Request{}, nil); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("a after it was given back and stopped: %v", err)
	}
	b.Release()
	if again := acquire(t, s, model("b")); again.Pool != b.Pool {
		t.Error("b was started again")
	}
	if n := strings.Count(log.all(), "worker gpus: starting 1 servers of "); n != 2 {
		t.Errorf("%d starts: %s", n, log.all())
	}
}

func TestTwoUseAModelAtATime(t *testing.T) {
	a1, a2, b := running(t, imitation.Settings{Model: "a"}), running(t, imitation.Settings{Model: "a"}), running(t, imitation.Settings{Model: "b"})
	s, log := servers(t, pool.Worker{Name: "one", URLs: []string{a1.URL(), b.URL()}}, pool.Worker{Name: "two", URLs: []string{a2.URL()}})
	first, second, other := acquire(t, s, model("a")), acquire(t, s, model("a")), acquire(t, s, model("b"))
	if len(first.Served()) != 2 || first.Served()[1].Version != imitation.Version || first.Pool != second.Pool || len(other.Served()) != 1 {
		t.Errorf("a is served by %+v, b by %+v", first.Served(), other.Served())
	}
	ask(t, first, "a")
	ask(t, other, "b")
	inVain(t, s, model("a"))
	first.Release()
	first.Release() // twice is once
	acquire(t, s, model("a"))
	inVain(t, s, model("a"))
	if log.all() != "" {
		t.Errorf("said %q", log.all())
	}
}

// TestAFailedStartLeavesNothingBehind has another model start after one that cannot, which those
// who want it are told at once.
func TestAFailedStartLeavesNothingBehind(t *testing.T) {
	r := recipe(t, 1)
	good := r.Command
	s, log := servers(t, pool.Worker{Name: "gpus", Recipe: r})
	r.Command = "false {model}"
	if _, err := s.Acquire(t.Context(), model("a")); err == nil || !strings.Contains(err.Error(), "worker gpus") || !strings.Contains(err.Error(), filepath.Join("gpus", "a", "replica-0.log")) {
		t.Errorf("error %v", err)
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := s.Acquire(t.Context(), model("a")); err == nil || !strings.Contains(err.Error(), "replica-0.log") {
				t.Errorf("once more: error %v", err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(log.all(), "starting 1 servers of a"); n != 1 {
		t.Errorf("%d starts: %s", n, log.all())
	}
	r.Command = good
	ask(t, acquire(t, s, model("b")), "b")
}

// TestWhatAWorkerLoads prepares a model before it is started.
func TestWhatAWorkerLoads(t *testing.T) {
	prepared, fault := 0, error(nil)
	worker := pool.Worker{Name: "gpus", Recipe: recipe(t, 1), Prepare: func(m pool.Model) (launcher.Model, error) {
		prepared++
		load := m.Launch
		load.Path, load.Served = "elsewhere", "b" // under another name than the model's, so that it can be told
		return load, fault
	}}
	s, _ := servers(t, worker)
	m := model("a")
	m.Requires.Model = "b"
	acquire(t, s, m).Release()
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
	fault = errors.New("no such shape")
	s, _ = servers(t, worker)
	if _, err := s.Acquire(t.Context(), m); err == nil || !strings.Contains(err.Error(), "worker gpus: no such shape") {
		t.Errorf("error %v", err)
	}
}
