package launcher

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/internal/machine/clock"
)

// later is the wall clock, set forward.
type later struct {
	clock.Wall
	by time.Duration
}

func (c *later) Now() time.Time { return c.Wall.Now().Add(c.by) }

// watched are servers under test, and what was reported of them.
type watched struct {
	*Servers
	t       *testing.T
	clock   later
	reports chan string
	logs    string
}

func started(t *testing.T, r Recipe) *watched {
	t.Helper()
	w := &watched{t: t, reports: make(chan string, 64), logs: t.TempDir()}
	w.Servers = must(Start(t.Context(), r, tiny, Options{
		Logs: w.logs, Start: time.Minute, Clock: &w.clock, Environment: os.Environ(), Key: "secret",
		Report: func(s string) { w.reports <- s },
	}))
	t.Cleanup(w.ended)
	return w
}

// ended stops the servers without grace.
func (w *watched) ended() {
	hurry, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Stop(hurry); !errors.Is(err, context.Canceled) {
		w.t.Errorf("a stop in a hurry: %v", err)
	}
	for i := range w.URLs() {
		if w.Process(i) != 0 {
			w.t.Errorf("replica %d is still there", i)
		}
	}
}

func (w *watched) reported(text string) {
	w.t.Helper()
	for len(w.reports) > 0 {
		if strings.Contains(<-w.reports, text) {
			return
		}
	}
	w.t.Errorf("not reported: %s", text)
}

func TestServersStartAndStop(t *testing.T) {
	r := recipeAt(ports(t, 3), 3, "ready")
	w := started(t, r)
	for i, url := range w.URLs() {
		response, err := http.Get(url + "/health")
		if err != nil || response.StatusCode != http.StatusOK || url != r.url(i) || w.Process(i) == 0 {
			t.Errorf("replica %d at %s, process %d: %v", i, url, w.Process(i), err)
		}
		w.reported("is healthy at http://127.0.0.1:")
	}
	log := must(os.ReadFile(filepath.Join(w.logs, "replica-2.log")))
	// The server has the key, and wrote it; the header must not.
	header, rest, _ := strings.Cut(string(log), "\n")
	if !strings.HasPrefix(header, "== ") || !strings.Contains(header, ` env "CUDA_VISIBLE_DEVICES=2" `) || !strings.HasSuffix(header, ` "--seed" "2" "--disable-uvicorn-access-log"`) || strings.Contains(header, "secret") || !strings.Contains(rest, "key secret") {
		t.Errorf("log:\n%s", log)
	}
	if err := w.Stop(t.Context()); err != nil || w.Process(0)+w.Process(1)+w.Process(2) != 0 {
		t.Errorf("stopped: %v, processes %d, %d, %d", err, w.Process(0), w.Process(1), w.Process(2))
	}
}

// A fault of the second replica stops the first, and nothing is left.
func TestFailedStarts(t *testing.T) {
	for _, tt := range []struct {
		kind string
		want []string
	}{
		{"broken", []string{"replica 1: the server ended before it was healthy (exit status 3)", "CUDA out of memory", "replica-1.log"}},
		{"taken", []string{"replica 1: the server ended before it was healthy", "address already in use"}},
		{"answering", []string{"replica 1: a server answers at http://127.0.0.1:", "already: stop it"}},
		{"never", []string{": not healthy after 1ms: ", "; its log "}},
		{"missing", []string{"start /no/such/vllm"}},
		{"unclosed", []string{"launch command: a quote is not closed"}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			l, tell := listener(t)
			r := recipeAt(ports(t, 2), 2, "second-"+tt.kind, tell)
			limit := time.Minute
			switch tt.kind {
			case "taken", "answering":
				other := must(net.Listen("tcp", strings.TrimPrefix(r.url(1), "http://")))
				status := map[string]int{"taken": http.StatusServiceUnavailable, "answering": http.StatusOK}[tt.kind]
				go http.Serve(other, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
				defer other.Close()
			case "never":
				limit = time.Millisecond
			case "missing":
				r.Command = "/no/such/vllm serve {model}"
			case "unclosed":
				r.Command = "vllm 'serve"
			}
			_, err := Start(t.Context(), r, tiny, Options{Logs: t.TempDir(), Start: limit, Clock: clock.Wall{}, Environment: os.Environ()})
			for _, want := range tt.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			l.Close()
			if conn, err := net.Dial("tcp", strings.TrimPrefix(r.url(0), "http://")); err == nil {
				conn.Close()
				t.Error("the first replica was left")
			}
		})
	}
}

