package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"speceval/internal/scoring"
	"speceval/internal/scoring/command"
)

// grading is a grader that does what the response says.
const grading = `
import json, os, signal, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    what, _, rest = asked["response"].partition(" ")
    if what == "reply":
        print(rest, flush=True)
    elif what == "die":
        print("the last words", file=sys.stderr)
        os._exit(3)
    elif what == "leave":
        sys.exit(0)
    elif what == "hang":
        time.sleep(3600)
    elif what == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)
    elif what == "flood":
        while True:
            os.write(1, b"x" * 65536)
    elif what == "complain":
        for _ in range(200):
            os.write(2, b"y" * 65536)
        os.write(2, b"the end of it")
        os._exit(1)
    elif what == "twice":
        print('{"reward":1}\n{"reward":1}', flush=True)
    elif what == "close":
        os.close(1)
        time.sleep(3600)
    elif what == "fork":
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(4)
    elif what == "once":
        if os.path.exists("seen"):
            print('{"reward":1,"note":"the second time"}', flush=True)
        else:
            open("seen", "w").close()
            os._exit(5)
    elif what == "task":
        print(json.dumps({"reward": 1, "answer": json.dumps(asked["task"], sort_keys=True)}), flush=True)
    elif what == "pid":
        print(json.dumps({"reward": 1, "answer": str(os.getpid())}), flush=True)
    elif what == "slow":
        time.sleep(0.2)
        print('{"reward":1}', flush=True)
    else:
        right = asked["task"]["answer"] == asked["response"] and not asked["cut"]
        print(json.dumps({"reward": right, "answer": asked["response"], "note": asked["task"]["id"]}), flush=True)
`

// lab is a folder with a grader, that is open.
type lab struct {
	*testing.T
	folder string
	grader *command.Grader
}

func newLab(t *testing.T, change func(s *command.Settings)) *lab {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("SPECEVAL_CI") != "" {
			t.Fatal("python3 is not installed")
		}
		t.Skip("python3 is not installed")
	}
	l := &lab{T: t, folder: t.TempDir()}
	l.write("grade.py", grading)
	s := command.Settings{
		Program: command.Program{Arguments: []string{"python3", "grade.py"}, Folder: l.folder},
		Timeout: 20 * time.Second, Processes: 1,
	}
	if change != nil {
		change(&s)
	}
	if s.Sandbox {
		needBubblewrap(t)
	}
	l.grader = command.NewGrader(s)
	ok(t, l.grader.Open(t.Context()))
	t.Cleanup(l.grader.Close)
	return l
}

func needBubblewrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		if os.Getenv("SPECEVAL_CI") != "" {
			t.Fatal("bwrap is not installed")
		}
		t.Skip("bwrap is not installed")
	}
}

func (l *lab) write(name, text string) {
	l.Helper()
	ok(l, os.WriteFile(filepath.Join(l.folder, name), []byte(text), 0o700))
}

func (l *lab) score(response string) (scoring.Verdict, error) {
	return l.scorer(false).Score(l.Context(), scoring.Response{Text: response})
}

func (l *lab) scorer(graded bool) *command.Scorer {
	return command.New(l.grader, scoring.Task{Benchmark: "mine", ID: "one", Prompt: "p", UserPrompt: "u", Answer: "right"}, graded)
}

