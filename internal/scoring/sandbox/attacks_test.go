package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"speceval/internal/scoring/sandbox"
)

// attack is a program that attacks the sandbox, and what must come of it.
type attack struct {
	Name   string
	About  string // what it does
	Bound  string // what it tries to exceed: the name of a bound
	Source string
	Ends   []sandbox.End // one of these
	Output string        // of one that must finish and say this; "" for any
}

// attacks lists the attacks, by name. What they do, and what must come of it,
// is in their first two lines, and what they try to exceed in the third.
func attacks() (programs []attack) {
	for _, name := range must(filepath.Glob("testdata/hostile/*.py")) {
		source := must(os.ReadFile(name))
		lines := strings.SplitN(string(source), "\n", 4)
		p := attack{Name: strings.TrimSuffix(filepath.Base(name), ".py"), About: strings.TrimPrefix(lines[0], "# "),
			Bound: strings.TrimPrefix(lines[2], "# bound: "), Source: string(source)}
		if text, prints := strings.CutPrefix(lines[1], "# prints: "); prints {
			p.Ends, p.Output = []sandbox.End{sandbox.Finished}, text+"\n"
		} else {
			for _, end := range strings.Fields(strings.TrimPrefix(lines[1], "# ends: ")) {
				p.Ends = append(p.Ends, sandbox.End(end))
			}
		}
		programs = append(programs, p)
	}
	return programs
}

// The halves of an expected output. Programs contain them separately, so that the
// whole text, where a program finds it, does not come from the program.
const first, second = "the-answer-", "of-the-key"

// secret is the text that the programs look for, and must not find.
func secret() string { return first + second }

// host has a file and a server that hostile programs try to reach.
type host struct {
	key         string
	server      net.Listener
	connections atomic.Int64
}

func newHost(t *testing.T) *host {
	h := &host{key: filepath.Join(t.TempDir(), "key"), server: must(net.Listen("tcp", "127.0.0.1:0"))}
	ok(t, os.WriteFile(h.key, []byte(secret()), 0o666))
	t.Cleanup(func() { h.server.Close() })
	go func() {
		for {
			connection, err := h.server.Accept()
			if err != nil {
				return
			}
			h.connections.Add(1)
			connection.Close()
		}
	}()
	return h
}

// input is the standard input of the programs: the port of the server, and the path of the file
// with the secret.
func (h *host) input() string {
	return fmt.Sprintf("%d\n%s\n%s\n%s\n", h.server.Addr().(*net.TCPAddr).Port, h.key, first, second)
}

// harm says how the host has changed, "" if it has not.
func (h *host) harm() string {
	if content, err := os.ReadFile(h.key); err != nil || string(content) != secret() {
		return fmt.Sprintf("the host's file is %q, %v", content, err)
	}
	if n := h.connections.Load(); n > 0 {
		return fmt.Sprintf("%d connections came in", n)
	}
	if left := below(os.Getpid()); len(left) > 0 {
		return fmt.Sprintf("%d processes are left", len(left))
	}
	return ""
}

// below lists the processes below one.
func below(process int) (all []int) {
	for _, list := range must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process))) {
		content, _ := os.ReadFile(list) // it may have just ended
		for _, field := range strings.Fields(string(content)) {
			child := must(strconv.Atoi(field))
			all = append(append(all, child), below(child)...)
		}
	}
	return all
}

// must is a result whose error ends the tests.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// ok ends a test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fault says in what a result is not as it must be, "" if it is.
func (p attack) fault(r sandbox.Result) string {
	if !slices.Contains(p.Ends, r.End) || p.Output != "" && p.Output != r.Output {
		return fmt.Sprintf("%s, %q %q; must be %s, %q", r.End, r.Output, r.Message, p.Ends, p.Output)
	}
	return ""
}

// bound is something that attacks try to have more of than they may.
type bound struct {
	Name string // as attacks name it, in their third lines
	By   string // what holds it
}

// bounds are all of them. They are the rows of the table in docs/security.md.
var bounds = []bound{
	{"CPU time", "the driver's account of all processes, no handlers for the ends of children, RLIMIT_CPU"},
	{"waiting", "the driver: time when no thread runs or would like to"},
	{"memory", "RLIMIT_AS of each process; the driver's account of pages, their tables, what was swapped out, mappings and sockets"},
	{"memory of no process", "the filter: no shared memory, no shared pages without a file, no long pipes, no pages given to pipes, no rules or attributes that the kernel keeps"},
	{"processes", "RLIMIT_NPROC, threads included; all end with the test"},
	{"files", "the size of the scratch folder, the driver's count, RLIMIT_FSIZE; the folder is empty before each run"},
	{"output", "RLIMIT_FSIZE; results are compared as they are read"},
	{"parts of the machine", "the filter and devices: no watches of files, no locks on files, no terminals, no locked memory, 64 timers"},
	{"network", "a network namespace without interfaces, and no sockets but local ones"},
	{"files and processes of others", "namespaces of files, processes and users, no capabilities, all but the scratch folder read-only"},
	{"the driver", "process 1 of its namespace, closed to the others; it dies with its user"},
	{"verdicts", "outputs are compared outside; what is right is never told in there"},
}

// TestBoundsAreOnThePage compares the table of docs/security.md with the bounds, and
// each bound with the attacks on it.
func TestBoundsAreOnThePage(t *testing.T) {
	page := must(os.ReadFile("../../../docs/security.md"))
	count := map[string]int{}
	for _, p := range attacks() {
		count[p.Bound]++
	}
	for _, b := range bounds {
		if !strings.Contains(string(page), "\n| "+b.Name+" | ") {
			t.Errorf("docs/security.md has no row for %q", b.Name)
		}
		if count[b.Name] == 0 {
			t.Errorf("there is no attack on %q", b.Name)
		}
		delete(count, b.Name)
	}
	for name := range count {
		t.Errorf("there are attacks on %q, which is no bound", name)
	}
}
