package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "embed"

	"speceval/internal/scoring/sandbox/cgroup"
)

//go:embed program.py
var programSource string

//go:embed driver.py
var driverSource string

// driver is what runs in a sandbox, as Python source.
var driver = programSource + "\n" + driverSource

// Session is a program in its sandbox. One test runs at a time.
type Session struct {
	sandbox *Sandbox
	program Program
	inside  *inside // nil if the sandbox has to be made again
}

// inside is a running sandbox.
type inside struct {
	command   *exec.Cmd
	input     io.WriteCloser
	output    *bufio.Reader
	complaint *complaint
	group     *cgroup.Group // nil without control groups
	kill      func()
}

// Start makes a sandbox for a program, once there is a place for it. The error
// is one of the sandbox, never of the program. The session must be closed.
func (s *Sandbox) Start(ctx context.Context, program Program) (*Session, error) {
	if err := take(ctx, s.gate.programs); err != nil {
		return nil, err
	}
	program.Source = strings.ToValidUTF8(program.Source, "\ufffd")
	session := &Session{sandbox: s, program: program}
	err := s.gate.shared(ctx, func() error { return session.open(ctx) })
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// Close ends everything in the sandbox.
func (s *Session) Close() {
	s.drop()
	<-s.sandbox.gate.programs
}

func (s *Session) drop() {
	if s.inside != nil {
		s.inside.end()
		s.inside = nil
	}
}

// open starts the sandbox and hands the program in.
func (s *Session) open(ctx context.Context) error {
	longest := 0
	for _, input := range s.program.Inputs {
		longest = max(longest, len(input))
	}
	in, err := s.sandbox.launch(longest)
	if err != nil {
		return err
	}
	s.inside = in
	defer in.killWhenDone(ctx)()
	if err := in.send([]byte(s.program.Source), []byte(s.program.Function)); err == nil {
		var ready string
		if ready, err = in.receive(longestHead); err == nil && ready == "ready" {
			return nil
		}
	}
	s.drop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("sandbox: bubblewrap could not make one: %s (are user namespaces allowed for this user? %s)",
		in.complaint.last(), "see user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns on Ubuntu")
}

// launch starts bubblewrap.
func (s *Sandbox) launch(longest int) (*inside, error) {
	rules, err := filter(runtime.GOARCH, false)
	if err != nil {
		return nil, err
	}
	rulesOut, rulesIn, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer rulesOut.Close()
	_, err = rulesIn.Write(rules) // less than a pipe holds
	rulesIn.Close()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	const firstExtra = 3
	group, err := s.group(longest)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	in := &inside{command: s.command(longest, firstExtra, group), complaint: &complaint{}, group: group}
	in.command.ExtraFiles, in.command.Stderr = []*os.File{rulesOut}, in.complaint
	if group != nil {
		in.command.ExtraFiles = append(in.command.ExtraFiles, group.CPU, group.Events)
	}
	if err := in.start(); err != nil {
		in.release()
		return nil, err
	}
	sacrifice(in.command.Process.Pid)
	in.kill = sync.OnceFunc(func() { killInside(in.command.Process.Pid) })
	return in, nil
}

// group is the control group for a sandbox, nil where there are none. Its limits
// leave room for the driver and for bubblewrap in addition to the program.
func (s *Sandbox) group(longest int) (*cgroup.Group, error) {
	if s.groups == nil {
		return nil, nil
	}
	const others, theirMemory = 4, 64 << 20
	return s.groups.New(cgroup.Bounds{Memory: s.settings.Memory + scratch(longest) + theirMemory, Processes: MaxProcesses + others})
}

// start starts bubblewrap, with pipes to and from it.
func (in *inside) start() (err error) {
	in.input, err = in.command.StdinPipe()
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	output, err := in.command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	in.output = bufio.NewReader(output)
	if err := in.command.Start(); err != nil {
		return fmt.Errorf("sandbox: bubblewrap cannot be started (are user namespaces allowed here?): %w", err)
	}
	return nil
}

// release removes the control group. One that stays is removed by a later process.
func (in *inside) release() {
	if in.group != nil {
		in.group.Close()
	}
}

// killWhenDone kills the sandbox when the context is done, until the function
// that it returns is called.
func (in *inside) killWhenDone(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, in.kill)
}

// stopTimeout is how long a driver may take to exit once its input is closed.
const stopTimeout = 5 * time.Second

// end has the driver go, and everything else with it, and waits for that.
func (in *inside) end() {
	in.input.Close()
	bounded, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	defer in.killWhenDone(bounded)()
	io.Copy(io.Discard, in.output) // until no process can write
	in.command.Wait()              // how it ended is of no interest
	in.release()
}

// longestHead bounds the first frame of an answer, in bytes.
const longestHead = 4096

func (in *inside) send(frames ...[]byte) error {
	var all []byte
	for _, frame := range frames {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(frame))), frame...)
	}
	_, err := in.input.Write(all)
	return err
}

func (in *inside) receive(longest int) (string, error) {
	var length [4]byte
	if _, err := io.ReadFull(in.output, length[:]); err != nil {
		return "", err
	}
	n := binary.BigEndian.Uint32(length[:])
	if uint64(n) > uint64(longest) {
		return "", errors.New("a frame is too long")
	}
	var frame strings.Builder
	frame.Grow(int(n))
	_, err := io.CopyN(&frame, in.output, int64(n))
	return frame.String(), err
}

// ask has the driver run a test with a limit of CPU time. An error says that
// the sandbox is no more.
func (in *inside) ask(limit time.Duration, input string) (Result, error) {
	frame := binary.BigEndian.AppendUint64(nil, uint64(limit.Milliseconds()))
	if err := in.send(append(frame, input...)); err != nil {
		return Result{}, err
	}
	head, err := in.receive(longestHead)
	if err != nil {
		return Result{}, err
	}
	output, err := in.receive(MaxOutput)
	if err != nil {
		return Result{}, err
	}
	first, message, _ := strings.Cut(head, "\n")
	end, milliseconds, _ := strings.Cut(first, " ")
	cpu, err := strconv.ParseUint(milliseconds, 10, 32)
	if err != nil {
		return Result{}, err
	}
	return Result{End(end), message, output, time.Duration(cpu) * time.Millisecond}, nil
}

// complaint keeps the beginning of what bubblewrap and the driver print.
type complaint struct{ text bytes.Buffer }

// Write implements [io.Writer].
func (c *complaint) Write(p []byte) (int, error) {
	c.text.Write(p[:min(len(p), max(0, 4096-c.text.Len()))])
	return len(p), nil
}

// last is the last line, once the process has been waited for.
func (c *complaint) last() string { return lastLine(c.text.String()) }
