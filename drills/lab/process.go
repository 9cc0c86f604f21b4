package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is a program that runs beside the drill, its output in a file.
type Process struct {
	command *exec.Cmd
	output  string
	ended   chan struct{}
}

// StartProgram starts a program whose output goes to a new file. A nil environment is
// that of the drill.
func StartProgram(output string, environment []string, program string, args ...string) (*Process, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the process has it, too
	p := &Process{command: exec.Command(program, args...), output: output, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = environment, file, file
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.command.Wait() // its outcome is in ProcessState
		close(p.ended)
	}()
	return p, nil
}

// Ended is closed when the process has ended and was waited for.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Gone reports whether the process has ended.
func (p *Process) Gone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for the end.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Succeed waits for the end, which must be one with exit code 0.
func (p *Process) Succeed(ctx context.Context) error {
	if err := p.Wait(ctx); err != nil {
		return err
	}
	if p.Code() != 0 {
		return p.end("")
	}
	return nil
}

// pollEvery is how often Until polls.
const pollEvery = 5 * time.Millisecond

// Until waits for something to happen while the process runs. It is an error if
// that ends first.
func (p *Process) Until(ctx context.Context, happens func() (bool, error)) error {
	for {
		ended := p.Gone() // before the poll: what happened last is not missed
		if yes, err := happens(); yes || err != nil {
			return err
		}
		if ended {
			return p.end("it ended too soon, ")
		}
		select {
		case <-p.ended:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// end is an error about how the process ended.
func (p *Process) end(how string) error {
	return fmt.Errorf("%sexit code %d:\n%s", how, p.Code(), p.Last())
}

// Kill sends SIGKILL and waits for the end. It may be called again.
func (p *Process) Kill() {
	p.command.Process.Kill()
	<-p.ended
}

// KillAfter sends SIGKILL after a while, and reports whether the process was still
// running then.
func (p *Process) KillAfter(ctx context.Context, wait time.Duration) (hit bool, err error) {
	select {
	case <-p.ended:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(wait):
		p.Kill()
		return p.Code() == -1, nil
	}
}

// Signal sends a signal and does not wait.
func (p *Process) Signal(s os.Signal) error { return p.command.Process.Signal(s) }

// Code is the exit code of a process that has ended, -1 if a signal ended it.
func (p *Process) Code() int { return p.command.ProcessState.ExitCode() }

// CPU is the user and system time of a process that has ended, and of those that it
// has waited for.
func (p *Process) CPU() time.Duration {
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime()
}

// Memory is the largest resident set of a process that has ended, in bytes; 0 where
// the system does not report it.
func (p *Process) Memory() int64 {
	usage, ok := p.command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return usage.Maxrss
	}
	return usage.Maxrss << 10 // kilobytes
}

// Text is the whole output so far.
func (p *Process) Text() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// lastLines are enough to see why a program ended.
const lastLines = 12

// Last is the end of the output, for messages.
func (p *Process) Last() string {
	lines := strings.Split(strings.TrimSpace(p.Text()), "\n")
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// Start starts a command of the program that is tried. Its output goes to a file in
// the folder logs.
func (l *Lab) Start(words ...string) (*Process, error) {
	if err := os.MkdirAll(l.Path("logs"), 0o777); err != nil {
		return nil, err
	}
	l.Commands++
	return StartProgram(l.Path("logs", fmt.Sprintf("%03d-%s.txt", l.Commands, words[0])), l.Environment, l.Program, words...)
}

// Do runs a command of the program to its end, which must have this exit code.
func (l *Lab) Do(ctx context.Context, code int, words ...string) (*Process, error) {
	p, err := l.Start(words...)
	if err != nil {
		return nil, err
	}
	defer p.Kill()
	if err := p.Wait(ctx); err != nil {
		return p, err
	}
	if p.Code() != code {
		return p, fmt.Errorf("speceval %s: exit code %d, want %d:\n%s", strings.Join(words, " "), p.Code(), code, p.Last())
	}
	return p, nil
}