// both runs a test without and with a sandbox.
func both(t *testing.T, test func(t *testing.T, sandboxed func(s *command.Settings))) {
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprintf("sandbox=%t", on), func(t *testing.T) {
			t.Parallel()
			test(t, func(s *command.Settings) { s.Sandbox, s.Memory = on, 1<<30 })
		})
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, sandboxed func(s *command.Settings)) {
		l := newLab(t, sandboxed)
		for response, want := range map[string]scoring.Verdict{
			"right":                               {Reward: 1, Answer: "right", Note: "one"},
			"wrong \u2028 \xff":                   {Answer: "wrong \u2028 \ufffd", Note: "one"},
			`reply {"reward":0}`:                  {},
			`reply {"reward":1.0,"answer":null}`:  {Reward: 1},
			`reply  { "note" : "n", "reward":1 }`: {Reward: 1, Note: "n"},
			strings.Repeat("long ", 20_000):       {Answer: scoring.Shorten(strings.Repeat("long ", 20_000)), Note: "one"},
		} {
			if v, err := l.score(response); err != nil || v != want {
				t.Errorf("%.40q: %+v, %v", response, v, err)
			}
		}
		if v, err := l.scorer(false).Score(t.Context(), scoring.Response{Text: "right", Cut: true}); err != nil || v.Correct() {
			t.Errorf("%+v, %v", v, err)
		}
		if v, err := l.scorer(true).Score(t.Context(), scoring.Response{Text: `reply {"reward":0.25}`}); err != nil || v.Reward != 0.25 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// A grader sees all of a task that its file says.
func TestWhatAGraderSees(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(*command.Settings) {})
	for want, task := range map[string]scoring.Task{
		`{"answer": "", "benchmark": "b", "id": "i", "prompt": "p", "user_prompt": "u"}`: {Benchmark: "b", ID: "i", Prompt: "p", UserPrompt: "u"},
		`{"answer": "a", "benchmark": "b", "history": [{"content": "h", "role": "assistant"}], "id": "i", "metadata": {"level": 3, "of": ["<"]}, "prompt": "p", "system_prompt": "s", "user_prompt": "u"}`: {
			Benchmark: "b", ID: "i", Prompt: "p", UserPrompt: "u", SystemPrompt: "s", Answer: "a",
			History: []scoring.Turn{{Role: "assistant", Content: "h"}}, Metadata: `{"level":3,"of":["<"]}`,
		},
	} {
		if v, err := command.New(l.grader, task, false).Score(t.Context(), scoring.Response{Text: "task"}); err != nil || v.Answer != want {
			t.Errorf("%+v, %v, want %s", v, err, want)
		}
	}
}

// A reply that is none is an error, never a verdict, and the grader goes on.
func TestNoVerdict(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, sandboxed func(s *command.Settings)) {
		l := newLab(t, func(s *command.Settings) {
			sandboxed(s)
			s.Timeout = 30 * time.Second
		})
		for response, want := range map[string]string{
			`reply {"reward":2}`:                 "a reward is from 0 to 1",
			`reply {"reward":-0.1}`:              "a reward is from 0 to 1",
			`reply {"reward":0.5}`:               "command-graded",
			`reply {"reward":NaN}`:               "is no reply",
			`reply {"reward":1e999}`:             "is no number",
			`reply {"reward":"1"}`:               "is no number",
			`reply {"reward":null}`:              "the reward is null",
			`reply {"answer":"x"}`:               "there is no reward",
			`reply {"rewards":1}`:                `unknown field "rewards"`,
			`reply {"reward":1,"answer":1}`:      "is no reply",
			`reply {"reward":1} {"reward":1}`:    "more than one JSON object",
			`reply 1`:                            "is no reply",
			`reply`:                              "must be a JSON object",
			`reply {"reward":1`:                  "must be a JSON object",
			`reply [1]`:                          "is no reply",
			"reply " + strings.Repeat("x", 7000): "is no reply",
			"die":                                "exit status 3; its standard error ends in\nthe last words",
			"leave":                              "ended with exit status 0, though it was to stay up",
			"flood":                              "wrote a line of more than 1048576 bytes",
			"fork":                               "exit status 4",
		} {
			v, err := l.score(response)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "the grader python3 grade.py gave no verdict, asked twice") || v != (scoring.Verdict{}) {
				t.Errorf("%.40q: %+v, %v, want %s", response, v, err, want)
			}
			if err != nil && len(err.Error()) > 4000 {
				t.Errorf("%.40q: an error of %d bytes", response, len(err.Error()))
			}
			if v, err := l.score("right"); err != nil || !v.Correct() {
				t.Errorf("after %.40q: %+v, %v", response, v, err)
			}
		}
		if _, err := l.score("complain"); err == nil || !strings.HasSuffix(err.Error(), "yyythe end of it") || len(err.Error()) > 4000 {
			t.Errorf("%.200v", err)
		}
	})
}

