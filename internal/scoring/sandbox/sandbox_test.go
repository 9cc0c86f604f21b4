package sandbox_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"speceval/internal/scoring/sandbox"
)

// resident is a program in a folder of the test, which sees what it is let see.
func resident(t *testing.T, folder string, visible []string, arguments ...string) *sandbox.Resident {
	t.Helper()
	prepared(t, 1)
	return must(sandbox.NewResident(t.Context(), sandbox.Resident{Arguments: arguments, Folder: folder, Visible: visible, Memory: 512 << 20}))
}

func output(t *testing.T, r *sandbox.Resident) string {
	t.Helper()
	c := must(r.Start())
	c.Input.Close()
	out := must(io.ReadAll(c.Output))
	c.Stop(time.Minute)
	return string(out) + c.Complaint()
}

func TestResidentSeesWhatItIsLetSee(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"grade.py": script, "seen.txt": "seen", "secret.txt": "secret"} {
		ok(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	server := must(net.Listen("tcp", "127.0.0.1:0"))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	r := resident(t, folder, []string{filepath.Join(folder, "grade.py"), filepath.Join(folder, "seen.txt")}, python, "grade.py", port)
	t.Setenv("SPECEVAL_API_KEY", "hush")
	if got, want := output(t, r), "seen|no secret|no writing|no network|65534|True|no key|no memory|no room\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

const script = `
import os, socket, sys
def tried(what, do):
    try:
        do()
        return what
    except OSError:
        return "no " + what
    except MemoryError:
        return "no " + what
print(open("seen.txt").read(),
    tried("secret", lambda: open("secret.txt").read()),
    tried("writing", lambda: open("seen.txt", "w")),
    tried("network", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)),
    os.getuid(), open("/tmp/scratch", "w").write("x") == 1,
    os.environ.get("SPECEVAL_API_KEY", "no key"),
    tried("memory", lambda: bytearray(1 << 30)),
    tried("room", lambda: open("/tmp/room", "wb").write(bytes(70 << 20))), sep="|")
`

func TestResidentProgramsOfOtherKinds(t *testing.T) {
	folder := t.TempDir()
	own := filepath.Join(folder, "own")
	ok(t, os.WriteFile(own, []byte("#!/bin/sh\npwd; echo \"$1\"\n"), 0o700))
	if got := output(t, resident(t, folder, nil, own, "a b")); got != folder+"\na b\n" {
		t.Errorf("%q", got)
	}
	if got := output(t, resident(t, folder, nil, "cat", "/etc/passwd")); !strings.Contains(got, "No such file") {
		t.Errorf("%q", got)
	}
}

// python is the interpreter of the tests.
const python = "python3"

// prepared is a sandbox with small limits. A test that needs one is skipped
// without bubblewrap or Python, except under SPECEVAL_CI=1.
func prepared(t testing.TB, atATime int) *sandbox.Sandbox {
	t.Helper()
	for _, tool := range []string{"bwrap", python} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("SPECEVAL_CI") == "1" {
				t.Fatal(err)
			}
			t.Skip("there is no", tool)
		}
	}
	return must(sandbox.New(t.Context(), sandbox.Settings{Python: python, CPU: time.Second / 2, Memory: 256 << 20, AtATime: atATime}))
}

// outcomes runs a program on its inputs.
func outcomes(t testing.TB, box *sandbox.Sandbox, program sandbox.Program) []sandbox.Result {
	t.Helper()
	session := must(box.Start(t.Context(), program))
	defer session.Close()
	var results []sandbox.Result
	for i := range program.Inputs {
		results = append(results, must(session.Run(t.Context(), i)))
	}
	return results
}

