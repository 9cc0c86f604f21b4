package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asProcess is a variable by which the tests are the program.
const asProcess = "SPECEVAL_TEST_AS_PROCESS"

// TestAsProcess is the program, where a test starts it so.
func TestAsProcess(t *testing.T) {
	if os.Getenv(asProcess) == "" {
		t.Skip("for the test below")
	}
	os.Args = []string{"speceval", "check-scorer", "math", "-"}
	main()
}

// A signal ends the program while it reads what never comes, at once and with the exit
// code of interruptions.
func TestSignalsEndReading(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		program := exec.Command(os.Args[0], "-test.run=^TestAsProcess$")
		program.Env = append(os.Environ(), asProcess+"=1")
		stdin := must(program.StdinPipe())
		defer stdin.Close()
		var stderr bytes.Buffer
		program.Stderr = &stderr
		ok(t, program.Start())
		kill := time.AfterFunc(20*time.Second, func() { program.Process.Kill() })
		time.Sleep(time.Second) // until it reads
		ok(t, program.Process.Signal(signal))
		err := program.Wait()
		kill.Stop()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || !bytes.Contains(stderr.Bytes(), []byte("ended at once")) {
			t.Errorf("%v: %v, %q", signal, err, stderr.String())
		}
	}
}

// noFiles can stand where a file is meant, by what is said of it. Each is made at a path.
var noFiles = map[string]struct {
	make func(path string) error
	want string
}{
	"a pipe":             {func(path string) error { return syscall.Mkfifo(path, 0o666) }, "is a pipe"},
	"an endless device":  {func(path string) error { return os.Symlink("/dev/zero", path) }, "is a device"},
	"a folder":           {func(path string) error { return os.Mkdir(path, 0o777) }, "directory"},
	"a file without end": {func(path string) error { write(path, ""); return os.Truncate(path, 1<<44) }, "is longer than"},
}

// readers are the commands that read a file which a user names, each with the name that it has
// below a folder, DIR, and what it says of a folder; "" where one may stand there.
var readers = map[string]struct{ name, words, folder string }{
	"configuration":                  {"own.toml", "plan --config DIR/own.toml", "directory"},
	"configuration of an evaluation": {"own.toml", "evaluate list --config DIR/own.toml", "directory"},
	"tasks":                          {"own.jsonl", "benchmarks check DIR/own.jsonl", ""},
	"tasks of a folder":              {"own.jsonl", "benchmarks check DIR --unpublished", "directory"},
	"tasks as CSV":                   {"own.csv", "benchmarks check DIR/own.csv", ""},
	"tasks of an evaluation":         {"own.jsonl", "evaluate plan --benchmark DIR/own.jsonl --budget 4", "directory"},
	"tests of a task":                {"tests.json", "benchmarks check DIR/coded.jsonl", "directory"},
	"prompts":                        {"math.txt", "benchmarks check ../data/smallbench/smallbench.jsonl --set corpus.prompts=DIR", ""},
	"profiles":                       {"own.parquet", "compare DIR/own.parquet DIR/own.parquet", "no log of "},
	"profiles of the experiment":     {"own.csv", "plan --set corpus.profiles=DIR/own.csv", "directory"},
	"a prior":                        {"own.csv", "evaluate plan --benchmark ../data/smallbench/smallbench.jsonl --budget 4 --prior DIR/own.csv --out DIR/out", "no log of "},
	"a prior in a log":               {"own.json", "evaluate plan --benchmark ../data/smallbench/smallbench.jsonl --budget 4 --prior DIR/own.json --out DIR/out", ""},
	"logs":                           {"own.eval", "import DIR/own.eval --to DIR/made.csv", ""},
	"logs as rows":                   {"own.parquet", "import DIR/own.parquet --to DIR/made.csv", ""},
	"cases":                          {"own.tsv", "check-scorer math DIR/own.tsv", "directory"},
	"files of a benchmark":           {"HuggingFaceH4/aime_2024/data/train-00000-of-00001.parquet", "benchmarks aime24 --from DIR --to DIR/to", "directory"},
	"a judge's prompt":               {"judge.txt", "plan --config ../experiments-small.toml --set judge.prompt=DIR/judge.txt", "directory"},
}

