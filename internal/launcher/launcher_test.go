package launcher

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"speceval/internal/clock"
	"speceval/internal/vllm"
)

func TestServersStartAndStop(t *testing.T) {
	port := ports(t, 3)
	w, err := start(t, &testClock{}, recipeAt(port, 3, "slow"))
	if err != nil {
		t.Fatal(err)
	}
	urls := w.URLs()
	if len(urls) != 3 || urls[2] != recipeAt(port, 3, "").URL(2) {
		t.Errorf("the servers are at %q", urls)
	}
	for i, url := range urls {
		client, err := vllm.New(url, vllm.Options{Key: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		if err := probe(t.Context(), client, "tiny"); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
		if w.Process(i) == 0 {
			t.Errorf("replica %d has no process", i)
		}
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range urls {
		if w.Process(i) != 0 {
			t.Errorf("replica %d is still there", i)
		}
	}
	if err := (Recipe{Port: port, Replicas: 2}).free(); err != nil {
		t.Error(err)
	}
	if err := w.Restart(t.Context(), 1); !errors.Is(err, errStopped) {
		t.Errorf("a restart after the stop says %v", err)
	}
}

func TestLogHasHeaderAndNoKey(t *testing.T) {
	w, err := start(t, &testClock{}, recipeAt(ports(t, 1), 1, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(w.logs, "replica-0.log"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(log)
	if n := strings.Count(text, "\n== ") + 1; n != 2 || !strings.HasPrefix(text, "== ") {
		t.Errorf("%d headers for two starts:\n%s", n, text)
	}
	if !strings.Contains(text, "--served-model-name tiny") || !strings.Contains(text, "VLLM_API_KEY=…") {
		t.Errorf("the header lacks the command:\n%s", text)
	}
	// The server has the key, and wrote it; the header must not.
	header, _, _ := strings.Cut(text, "\n")
	if strings.Contains(header, "secret") || !strings.Contains(text, "key secret") {
		t.Errorf("the key is in the header, or not in the environment:\n%s", text)
	}
}

func TestPortInUse(t *testing.T) {
	port := ports(t, 2)
	l, err := net.Listen("tcp", recipeAt(port, 2, "").address(1))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = start(t, &testClock{}, recipeAt(port, 2, "ready"))
	if err == nil || !strings.Contains(err.Error(), "replica 1") || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a port in use: %v", err)
	}
}

func TestFailedStarts(t *testing.T) {
	tests := []struct {
		kind string
		want []string
	}{
		{"broken", []string{"ended before it was healthy (exit status 3)", "CUDA out of memory", "replica-"}},
		{"never", []string{"not healthy after 1m0s", "503", "kind never"}},
		{"other", []string{"not healthy after 1m0s", `serves ["another"], not "tiny"`}},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			port := ports(t, 2)
			l, tell := listener(t)
			var c testClock
			go func() { // the time to start begins when both listen
				for range 2 {
					if _, err := l.Accept(); err != nil {
						return
					}
				}
				c.moving.Store(true)
			}()
			_, err := start(t, &c, recipeAt(port, 2, test.kind, tell))
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if err := (Recipe{Port: port, Replicas: 2}).free(); err != nil {
				t.Errorf("something was left: %v", err)
			}
		})
	}
}

func TestNoSuchProgram(t *testing.T) {
	r := recipeAt(ports(t, 1), 1, "ready")
	r.Command = "/no/such/vllm serve {model}"
	if _, err := start(t, &testClock{}, r); err == nil || !strings.Contains(err.Error(), "start /no/such/vllm") {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestCancelledStart(t *testing.T) {
	l, tell := listener(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, recipeAt(ports(t, 1), 1, "never", tell), tiny,
			Options{Logs: t.TempDir(), Start: 1 << 60, Clock: &testClock{}, Environment: os.Environ()})
		failed <- err
	}()
	conn, err := l.Accept() // the server runs, but will never be healthy
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled start says %v", err)
	}
	ends(t, conn)
}

func TestStopEndsTheWholeGroup(t *testing.T) {
	l, tell := listener(t)
	w, err := start(t, &testClock{}, recipeAt(ports(t, 1), 1, "family", tell))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, engine)
}

func TestDeafServerIsKilled(t *testing.T) {
	l, tell := listener(t)
	w, err := start(t, &testClock{hurried: true}, recipeAt(ports(t, 1), 1, "deaf", tell))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	ends(t, conn)
}

func TestStopInAHurry(t *testing.T) {
	w, err := start(t, &testClock{}, recipeAt(ports(t, 1), 1, "deaf"))
	if err != nil {
		t.Fatal(err)
	}
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Stop(hurry); !errors.Is(err, context.Canceled) {
		t.Errorf("a stop without time says %v", err)
	}
	if w.Process(0) != 0 {
		t.Error("the server is still there")
	}
}

// die makes a server end by itself.
func (w *watched) die(i int) {
	if response, err := http.Get(w.URLs()[i] + "/die"); err == nil {
		response.Body.Close()
	}
}

func TestDeadServerIsRestarted(t *testing.T) {
	w, err := start(t, &testClock{}, recipeAt(ports(t, 2), 2, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, "is healthy")
	w.await(t, "is healthy")
	before, other := w.Process(1), w.Process(0)
	w.die(1)
	w.await(t, "replica 1 died (exit status 7)")
	w.await(t, "replica 1 is healthy")
	if after := w.Process(1); after == 0 || after == before {
		t.Errorf("the process was %d and is %d", before, after)
	}
	if w.Process(0) != other {
		t.Error("replica 0 was restarted, too")
	}
}

func TestServerThatDiesTooOftenStaysDown(t *testing.T) {
	w, err := start(t, &testClock{}, recipeAt(ports(t, 1), 1, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	w.await(t, "is healthy")
	for range mostRestarts {
		w.die(0)
		w.await(t, "is healthy")
	}
	w.die(0)
	w.await(t, "restarted too often")
	if err := w.Restart(t.Context(), 0); !errors.Is(err, errTooOften) {
		t.Errorf("a restart says %v", err)
	}
}

func TestRestartOfAHungServer(t *testing.T) {
	w, err := start(t, &testClock{hurried: true}, recipeAt(ports(t, 1), 1, "deaf"))
	if err != nil {
		t.Fatal(err)
	}
	before := w.Process(0)
	if err := w.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if after := w.Process(0); after == 0 || after == before {
		t.Errorf("the process was %d and is %d", before, after)
	}
	if err := w.Restart(t.Context(), 1); err == nil {
		t.Error("a replica that is not there was restarted")
	}
}

// A pool that sees a replica dead asks for its restart, which is under way.
func TestRestartsDoNotAddUp(t *testing.T) {
	w, err := start(t, clock.Wall{}, recipeAt(ports(t, 1), 1, "ready"))
	if err != nil {
		t.Fatal(err)
	}
	p := w.replicas[0]
	dead := p.current()
	w.die(0)
	<-dead.exited
	if err := p.replace(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	once := w.Process(0)
	if err := p.replace(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if once == 0 || w.Process(0) != once || len(p.restarts) != 1 {
		t.Errorf("processes %d and %d after %d restarts", once, w.Process(0), len(p.restarts))
	}
}
