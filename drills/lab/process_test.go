package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"speceval/drills/lab"
)

func TestRunSaysHowItWent(t *testing.T) {
	for _, test := range []struct {
		limit time.Duration
		do    func(context.Context) error
		code  int
		want  string
	}{
		{time.Minute, func(context.Context) error { return nil }, 0, `^it took 0s\ndrill-x: passed\n$`},
		{time.Minute, func(context.Context) error { return errors.New("3 are lost") }, 1, `^3 are lost\ndrill-x: failed\n$`},
		{time.Nanosecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1, `^not done after 1ns\n.*\ndrill-x: failed\n$`},
	} {
		var printed strings.Builder
		if code := lab.Run("drill-x", test.limit, &printed, test.do); code != test.code || !regexp.MustCompile(test.want).MatchString(printed.String()) {
			t.Errorf("exit code %d, %q, want %d, %s", code, printed.String(), test.code, test.want)
		}
	}
}

func TestFoldersAreKeptAfterAFailureOrWhenNamed(t *testing.T) {
	named := filepath.Join(t.TempDir(), "named")
	broken := errors.New("broken")
	for _, test := range []struct {
		dir  string
		err  error
		kept bool
	}{{"", nil, false}, {"", broken, true}, {named, nil, true}} {
		var printed strings.Builder
		at := ""
		err := lab.InFolder(test.dir, &printed, func(dir string) error {
			at = dir
			return errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o666), test.err)
		})
		_, gone := os.Stat(filepath.Join(at, "file"))
		if !errors.Is(err, test.err) || (gone == nil) != test.kept || strings.Contains(printed.String(), at) != (test.err != nil) {
			t.Errorf("%+v: %v; %v; printed %q", test, err, gone, printed.String())
		}
		os.RemoveAll(at)
	}
	if err := os.Mkdir(named, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := lab.InFolder(named, os.Stdout, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a folder that is there: %v", err)
	}
}

func TestExperimentsWithoutServersOfTheirOwn(t *testing.T) {
	if e, err := lab.LoadExperiment("../../experiments-live.toml"); err != nil || e.Workers[0].Launch == "" {
		t.Errorf("the shipped one: %v", err)
	}
	urls := filepath.Join(t.TempDir(), "urls.toml")
	if err := os.WriteFile(urls, []byte("[[model]]\nid = \"m\"\n[[worker]]\nname = \"w\"\nurls = [\"http://a:1\"]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../../experiments.toml", urls} {
		if _, err := lab.LoadExperiment(path); err == nil || !strings.HasPrefix(err.Error(), path+": a drill needs") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

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