// Where a file is meant and something else is, every command says so at once.
func TestOnlyFilesAreRead(t *testing.T) {
	for reader, r := range readers {
		for what, none := range noFiles {
			want := none.want
			if what == "a folder" {
				want = r.folder
			} else if r.name == "tests.json" && what == "an endless device" {
				want = "escapes"
			}
			if want == "" {
				continue
			}
			t.Run(reader+"/"+what, func(t *testing.T) {
				dir := t.TempDir()
				write(filepath.Join(dir, "coded.jsonl"), `{"id":"a","prompt":"p","user_prompt":"p","scorer":"code","tests_file":"tests.json"}`)
				path := filepath.Join(dir, r.name)
				ok(t, os.MkdirAll(filepath.Dir(path), 0o777))
				if err := none.make(path); err != nil {
					t.Skip("the file system can have none: ", err)
				}
				type outcome struct {
					code   int
					stderr string
				}
				done := make(chan outcome, 1)
				go func() {
					code, _, stderr := onShell(words(strings.ReplaceAll(r.words, "DIR", dir))...)
					done <- outcome{code, stderr}
				}()
				select {
				case o := <-done:
					if o.code != exitUsage && o.code != exitFailed || !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, r.name) {
						t.Errorf("exit code %d, %q, want %q and %s", o.code, o.stderr, want, r.name)
					}
				case <-time.After(10 * time.Second):
					t.Fatal("it goes on")
				}
			})
		}
	}
}

// attacks are answers that no server sends that was asked for 512 tokens. %d in a piece is
// its number, from 1.
var attacks = map[string]struct {
	piece  string
	pieces int
	every  time.Duration
	part   bool // of one event
	want   string
}{
	"a text of 128 MiB":      {piece: `{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<16) + `"}}]}`, pieces: 2048, want: "a text of more than"},
	"an event of 128 MiB":    {piece: strings.Repeat("x", 1<<16), part: true, pieces: 2048, want: "an event of more than"},
	"100,000 tokens":         {piece: `{"choices":[{"index":0,"delta":{"content":" word"}}],"usage":{"prompt_tokens":5,"completion_tokens":%d}}`, pieces: 100_000, want: "where max_tokens is 512"},
	"2,147,483,647 tokens":   {piece: `{"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2147483647}}`, pieces: 1, want: "where max_tokens is 512"},
	"a prompt of billions":   {piece: `{"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2147483647,"completion_tokens":1}}`, pieces: 1, want: "a prompt of 2147483647 tokens"},
	"the wrong choice first": {piece: `{"choices":[{"index":1,"delta":{"content":"2"},"finish_reason":"stop"},{"index":0,"delta":{"content":"3"},"finish_reason":"stop"}]}`, pieces: 1, want: "of index 1, where one was asked for"},
	"nothing, for ever":      {piece: `{"choices":[{"index":0,"delta":{"content":""}}]}`, pieces: 100, every: 100 * time.Millisecond, want: "no token came for 2s"},
}

// TestHostileServers: whatever a server says but to short requests, the evaluation ends, names it,
// scores nothing of it and takes little memory.
func TestHostileServers(t *testing.T) {
	t.Chdir(t.TempDir())
	write("own.jsonl", ownBenchmark)
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch {
				case r.URL.Path == "/v1/models":
					io.WriteString(w, `{"data":[{"id":"m"}]}`)
					return
				case r.URL.Path != "/v1/chat/completions":
					w.WriteHeader(404)
					return
				case !strings.Contains(string(body), `"max_tokens":512`):
					io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"2"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
					return
				}
				before, after := "data: ", "\n\n"
				if a.part {
					io.WriteString(w, before)
					before, after = "", ""
				}
				for n := 1; n <= a.pieces && r.Context().Err() == nil; n++ {
					io.WriteString(w, before+strings.ReplaceAll(a.piece, "%d", strconv.Itoa(n))+after)
					if a.every > 0 {
						w.(http.Flusher).Flush()
						time.Sleep(a.every)
					}
				}
				io.WriteString(w, "data: [DONE]\n\n")
			}))
			defer server.Close()
			peak := heapPeak()
			code, _, stderr := say(t, "evaluate", "--benchmark", "own.jsonl", "--model", "m", "--budget", "2", "--worker", server.URL, "--out", strings.ReplaceAll(name, " ", "-"),
				"--set", "serving.attempts=1", "--set", "serving.hang_seconds=2", "--set", "serving.outage_seconds=0", "--set", "sampling.max_tokens=512")
			if most := peak(); code != exitFailed || !strings.Contains(stderr, a.want) || !strings.Contains(stderr, server.URL) || most > 200<<20 {
				t.Errorf("exit code %d, at most %d MiB:\n%s", code, most>>20, stderr)
			}
		})
	}
}

// heapPeak watches the heap until it is called, and tells how much it grew at most.
func heapPeak() func() uint64 {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	done := make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc {
				most = max(most, now.HeapAlloc-before.HeapAlloc)
			}
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	})
	return func() uint64 { close(done); all.Wait(); return most }
}