func TestPrograms(t *testing.T) {
	box := prepared(t, 2)
	tests := []struct {
		name, source, function, input string
		end                           sandbox.End
		output                        string // or message
	}{
		{"lines", "a, b = map(int, input().split())\nprint(a + b)", "", "2 3\n", sandbox.Finished, "5\n"},
		{"buffer", "import sys\nd = sys.stdin.buffer.read().split()\nsys.stdout.buffer.write(d[1])", "", "x yz\n", sandbox.Finished, "yz"},
		{"readlines", "import sys\nfor l in sys.stdin: print(l.strip()[::-1])", "", "ab\ncd", sandbox.Finished, "ba\ndc\n"},
		{"descriptor", "import os\nprint(os.read(0, os.fstat(0).st_size).decode()[::-1])", "", "abc", sandbox.Finished, "cba\n"},
		{"device", "print(open('/dev/stdin').read() + open(0).read())", "", "abc", sandbox.Finished, "abcabc\n"},
		{"guard", "def main():\n  print('in')\nif __name__ == '__main__':\n  main()", "", "", sandbox.Finished, "in\n"},
		{"prelude", "print(Counter('aab')['a'], gcd(4, 6), pow(2, 3, 5), deque([1])[0], math.pi > 3)", "", "", sandbox.Finished, "2 2 3 1 True\n"},
		{"more of the prelude", "print(maxsize, findall('[a-z]', 'a1b'), mode([1, 1, 2]), stdev([1, 1]), loads(dumps([1])), lgamma(1), DefaultDict(int)[0], Literal[1], sub(3, 1))\n@singledispatch\ndef f(x): pass\nclass N(NamedTuple): x: int\nprint(N(3).x, whitespace.split())", "", "", sandbox.Finished, "9223372036854775807 ['a', 'b'] 1 0.0 [1] 0.0 0 typing.Literal[1] 2\n3 []\n"},
		{"behind a dot", "x = [1].index(1) if False else ''.split()\nimport sys\nprint('r' + 'e' in globals(), 'r' + 'e' in sys.modules)", "", "", sandbox.Finished, "False False\n"},
		{"recursion", "def f(n): return n and 1 + f(n - 1)\nprint(f(40000))", "", "", sandbox.Finished, "40000\n"},
		{"deep recursion", "import sys\nsys.setrecursionlimit(10**9)\n@lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nprint(f(100000))", "", "", sandbox.Finished, "100000\n"},
		{"endless stack", "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\nprint(1)", "", "", sandbox.Finished, "1\n"},
		{"endless hard stack", "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 30, resource.RLIM_INFINITY))\nprint(1)", "", "", sandbox.Finished, "1\n"},
		{"large stack", "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (2**29, 2**29))\nprint(1)", "", "", sandbox.Finished, "1\n"},
		{"process", "import multiprocessing\np = multiprocessing.Process(target=print, args=('in',))\np.start()\np.join()", "", "", sandbox.Finished, "in\n"},
		{"pool of processes", "import multiprocessing\nmultiprocessing.Pool(2)", "", "", sandbox.Failed, "OSError: [Errno 30] Read-only file system"},
		{"threads", "import threading\ng = threading.Event()\nt = [threading.Thread(target=g.wait) for i in range(12)]\nfor i in t: i.start()\ng.set()\nprint(12)", "", "", sandbox.Finished, "12\n"},
		{"stack of a thread", "import sys, threading\nsys.setrecursionlimit(10**9)\nthreading.stack_size(1 << 27)\n@lru_cache(None)\ndef f(n): return n and 1 + f(n - 1)\nt = threading.Thread(target=lambda: print(f(100000)))\nt.start()\nt.join()", "", "", sandbox.Finished, "100000\n"},
		{"digits", "print(len(str(10**49998)))", "", "", sandbox.Finished, "49999\n"},
		{"thread", "import threading, sys\nthreading.stack_size(1 << 26)\nthreading.Thread(target=lambda: print('late')).start()", "", "", sandbox.Finished, "late\n"},
		{"exit", "import sys\nprint(1)\nsys.exit(3)", "", "", sandbox.Finished, "1\n"},
		{"hard exit", "import os\nprint(1, flush=True)\nos._exit(3)", "", "", sandbox.Finished, "1\n"},
		{"own stream", "import sys\nclass W:\n  __hash__ = None\n  def write(self, x): sys.__stdout__.write(x.upper())\nsys.stdout = W()\nprint('up')", "", "", sandbox.Finished, "UP\n"},
		{"no stream", "import sys\nprint('x')\nsys.stdout.close()", "", "", sandbox.Finished, "x\n"},
		{"open file", "f = open('/dev/stdout', 'w')\nf.write('left open')", "", "", sandbox.Finished, "left open"},
		{"order", "print(list({'a', 'b', 'c', 'd'}) == list({'a', 'b', 'c', 'd'}), random.randrange(10**9))", "", "", sandbox.Finished, "True 906691059\n"},
		{"exception", "print(1)\nx = [][0]", "", "", sandbox.Failed, "IndexError: list index out of range"},
		{"syntax", "def f(:\n", "", "", sandbox.Failed, "SyntaxError: invalid syntax (<program>, line 1)"},
		{"no input", "input()", "", "", sandbox.Failed, "EOFError: EOF when reading a line"},
		{"crash", "import os\nos.kill(os.getpid(), 11)", "", "", sandbox.Crashed, "11"},
		{"killed", "import os\nos.kill(os.getpid(), 9)", "", "", sandbox.Killed, ""},
		{"memory", "x = bytearray(10**9)", "", "", sandbox.MemoryLimit, ""},
		{"named", "def other(): pass\ndef f(a, b): return a + b\ndef last(): pass", "f", "[1]\n[2, null]\n", sandbox.Finished, "[1, 2, null]"},
		{"method", "class Solution:\n  def f(self, a): return a * 2\n  def g(self): pass", "f", `"ab"`, sandbox.Finished, `"abab"`},
		{"only method", "class Solution:\n  def __init__(self): self.x = 1\n  def _h(self): pass\n  def g(self, a): return a + self.x\ndef h(): pass", "f", "1", sandbox.Finished, "2"},
		{"last function", "def h(): pass\n@lru_cache(None)\ndef count(a): return a\nclass C: pass\nx = int", "f", "1.5", sandbox.Finished, "1.5"},
		{"function first", "class Solution:\n  def g(self): pass\ndef f(): return True", "f", "", sandbox.Finished, "true"},
		{"main last", "def solve(nums, t): return 3\ndef main(): print(solve(eval(input()), 1))\nif __name__ == '__main__': main()", "f", "[1]\n2", sandbox.Finished, "3"},
		{"helper last", "def solve(nums, t=1): return 3\n@lru_cache(None)\ndef helper(): pass", "f", "[1]", sandbox.Finished, "3"},
		{"last that fits", "def a(x): return 1\ndef b(*x): return 2\ndef c(x, *, y): pass\ndef d(x, y): pass", "f", "1", sandbox.Finished, "2"},
		{"named before fitting", "def f(): pass\ndef g(x): return 1", "f", "1", sandbox.Failed, "TypeError: f() takes 0 positional arguments but 1 was given"},
		{"method that fits", "class Solution:\n  class Node: pass\n  def solve(self, nums, t): return self.helper(nums) + t\n  def helper(self, nums): return nums", "f", "1\n2", sandbox.Finished, "3"},
		{"last method that fits", "class Solution:\n  def a(self, x): return 1\n  @staticmethod\n  def b(x): return 2\n  @lru_cache(None)\n  def c(self, x): return 3\n  def d(self): pass", "f", "1", sandbox.Finished, "3"},
		{"static method that fits", "class Solution:\n  def a(self, x, y): pass\n  @staticmethod\n  def b(x): return 2\n  @classmethod\n  def c(cls): pass", "f", "1", sandbox.Finished, "2"},
		{"one method that does not fit", "class Solution:\n  def g(self): pass\ndef h(x): return 1", "f", "1", sandbox.Failed, "TypeError: Solution.g() takes 1 positional argument but 2 were given"},
		{"methods that do not fit", "class Solution:\n  def g(self): pass\n  def i(self): pass\ndef h(x): return 1", "f", "1", sandbox.Finished, "1"},
		{"no method that fits", "class Solution:\n  def g(self): pass\n  def i(self): pass", "f", "1", sandbox.Failed, "NameError: there is no function to call"},
		{"no function", "x = 1", "f", "1", sandbox.Failed, "NameError: there is no function to call"},
		{"wrong arguments", "def f(): pass", "f", "1", sandbox.Failed, "TypeError: f() takes 0 positional arguments but 1 was given"},
		{"tuple", "def f(): return (1, [2.5, {'a': False}])", "f", "", sandbox.Finished, `[1, [2.5, {"a": false}]]`},
		{"inner tuple", "def f(): return [(1, 2)]", "f", "", sandbox.Failed, "TypeError: the result has a tuple, which equals no JSON value"},
		{"set", "def f(): return {1}", "f", "", sandbox.Failed, "TypeError: the result has a set, which equals no JSON value"},
		{"fraction", "def f(): return [Fraction(4, 2), Decimal('0.5'), complex(3)]", "f", "", sandbox.Failed, "TypeError: the result has a complex, which equals no JSON value"},
		{"numbers", "def f(): return [Fraction(4, 2), Decimal('0.5')]", "f", "", sandbox.Finished, "[2, 0.5]"},
		{"third", "def f(): return Fraction(1, 3)", "f", "", sandbox.Failed, "TypeError: the result has a Fraction, which equals no JSON value"},
		{"not a number", "def f(): return float('nan')", "f", "", sandbox.Failed, "TypeError: the result has a float, which equals no JSON value"},
		{"printing function", "def f(): print('x'); return None", "f", "", sandbox.Finished, "null"},
		{"function that exits", "def f(): exit()", "f", "", sandbox.Finished, ""},
		{"no guard", "def f(): return 1\nif __name__ == '__main__': input()", "f", "", sandbox.Finished, "1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := outcomes(t, box, sandbox.Program{Source: test.source, Function: test.function, Inputs: []string{test.input, test.input}})
			for _, result := range got {
				if result.End != test.end || result.Output+result.Message != test.output {
					t.Errorf("%s %q %q; want %s %q", result.End, result.Output, result.Message, test.end, test.output)
				}
			}
		})
	}
}