func TestSlowGraders(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, sandboxed func(s *command.Settings)) {
		l := newLab(t, func(s *command.Settings) {
			sandboxed(s)
			s.Timeout = time.Second
		})
		for _, response := range []string{"hang", "deaf"} {
			if _, err := l.score(response); err == nil || !strings.Contains(err.Error(), "it took more than 1s") {
				t.Errorf("%s: %v", response, err)
			}
		}
	})
}

// A program that dies once is asked again. A line without a request, and a request that is given
// up, leave the verdict on the next response alone.
func TestFaultsBetweenVerdicts(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	if v, err := l.score("once"); err != nil || !v.Correct() || v.Note != "the second time" {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := l.score("twice"); err != nil || !v.Correct() {
		t.Fatalf("%+v, %v", v, err)
	}
	time.Sleep(100 * time.Millisecond)
	if v, err := l.score("wrong"); err != nil || v.Correct() {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := l.score("close"); err == nil || !strings.Contains(err.Error(), "closed its standard output") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.scorer(false).Score(ctx, scoring.Response{Text: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if v, err := l.score("right"); err != nil || !v.Correct() {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestProcessesStayUpAndWorkSideBySide(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(s *command.Settings) { s.Processes = 3 })
	first, err := l.score("pid")
	if again, _ := l.score("pid"); err != nil || first.Answer == "" || again != first {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			response := []string{"right", "wrong", "die", "slow"}[i%4]
			v, err := l.score(response)
			if (err != nil) != (response == "die") || err == nil && v.Correct() != (response != "wrong") {
				t.Errorf("%s: %+v, %v", response, v, err)
			}
		})
	}
	wait.Wait()
}

// When the last user has closed the grader, nothing of it is left.
func TestClose(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, sandboxed func(s *command.Settings)) {
		l := newLab(t, func(s *command.Settings) {
			sandboxed(s)
			s.Arguments[1] = filepath.Join(s.Folder, "grade.py") // by which its processes are found
		})
		ok(t, l.grader.Open(t.Context()))
		if _, err := l.score("fork"); err == nil {
			t.Error("no error")
		}
		if v, err := l.score("right"); err != nil || !v.Correct() {
			t.Errorf("%+v, %v", v, err)
		}
		l.grader.Close()
		if v, err := l.score("right"); err != nil || !v.Correct() {
			t.Errorf("open for another: %+v, %v", v, err)
		}
		l.grader.Close()
		left, err := exec.Command("pgrep", "-f", l.folder).Output()
		if err == nil && len(left) > 0 {
			t.Errorf("processes are left: %s", left)
		}
		if err := l.grader.Open(t.Context()); err != nil { // for the cleanup
			t.Fatal(err)
		}
	})
}

func TestGradersThatCannotBe(t *testing.T) {
	program := command.Program{Arguments: []string{"no-such-program"}, Folder: t.TempDir()}
	for _, on := range []bool{false, true} {
		if on {
			needBubblewrap(t)
		}
		g := command.NewGrader(command.Settings{Program: program, Timeout: time.Second, Sandbox: on})
		if err := g.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "no-such-program") {
			t.Error(err)
		}
	}
	path := must(exec.LookPath("sh"))
	t.Setenv("PATH", "")
	program.Arguments = []string{path}
	g := command.NewGrader(command.Settings{Program: program, Timeout: time.Second, Sandbox: true})
	if err := g.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no bubblewrap: install it") || !strings.Contains(err.Error(), "sandbox = false") {
		t.Error(err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		ok(t, os.MkdirAll(filepath.Dir(path), 0o777))
		ok(t, os.WriteFile(path, []byte(text), 0o666))
	}
	write("grade.py", "1")
	write("rules/a.txt", "1")
	p := command.Program{Arguments: []string{"python3", "grade.py", "--strict"}, Files: []string{"rules"}, Folder: folder}
	seen := map[string]string{}
	digest := func(what string) {
		t.Helper()
		d, err := p.Digest()
		if again, _ := p.Digest(); err != nil || len(d) != 16 || again != d {
			t.Fatalf("%s: %q, %q, %v", what, d, again, err)
		}
		if other, there := seen[d]; there {
			t.Errorf("%s has the digest of %s", what, other)
		}
		seen[d] = what
	}
	digest("the first")
	write("grade.py", "2")
	digest("another program")
	write("rules/a.txt", "2")
	digest("other rules")
	write("rules/b.txt", "")
	digest("another file")
	p.Version = "2"
	digest("another version")
	p.Arguments[2] = "--lenient"
	digest("other arguments")
	write("rules/__pycache__/a.pyc", "x")
	write("other.py", "x")
	if d, _ := p.Digest(); seen[d] != "other arguments" {
		t.Error("a file of an interpreter, or one that is not read, makes another digest")
	}
	p.Files = []string{"nothing"}
	if _, err := p.Digest(); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Error(err)
	}
}

