// Package process runs a program beside a drill, and finds the servers that it
// has started.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a program that runs beside the drill, its output in a file.
type Process struct {
	command *exec.Cmd
	output  string
	ended   chan struct{}
}

// Start starts a program whose output goes to a new file. A nil environment is
// that of the drill.
func Start(output string, environment []string, program string, args ...string) (*Process, error) {
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

// Gone tells whether it has.
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

// look is between two looks for something to happen.
const look = 5 * time.Millisecond

// Until waits for something to happen while the process runs. It is an error if
// that ends first.
func (p *Process) Until(ctx context.Context, happens func() (bool, error)) error {
	for {
		ended := p.Gone() // before the look: what happened last is not missed
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
		case <-time.After(look):
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

// Memory is the most that a process which has ended had of memory at a time, in
// bytes; 0 where the system does not tell.
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

// lastLines are enough to see why a program ended.
const lastLines = 12

// Last is the end of the output, for messages.
func (p *Process) Last() string {
	text, err := os.ReadFile(p.output)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-lastLines):], []byte("\n")))
}
