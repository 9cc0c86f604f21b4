// Package child runs a program with pipes to and from it, and leaves nothing of
// it behind.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Child is a program that was started.
type Child struct {
	Input, Output *os.File      // our ends of its standard streams
	Died          chan struct{} // closed when it has ended
	Status        error         // how, then

	Kill func() // kills the child and all that it has started
	Drop func() // kills it, waits for its end, and closes the pipes

	complaint complaint
}

// Options are how a program is killed.
type Options struct {
	// Inside kills what is in the sandbox of a process; nil: it has none.
	Inside func(pid int)
	// Group kills the process group, what the program leaves behind included.
	Group bool
	// Keep has that happen should this program be killed.
	Keep bool
}

// Start starts a program that has a process group of its own, see [OwnGroup]. The
// kernel may kill it when the thread that has started it ends, so that thread is
// kept.
func Start(command *exec.Cmd, o Options) (*Child, error) {
	theirInput, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirInput.Close()
	output, theirOutput, err := os.Pipe()
	if err != nil {
		input.Close()
		return nil, err
	}
	defer theirOutput.Close()
	c := &Child{Input: input, Output: output, Died: make(chan struct{})}
	command.Stdin, command.Stdout, command.Stderr = theirInput, theirOutput, &c.complaint
	command.WaitDelay = time.Second // for what holds its standard error after its end
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			c.Status = command.Wait()
			close(c.Died)
		}
	}()
	if err := <-started; err != nil {
		c.closePipes()
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	return c, c.killBy(o, command.Process.Pid)
}

// killBy sets how the child is killed. It is killed if that fails.
func (c *Child) killBy(o Options, pid int) (err error) {
	dismiss := func() {}
	c.Kill = sync.OnceFunc(func() {
		select {
		case <-c.Died:
		default:
			if o.Inside != nil {
				o.Inside(pid)
			}
		}
		if o.Group {
			syscall.Kill(-pid, syscall.SIGKILL)
		}
	})
	c.Drop = sync.OnceFunc(func() {
		c.Kill()
		c.closePipes()
		<-c.Died
		dismiss()
	})
	if o.Keep {
		if dismiss, err = keep(pid); err != nil {
			dismiss = func() {}
			c.Drop()
		}
	}
	return err
}

func (c *Child) closePipes() {
	c.Input.Close()
	c.Output.Close()
}

// Stop ends the input of the child, and kills it if it does not end in time. What
// it leaves behind is killed.
func (c *Child) Stop(patience time.Duration) {
	c.Input.Close()
	c.DiesWithin(patience)
	c.Drop()
}

// DiesWithin reports whether the child ends in time.
func (c *Child) DiesWithin(patience time.Duration) bool {
	bounded, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-c.Died:
		return true
	case <-bounded.Done():
		return false
	}
}

// Complaint is the end of what the child has written to standard error.
func (c *Child) Complaint() string { return c.complaint.String() }

// keeping waits until the other end of its input is closed, and kills the
// process group $1.
const keeping = `read -r nothing; kill -s KILL -- "-$1" 2>/dev/null`

// keep starts a shell that kills a process group should this program be killed.
func keep(group int) (dismiss func(), err error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	shell := exec.Command("/bin/sh", "-c", keeping, "keeper", strconv.Itoa(group))
	shell.Stdin, shell.SysProcAttr = theirs, &syscall.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the shell that ends it with this program: %w", err)
	}
	return func() {
		_ = shell.Process.Kill()
		_ = shell.Wait() // killed
		ours.Close()
	}, nil
}

// complaint keeps the end of what a process writes to standard error.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

// longestComplaint is in bytes.
const longestComplaint = 2 << 10

// Write implements [io.Writer].
func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p[max(0, len(p)-longestComplaint):]...)
	if n := len(c.text); n > longestComplaint {
		c.text = append([]byte{}, c.text[n-longestComplaint:]...)
	}
	return len(p), nil
}

func (c *complaint) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(c.text), "\ufffd"))
}
