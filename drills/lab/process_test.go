package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/lab"
)

// The test binary is also the program that runs.
func TestMain(m *testing.M) {
	switch os.Getenv("PROGRAM") {
	case "ends":
		for i := range 20 {
			fmt.Println("line", i)
		}
		os.Exit(3)
	case "succeeds":
		os.Exit(0)
	case "works":
		for used := (syscall.Rusage{}); used.Utime.Sec == 0 && used.Utime.Usec < 50_000; {
			syscall.Getrusage(syscall.RUSAGE_SELF, &used)
		}
		os.Exit(0)
	case "stays":
		for { // no empty select: without cgo the runtime ends it as a deadlock
			time.Sleep(time.Hour)
		}
	}
	os.Exit(m.Run())
}

func start(t *testing.T, program string) *lab.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := lab.StartProgram(filepath.Join(t.TempDir(), "output"), append(os.Environ(), "PROGRAM="+program), self)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProgramThatEnds(t *testing.T) {
	p := start(t, "ends")
	<-p.Ended()
	if last := p.Last(); !p.Gone() || p.Code() != 3 || !strings.HasPrefix(last, "line 8\n") || !strings.HasSuffix(last, "line 19") {
		t.Errorf("exit code %d, output %q", p.Code(), last)
	}
	p.Kill() // does nothing more
}

func TestTheTimeOfAProgram(t *testing.T) {
	p := start(t, "works")
	<-p.Ended()
	if p.CPU() < 50*time.Millisecond {
		t.Errorf("%v for a program that works until it has used 50 ms", p.CPU())
	}
}

func TestWaiting(t *testing.T) {
	ctx := context.Background()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	yes := func() (bool, error) { return true, nil }
	no := func() (bool, error) { return false, nil }
	for _, test := range []struct {
		program string
		wait    func(*lab.Process) error
		want    string // "": no error
	}{
		{"ends", func(p *lab.Process) error { return p.Wait(ctx) }, ""},
		{"ends", func(p *lab.Process) error { return p.Succeed(ctx) }, "exit code 3:\nline 8\n"},
		{"succeeds", func(p *lab.Process) error { return p.Succeed(ctx) }, ""},
		{"ends", func(p *lab.Process) error { return p.Until(ctx, no) }, "it ended too soon, exit code 3:\nline 8\n"},
		{"ends", func(p *lab.Process) error { return p.Until(ctx, func() (bool, error) { return p.Gone(), nil }) }, ""},
		{"stays", func(p *lab.Process) error { return p.Until(ctx, yes) }, ""},
		{"stays", func(p *lab.Process) error {
			return p.Until(ctx, func() (bool, error) { return false, errors.New("no file") })
		}, "no file"},
		{"stays", func(p *lab.Process) error { return p.Until(gone, no) }, context.Canceled.Error()},
		{"stays", func(p *lab.Process) error { return p.Wait(gone) }, context.Canceled.Error()},
		{"stays", func(p *lab.Process) error { return p.Succeed(gone) }, context.Canceled.Error()},
	} {
		p := start(t, test.program)
		err := test.wait(p)
		p.Kill()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.program, err, test.want)
		}
	}
}

func TestAProgramThatIsKilled(t *testing.T) {
	p := start(t, "stays")
	if p.Gone() {
		t.Error("it has ended")
	}
	p.Kill()
	p.Kill()
	if !p.Gone() || p.Code() != -1 {
		t.Errorf("exit code %d", p.Code())
	}
	if _, err := lab.StartProgram(filepath.Join(t.TempDir(), "output"), nil, "/no/such/program"); err == nil {
		t.Error("a program that is not there has started")
	}
}

// TestKillAfter has a program that ends before, and one that does not.
func TestKillAfter(t *testing.T) {
	if hit, err := start(t, "ends").KillAfter(t.Context(), time.Minute); hit || err != nil {
		t.Errorf("of one that ends: %v, %v", hit, err)
	}
	p := start(t, "stays")
	if hit, err := p.KillAfter(t.Context(), time.Millisecond); !hit || err != nil || !p.Gone() {
		t.Errorf("of one that stays: %v, %v", hit, err)
	}
	p = start(t, "stays")
	defer p.Kill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if hit, err := p.KillAfter(ctx, time.Minute); hit || !errors.Is(err, context.Canceled) {
		t.Errorf("in a context that ended: %v, %v", hit, err)
	}
}
