package code_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"speceval/internal/scoring"
	"speceval/internal/scoring/code"
	"speceval/internal/scoring/sandbox"
)

// runner is a runner with small limits. A test that needs one is skipped
// without bubblewrap or Python, except under SPECEVAL_CI=1.
func runner(t testing.TB) *code.Runner {
	t.Helper()
	for _, tool := range []string{"bwrap", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("SPECEVAL_CI") == "1" {
				t.Fatal(err)
			}
			t.Skip("there is no", tool)
		}
	}
	r, err := code.NewRunner(t.Context(), sandbox.Settings{Python: "python3", CPU: 500 * time.Millisecond, Memory: 256 << 20, AtATime: 2})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fenced(program string) scoring.Response {
	return scoring.Response{Text: "Here:\n```python\n" + program + "\n```\n"}
}

// of is the scorer for a task with these tests.
func of(graded bool, r *code.Runner, tests []scoring.Test) *code.Scorer {
	return code.New(r, graded, func() ([]scoring.Test, error) { return tests, nil })
}

// stdin makes tests of pairs of input and output.
func stdin(pairs ...string) []scoring.Test {
	var tests []scoring.Test
	for i := 0; i < len(pairs); i += 2 {
		tests = append(tests, scoring.Test{Kind: "stdin", Input: pairs[i], Output: pairs[i+1]})
	}
	return tests
}

// TestOutputStaysOutside has a program look for the expected output in all that
// it can see, which is not there.
func TestOutputStaysOutside(t *testing.T) {
	const program = `
import gc
word = "".join(["se", "cr", "et"]) + input()
seen = [repr(x) for x in gc.get_objects() if isinstance(x, (dict, list, tuple))]
print(sum(word + "7" in text for text in seen))`
	got, err := of(false, runner(t), stdin("12", "secret127")).Score(t.Context(), fenced(program))
	if err != nil || got.Correct() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCancelledIsNoVerdict(t *testing.T) {
	r := runner(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	for range 4 { // two of them wait for a place
		go func() {
			verdict, err := of(false, r, stdin("", "1")).Score(ctx, fenced("import time\nwhile True: time.sleep(0.01)"))
			if verdict != (scoring.Verdict{}) {
				t.Errorf("cancelled, yet %+v", verdict)
			}
			done <- err
		}()
	}
	cancel(errors.New("enough"))
	for range 4 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if got, err := of(false, r, stdin("", "1")).Score(t.Context(), fenced("print(1)")); err != nil || !got.Correct() {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

func TestNoSandboxNoRun(t *testing.T) {
	settings := sandbox.Settings{Python: "python3", CPU: time.Second, Memory: 256 << 20, AtATime: 1}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, s *sandbox.Settings)
		want   string
	}{
		{"no bubblewrap", func(t *testing.T, s *sandbox.Settings) { t.Setenv("PATH", t.TempDir()) }, "install it"},
		{"no interpreter", func(t *testing.T, s *sandbox.Settings) { s.Python = "no-such-python" }, "no-such-python"},
		{"no Python", func(t *testing.T, s *sandbox.Settings) { s.Python = "/bin/false" }, "does not do"},
		{"no time", func(t *testing.T, s *sandbox.Settings) { s.CPU = 0 }, "no limits"},
		{"no sandbox", func(t *testing.T, s *sandbox.Settings) {
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/bwrap", []byte("#!/bin/sh\necho bwrap: no namespaces for you >&2\nexit 1\n"), 0o777); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		}, "no namespaces for you"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runner(t)
			s := settings
			test.change(t, &s)
			if r, err := code.NewRunner(t.Context(), s); err == nil || r != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v; want an error with %q", r, err, test.want)
			}
		})
	}
}

// Tests are loaded when a program is run, not before, and stay for the next one.
func TestTestsAreLoadedWhenTheyAreNeeded(t *testing.T) {
	loads := 0
	s := code.New(runner(t), false, func() ([]scoring.Test, error) {
		loads++
		return stdin("1\n", "1\n"), nil
	})
	for _, c := range []struct {
		response scoring.Response
		correct  bool
		loads    int
	}{
		{scoring.Response{Text: "no program"}, false, 0}, {fenced("print(input())"), true, 1}, {fenced("print(2)"), false, 1}, {fenced("print(input())"), true, 1},
	} {
		if v, err := s.Score(t.Context(), c.response); err != nil || v.Correct() != c.correct || loads != c.loads {
			t.Errorf("%q: %+v, %v, loaded %d times; want %t, %d times", c.response.Text, v, err, loads, c.correct, c.loads)
		}
	}
}
