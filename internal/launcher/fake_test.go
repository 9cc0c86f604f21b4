package launcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"speceval/internal/clock"
)

// The test binary is also the server that the tests start; what kind of one,
// SERVER says.
func TestMain(m *testing.M) {
	if kind := os.Getenv("SERVER"); kind != "" {
		os.Exit(serve(kind))
	}
	os.Exit(m.Run())
}

// serve is a small imitation of a server's process.
func serve(kind string) int {
	fmt.Println("kind", kind, "key", os.Getenv("VLLM_API_KEY"))
	switch kind {
	case "broken":
		fmt.Fprintln(os.Stderr, "Traceback\n  CUDA out of memory")
		return 3
	case "parent":
		return launchForever()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "engine":
		if _, err := net.Dial("tcp", os.Getenv("TELL")); err != nil {
			return 5
		}
		for { // no empty select: without cgo the runtime ends it as a deadlock
			time.Sleep(time.Hour)
		}
	case "family":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "SERVER=engine")
		if err := child.Start(); err != nil {
			return 4
		}
		_ = os.Unsetenv("TELL") // the engine tells
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+flagValue("--port"))
	if err != nil {
		fmt.Println(err)
		return 6
	}
	if address := os.Getenv("TELL"); address != "" {
		// The test sees that we listen, and by this connection's end, when we end.
		if _, err := net.Dial("tcp", address); err != nil {
			return 5
		}
	}
	fmt.Println(http.Serve(listener, answers(kind)))
	return 7
}

func flagValue(name string) string {
	for i, word := range os.Args {
		if word == name {
			return os.Args[i+1]
		}
	}
	return ""
}

func answers(kind string) http.Handler {
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if n := asked.Add(1); kind == "never" || kind == "slow" && n < 4 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		if key := os.Getenv("VLLM_API_KEY"); key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name := flagValue("--served-model-name")
		if kind == "other" {
			name = "another"
		}
		fmt.Fprintf(w, `{"data": [{"id": %q}]}`, name)
	})
	mux.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(7) })
	return mux
}

// launchForever is a process that has started a server and does not stop it.
func launchForever() int {
	_, err := Start(context.Background(), recipeAt(atoi(os.Getenv("PORT")), 1, cmp.Or(os.Getenv("OF"), "ready"), "TELL="+os.Getenv("TELL")), tiny,
		Options{Logs: os.Getenv("LOGS"), Start: time.Minute, Clock: clock.Wall{}, Environment: os.Environ()})
	fmt.Println(err)
	for { // no empty select: without cgo the runtime ends it as a deadlock
		time.Sleep(time.Hour)
	}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

var tiny = Model{Path: "folder", Served: "tiny", MaxSequences: 2, ContextTokens: 16}

// recipeAt runs this binary as servers of a kind.
func recipeAt(port, replicas int, kind string, environment ...string) Recipe {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Recipe{
		Command: "'" + program + "'", Environment: append([]string{"SERVER=" + kind}, environment...),
		Port: port, Replicas: replicas,
	}
}

// ports finds n free ports in a row.
func ports(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		first := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if first+n < 65536 && (Recipe{Port: first, Replicas: n}).free() == nil {
			return first
		}
	}
	t.Fatal("no free ports")
	return 0
}

// testClock hardly pauses between looks at a server, and lets no other time
// limit end. Its time goes on, by the pauses, when moving. The grace for ending
// servers is over at once when it is hurried.
type testClock struct {
	hurried bool
	moving  atomic.Bool
	passed  atomic.Int64
}

func (c *testClock) Now() time.Time { return time.Unix(0, c.passed.Load()) }

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	if d > longestPause && !(d == grace && c.hurried) {
		<-ctx.Done()
		return ctx.Err()
	}
	if c.moving.Load() {
		c.passed.Add(int64(d))
	}
	return clock.Wall{}.Sleep(ctx, min(d, time.Millisecond))
}

// watched are servers under test, and what was reported of them.
type watched struct {
	*Servers
	reports chan string
	logs    string
}

func start(t *testing.T, c clock.Clock, r Recipe) (*watched, error) {
	t.Helper()
	w := &watched{reports: make(chan string, 64), logs: t.TempDir()}
	var err error
	w.Servers, err = Start(t.Context(), r, tiny, Options{
		Logs: w.logs, Start: time.Minute, Clock: c, Environment: os.Environ(), Key: "secret",
		Report: func(s string) { w.reports <- s },
	})
	if err == nil {
		t.Cleanup(func() { _ = w.Stop(context.Background()) })
	}
	return w, err
}

// await reads reports until one has the text.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case s := <-w.reports:
			if strings.Contains(s, text) {
				return
			}
		case <-t.Context().Done():
			t.Fatalf("never reported: %s", text)
		}
	}
}

// listener accepts the connections that tell of a process's life.
func listener(t *testing.T) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
