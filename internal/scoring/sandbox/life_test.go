package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"speceval/internal/scoring/sandbox"
)

// TestAttacks has hostile programs attack. After each, another test of the same
// program's session and the machine itself are as they were.
func TestAttacks(t *testing.T) {
	box := prepared(t, 1)
	h := newHost(t)
	for _, p := range attacks() {
		t.Run(p.Name, func(t *testing.T) {
			inputs := []string{h.input()}
			if p.Output != "" {
				inputs = append(inputs, h.input())
			}
			for i, result := range outcomes(t, box, sandbox.Program{Source: p.Source, Inputs: inputs}) {
				if fault := p.fault(result); fault != "" {
					t.Errorf("test %d: %s", i+1, fault)
				}
			}
			if harm := h.harm(); harm != "" {
				t.Error(harm)
			}
		})
	}
}

// TestMain is another program if it is told so: one that TestDiesWithItsUser
// kills.
func TestMain(m *testing.M) {
	if os.Getenv("SPECEVAL_TEST_USER") != "" {
		forsaken()
	}
	os.Exit(m.Run())
}

// forsaken runs a program that never ends, and tells when it does.
func forsaken() {
	ctx := context.Background()
	box, err := sandbox.New(ctx, sandbox.Settings{Python: python, CPU: time.Hour, Memory: 256 << 20, AtATime: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	session, err := box.Start(ctx, sandbox.Program{Source: "import os\nos.fork()\nwhile True: pass", Inputs: []string{""}})
	if err == nil {
		fmt.Println("running")
		_, err = session.Run(ctx, 0)
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestDiesWithItsUser kills a process that runs a program: the program ends.
func TestDiesWithItsUser(t *testing.T) {
	prepared(t, 1)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "SPECEVAL_TEST_USER=1")
	output := must(command.StdoutPipe())
	ok(t, command.Start())
	defer command.Process.Kill()
	line := make([]byte, 100)
	if n, err := output.Read(line); err != nil || string(line[:n]) != "running\n" {
		t.Fatalf("%q, %v", line[:n], err)
	}
	var inside []int
	for len(inside) < 4 { // bubblewrap, the driver and two of the program
		inside = below(command.Process.Pid)
	}
	ok(t, command.Process.Kill())
	command.Wait()
	for _, process := range inside {
		for alive(process) { // the test as a whole has a limit of time
			time.Sleep(time.Millisecond)
		}
	}
}

// alive reports whether a process is there and no zombie.
func alive(process int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// TestAlone has programs at the edge of their limit run beside others: their
// results are those of programs that are alone, and all come to an end. One that is
// run again finds no file of before.
func TestAlone(t *testing.T) {
	box := prepared(t, 3)
	const busy = "import time\nopen('/tmp/mine', 'x').close()\nwhile time.process_time() < %g: pass\nprint('done')"
	var group sync.WaitGroup
	for _, test := range []struct {
		seconds float64
		end     sandbox.End
	}{{0.1, sandbox.Finished}, {0.42, sandbox.Finished}, {0.42, sandbox.Finished}, {0.7, sandbox.TimeLimit}, {0.9, sandbox.TimeLimit}, {5, sandbox.TimeLimit}} {
		group.Go(func() {
			for _, result := range outcomes(t, box, sandbox.Program{Source: fmt.Sprintf(busy, test.seconds), Inputs: []string{""}}) {
				if result.End != test.end {
					t.Errorf("%g s of CPU: %+v", test.seconds, result)
				}
			}
		})
	}
	group.Wait()
}

// TestCancel cancels a test while it runs, and while it waits for a place.
func TestCancel(t *testing.T) {
	box := prepared(t, 1)
	session := must(box.Start(t.Context(), sandbox.Program{Source: "while True: pass", Inputs: []string{""}}))
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := box.Start(ctx, sandbox.Program{})
		waiting <- err
	}()
	time.AfterFunc(50*time.Millisecond, cancel)
	if result, err := session.Run(ctx, 0); !errors.Is(err, context.Canceled) || result != (sandbox.Result{}) {
		t.Errorf("%+v, %v", result, err)
	}
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	session.Close()
	if left := below(os.Getpid()); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}
