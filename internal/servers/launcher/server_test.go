package launcher

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"speceval/internal/machine/clock"
)

// The test binary is also the server that the tests start; what kind of one,
// SERVER says.
func TestMain(m *testing.M) {
	kind := os.Getenv("SERVER")
	if second, found := strings.CutPrefix(kind, "second-"); found {
		if kind = "ready"; strings.Contains(strings.Join(os.Args, " "), "--seed 1") {
			kind = second
		}
	}
	if kind != "" {
		os.Exit(serve(kind))
	}
	os.Exit(m.Run())
}

// serve is a small imitation of a server's process, in an environment in which TELL is
// where to connect for as long as it lives.
func serve(kind string) int {
	fmt.Println("kind", kind, "key", os.Getenv("VLLM_API_KEY"))
	switch kind {
	case "broken":
		fmt.Fprintln(os.Stderr, "Traceback\n  CUDA out of memory")
		return 3
	case "parent": // has started a server and does not stop it
		port, _ := strconv.Atoi(os.Getenv("PORT"))
		_, err := Start(context.Background(), recipeAt(port, 1, "family", "TELL="+os.Getenv("TELL")), tiny,
			Options{Logs: os.Getenv("LOGS"), Start: time.Minute, Clock: clock.Wall{}, Environment: os.Environ()})
		fmt.Println(err)
		return forever()
	case "family": // has an engine, which tells
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "SERVER=engine")
		if err := child.Start(); err != nil {
			return 4
		}
		_ = os.Unsetenv("TELL")
	}
	if address := os.Getenv("TELL"); address != "" {
		if _, err := net.Dial("tcp", address); err != nil {
			return 5
		}
	}
	if kind == "engine" {
		return forever()
	}
	var port string
	for i, word := range os.Args {
		if word == "--port" {
			port = os.Args[i+1]
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		fmt.Println("OSError:", err)
		return 6
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		if kind == "never" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(7) })
	fmt.Println(http.Serve(listener, nil))
	return 8
}

func forever() int {
	for { // no empty select: without cgo the runtime ends it as a deadlock
		time.Sleep(time.Hour)
	}
}

var tiny = Model{Path: "folder", Served: "tiny", MaxSequences: 2, ContextTokens: 16}

// recipeAt runs this binary as servers of a kind; as the second, if it begins so.
func recipeAt(port, replicas int, kind string, environment ...string) Recipe {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Recipe{Command: "'" + program + "'", Environment: append(environment, "SERVER="+kind), Port: port, Replicas: replicas}
}

// ports finds n free ports in a row.
func ports(t *testing.T, n int) int {
	t.Helper()
next:
	for {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		defer l.Close()
		first := l.Addr().(*net.TCPAddr).Port
		for i := 1; i < n; i++ {
			next, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i))
			if err != nil {
				continue next
			}
			next.Close()
		}
		return first
	}
}
