// Package child runs a program with pipes to and from it, and leaves nothing of
// it behind.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	pid := command.Process.Pid
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
	})
	return c, nil
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
