package sandbox

import (
	"bufio"
	"encoding/binary"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"speceval/internal/scoring/sandbox/child"
)

// hold ends programs that have taken what they want: processes of theirs hold it until
// they are ended, by the limit in question or, for sleeping too long, by another one.
const hold = "\nwhile True: time.sleep(1)"

// inProcesses runs the rest of a program in more processes.
const inProcesses = "import ctypes, errno, os, socket, time\nfor _ in range(9):\n    if not os.fork(): break\n"

// overLimits are programs that take two to nine times of what they may have, and what
// ends them. Were the limit ten times as large, each would end otherwise.
var overLimits = []struct {
	name, source string
	end          End
	output       string
}{
	{"memory of a process", "bytearray(128 << 20)", MemoryLimit, ""},
	{"memory together", inProcesses + "x = b'x' * (20 << 20)" + hold, MemoryLimit, ""},
	{"mappings", inProcesses + `libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_size_t(8000 << 12), 0, 0x22, -1, 0)
for i in range(0, 8000, 2): libc.mprotect(ctypes.c_void_p(at + (i << 12)), 4096, 1)` + hold, MemoryLimit, ""},
	{"sockets", "import socket, time\nx = [socket.socketpair() for _ in range(110)]" + hold, MemoryLimit, ""},
	{"processes", `import os, sys
count, wait = 1, os.pipe()
try:
    while count < 200:
        if not os.fork(): os.read(wait[0], 1); os._exit(0)
        count += 1
except BlockingIOError: pass
print(count <= 64)`, Finished, "True\n"},
	{"output", "for _ in range(40): print('x' * (1 << 20))", OutputLimit, ""},
	{"size of a file", "try: open('f', 'wb', 0).write(bytes(33 << 20)) == 33 << 20 or open('f', 'ab').write(bytes(1 << 20))\nexcept OSError as e: print(e.errno)", Finished, "27\n"},
	{"scratch folder", "import os\ntry:\n    for i in range(12): open(str(i), 'wb').write(bytes(16 << 20))\nexcept OSError as e: print(e.errno)\nos.remove('0')", Finished, "28\n"},
	{"number of files", "import time\nfor i in range(9000): open(str(i), 'w').close()" + hold, FilesLimit, ""},
	{"open files", "x = []\ntry:\n    for _ in range(600): x.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(x) <= 256)", Finished, "24 True\n"},
	{"limits of a process", `import resource
for name in "AS FSIZE NOFILE NPROC CORE MEMLOCK MSGQUEUE SIGPENDING STACK CPU".split():
    print(name, *resource.getrlimit(getattr(resource, "RLIMIT_" + name))[:1 if name == "STACK" else 2])`, Finished, `AS 67108864 67108864
FSIZE 33554432 33554432
NOFILE 256 256
NPROC 64 64
CORE 0 0
MEMLOCK 0 0
MSGQUEUE 0 0
SIGPENDING 64 64
STACK 33554432
CPU 21 22
`},
}

// TestLimits has a program pass each limit that programs meet.
func TestLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Python: "python3", CPU: 10 * time.Second, Memory: 64 << 20, AtATime: 1}
	for _, l := range overLimits {
		if !strings.Contains(string(page), "`TestLimits/"+l.name+"` |\n") {
			t.Errorf("docs/security.md has no row for %s", l.name)
		}
		t.Run(l.name, func(t *testing.T) { // none of them takes the time
			if r := ended(t, settings, l.source, ""); r.End != l.end || r.Output != l.output {
				t.Errorf("%+v, want %s, %q", r, l.end, l.output)
			}
		})
	}
	t.Run("CPU time", func(t *testing.T) {
		settings.CPU = 200 * time.Millisecond
		const spin = "import time\nwhile time.process_time() < %s: pass"
		for _, source := range []string{spin, "import os\nfor _ in range(2): os.fork()\n" + spin} { // of one, and of four together
			seconds := map[bool]string{true: "0.4", false: "1.2"}[strings.Contains(source, "fork")]
			if r := ended(t, settings, strings.Replace(source, "%s", seconds, 1), ""); r.End != TimeLimit {
				t.Errorf("%q: %+v", source, r)
			}
		}
	})
}

// ended is the result of a program.
func ended(t *testing.T, settings Settings, source, input string) Result {
	t.Helper()
	box, err := New(t.Context(), settings)
	if err != nil && os.Getenv("SPECEVAL_CI") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	session, err := box.Start(t.Context(), Program{Source: source, Inputs: []string{input}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.Run(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestLimitsOfTime has the driver poll a program whose state is made up, every 20 ms of a
// clock that is made up as well, and print what it ended by, and after how many seconds.
func TestLimitsOfTime(t *testing.T) {
	functions, _, found := strings.Cut(driver, "\nmake_room()\n")
	if !found {
		t.Fatal("the driver is another one")
	}
	for state, want := range map[string]string{
		"0, 0, 'asleep'": "sleep 1", "0, 0, 'held'": "wall 1", "0, 0, 'awake'": "wall 20", "clock.now / 5, 0, 'awake'": "time 5", "0, MEMORY * 2, 'awake'": "memory 0",
	} {
		const made = `
class Made:
    now = 0.0
    def __getattr__(self, name): return lambda *_: None
    def poll(self, milliseconds): self.now += milliseconds / 1000; return ()
    def monotonic(self): return self.now
RECEIVE, clock = 0, Made()
select.poll, time.monotonic, SCRATCH = lambda: clock, clock.monotonic, "/"
reap, look, FILES = lambda pid: None, lambda: (STATE), 1 << 60
print(watch(os.getpid(), 1, spent())[0], int(clock.now))
`
		command := exec.CommandContext(t.Context(), "python3", "-c", functions+strings.Replace(made, "STATE", state, 1), "67108864", "1", "1", "1", "1", "1000")
		if out, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %s, %v, want %s", state, out, err, want)
		}
	}
	if got := (Settings{CPU: time.Second}).wall(); got != 20*time.Second {
		t.Errorf("without an answer of the driver %v", got)
	}
}

// TestLimitsOfTheDriver has a driver in other hands, which sends more than a driver does.
func TestLimitsOfTheDriver(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for what, test := range map[string]struct{ head, output int }{"heads": {40 << 10, 0}, "outputs": {20, 33 << 20}} {
		var text []byte
		for _, size := range []int{test.head, test.output} {
			text = append(binary.BigEndian.AppendUint32(text, uint32(size)), strings.Repeat("1 ", size/2)...)
		}
		in := &inside{Child: &child.Child{Input: null}, output: bufio.NewReader(strings.NewReader(string(text)))}
		if _, err := in.ask(time.Second, ""); err == nil || err.Error() != "a frame is too long" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
