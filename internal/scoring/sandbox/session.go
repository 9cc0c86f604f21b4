package sandbox

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	_ "embed"

	"speceval/internal/scoring/sandbox/child"
)

//go:embed program.py
var programSource string

//go:embed driver.py
var driverSource string

// driver is the Python source of the process in a sandbox.
var driver = programSource + "\n" + driverSource

// Session is a program in its sandbox. One test runs at a time.
type Session struct {
	sandbox *Sandbox
	program Program
	inside  *inside // nil if the sandbox has to be made again
}

// inside is a running sandbox.
type inside struct {
	*child.Child
	output *bufio.Reader
}

// Start makes a sandbox for a program, once there is a place for it. The error
// is one of the sandbox, never of the program. The session must be closed.
func (s *Sandbox) Start(ctx context.Context, program Program) (*Session, error) {
	if err := s.programs.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	program.Source = strings.ToValidUTF8(program.Source, "\ufffd")
	session := &Session{sandbox: s, program: program}
	err := s.holding(ctx, 1, func() error { return session.open(ctx) })
	if err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// Close ends everything in the sandbox.
func (s *Session) Close() {
	s.drop()
	s.sandbox.programs.Release(1)
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
	command := s.sandbox.command(longest)
	c, err := start(command, false)
	if err != nil {
		return err
	}
	sacrifice(command.Process.Pid)
	in := &inside{c, bufio.NewReader(c.Output)}
	s.inside = in
	defer context.AfterFunc(ctx, in.Kill)()
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
	return noSandbox(in.Child)
}

// noSandbox is the error about a sandbox that has ended.
func noSandbox(c *child.Child) error {
	return fmt.Errorf("sandbox: bubblewrap could not make one: %s (are user namespaces allowed for this user? %s)", lastLine(c.Complaint()),
		"see user.max_user_namespaces, and kernel.apparmor_restrict_unprivileged_userns on Ubuntu")
}

// rulesFile is the file descriptor of the filter of system calls in a sandbox.
const rulesFile = 3

// start starts bubblewrap, with a filter of system calls for residents or for programs.
func start(command *exec.Cmd, resident bool) (*child.Child, error) {
	rules, err := filter(resident)
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer out.Close()
	_, err = in.Write(rules) // less than a pipe holds
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	command.ExtraFiles = []*os.File{out}
	c, err := child.Start(command, child.Options{Inside: killInside, Group: resident})
	if err != nil {
		return nil, fmt.Errorf("sandbox: bubblewrap (are user namespaces allowed here?) %w", err)
	}
	return c, nil
}

// stopTimeout is how long a driver may take to exit once its input is closed.
const stopTimeout = 5 * time.Second

// end has the driver go, and everything else with it, and waits for that.
func (in *inside) end() {
	in.Input.Close()
	bounded, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	defer context.AfterFunc(bounded, in.Kill)()
	io.Copy(io.Discard, in.output) // until no process can write
	in.Stop(stopTimeout)
}

// longestHead bounds the first frame of an answer, in bytes.
const longestHead = 4096

func (in *inside) send(frames ...[]byte) error {
	var all []byte
	for _, frame := range frames {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(frame))), frame...)
	}
	_, err := in.Input.Write(all)
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