// TestMain is another program if it is told so: one that TestDiesWithItsUser kills.
func TestMain(m *testing.M) {
	if folder := os.Getenv("SPECEVAL_TEST_GRADER"); folder != "" {
		forsaken(folder)
	}
	// Wrappers that look for an interpreter take longer than it does.
	if found, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		os.Setenv("PATH", filepath.Dir(string(found))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	os.Exit(m.Run())
}

// forsaken has a grader hang beside a process that it has started.
func forsaken(folder string) {
	g := command.NewGrader(command.Settings{
		Program: command.Program{Arguments: []string{"sh", "grade.sh"}, Folder: folder},
		Timeout: time.Hour, Processes: 1, Sandbox: os.Getenv("SPECEVAL_TEST_SANDBOX") == "true",
	})
	err := g.Open(context.Background())
	if err == nil {
		_, err = command.New(g, scoring.Task{}, false).Score(context.Background(), scoring.Response{})
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestDiesWithItsUser(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, sandboxed func(s *command.Settings)) {
		l := newLab(t, sandboxed)
		var s command.Settings
		sandboxed(&s)
		// Only the sandbox ends what the grader has started as well.
		grader, sleepers := "trap '' TERM HUP INT\nexec sleep 3600\n", 1
		if s.Sandbox {
			grader, sleepers = "trap '' TERM HUP INT\nsleep 3600 & sleep 3600; sleep 3600\n", 2
		}
		l.write("grade.sh", grader)
		user := exec.Command(os.Args[0])
		user.Env = append(os.Environ(), "SPECEVAL_TEST_GRADER="+l.folder, "SPECEVAL_TEST_SANDBOX="+strconv.FormatBool(s.Sandbox))
		ok(t, user.Start())
		defer user.Process.Kill()
		var below []int
		for sleeping := 0; sleeping < sleepers; time.Sleep(20 * time.Millisecond) { // the test as a whole has a limit of time
			below, sleeping = descendants(t, user.Process.Pid), 0
			for _, process := range below {
				if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", process)); strings.HasPrefix(string(text), "sleep\x003600") {
					sleeping++
				}
			}
		}
		ok(t, user.Process.Kill())
		_ = user.Wait() // killed
		for _, process := range below {
			for alive(process) {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
}

// alive tells whether a process is there and no zombie.
func alive(process int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil || syscall.Kill(process, 0) != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// descendants are the processes below one.
func descendants(t *testing.T, process int) (all []int) {
	t.Helper()
	lists := must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", process)))
	for _, list := range lists {
		content, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(content)) {
			child := must(strconv.Atoi(word))
			all = append(append(all, child), descendants(t, child)...)
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