func TestCancelledStart(t *testing.T) {
	l, tell := listener(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := Start(ctx, recipeAt(ports(t, 1), 1, "never", tell), tiny,
			Options{Logs: t.TempDir(), Start: time.Hour, Clock: clock.Wall{}, Environment: os.Environ()})
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

func TestRestarts(t *testing.T) {
	w := started(t, recipeAt(ports(t, 2), 2, "ready"))
	other, runs := w.Process(0), map[int]bool{w.Process(1): true}
	restart := func() {
		t.Helper()
		if err := w.Restart(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if p := w.Process(1); p == 0 || runs[p] || w.Process(0) != other {
			t.Errorf("processes %d and %d", w.Process(0), p)
		}
		runs[w.Process(1)] = true
	}
	restart() // of a server that hangs
	_, _ = http.Get(w.URLs()[1] + "/die")
	<-w.replicas[1].run.Load().exited
	restart()
	w.reported("replica 1 died (exit status 7); see ")
	w.clock.by = restartSpan / 2
	restart()
	if err := w.Restart(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "replica 1 was restarted too often (3 times in 30m0s)") {
		t.Errorf("a fourth restart: %v", err)
	}
	w.clock.by = restartSpan + time.Minute // two were before
	restart()
	log, err := os.ReadFile(filepath.Join(w.logs, "replica-1.log"))
	if n := strings.Count("\n"+string(log), "\n== "); n != 5 {
		t.Errorf("%d headers for five starts: %v", n, err)
	}
}

// A group ends with its server, with the grace of a stop, and when this program is
// killed, engines as well, which no signal of the kernel reaches.
func TestTheWholeGroupEnds(t *testing.T) {
	for name, end := range map[string]func(w *watched){
		"died":    func(w *watched) { _, _ = http.Get(w.URLs()[0] + "/die") },
		"stopped": func(w *watched) { _ = w.Stop(t.Context()) },
		"hurried": func(w *watched) { w.ended() },
	} {
		t.Run(name, func(t *testing.T) {
			l, tell := listener(t)
			w := started(t, recipeAt(ports(t, 1), 1, "family", tell))
			engine := must(l.Accept())
			end(w)
			ends(t, engine)
		})
	}
	t.Run("killed", func(t *testing.T) {
		l, tell := listener(t)
		parent := exec.Command(os.Args[0])
		parent.Env = append(os.Environ(), "SERVER=parent", tell, "PORT="+strconv.Itoa(ports(t, 1)), "LOGS="+t.TempDir())
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		engine := must(l.Accept())
		_ = parent.Process.Kill()
		_ = parent.Wait() // killed
		ends(t, engine)
	})
}

// A group that does not want to end is killed after the grace.
func TestDeafGroup(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	deaf := []string{"/bin/sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 0.1; done`}
	p := must(launch(deaf, os.Environ(), nil, log, time.Now(), time.Second))
	for !strings.Contains(p.words(), "deaf") {
		time.Sleep(time.Millisecond)
	}
	p.stop(t.Context())
	if how := p.cmd.ProcessState.Sys().(syscall.WaitStatus); how.Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v", p.cmd.ProcessState)
	}
}

// listener accepts the connections that tell of a process's life.
func listener(t *testing.T) (net.Listener, string) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { l.Close() })
	return l, "TELL=" + l.Addr().String()
}

// ends waits until the process at the other end of a connection is gone.
func ends(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.ReadAll(conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}
