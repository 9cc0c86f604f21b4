package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds on what a process writes.
const (
	longestReply     = 1 << 20 // bytes of a line
	longestComplaint = 2 << 10 // bytes of standard error, the last of which are kept
)

// patience is for a process whose input has ended, before it is killed.
const patience = 2 * time.Second

// way is how a process is started and killed.
type way struct {
	command func() (command *exec.Cmd, started func(), err error)
	kill    func(command *exec.Cmd) // it, and what it has started

	// keep has all of a process group killed should this program be; nil: that happens
	// of itself.
	keep func(group int) (dismiss func(), err error)
}

// process is a running grader.
type process struct {
	input     *os.File
	output    *os.File
	lines     chan []byte // replies; closed when no other can come, and why is set
	why       error       // why no other reply can come
	complaint complaint
	died      chan struct{} // closed when it has ended
	status    error         // how, then
	kill      func()
	ended     chan struct{} // closed when it is given up
	gone      chan struct{} // closed when nothing of it is left
	giveUp    func()
}

// start starts a process.
func (w way) start() (*process, error) {
	p := &process{lines: make(chan []byte), died: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{})}
	p.giveUp = sync.OnceFunc(func() { close(p.ended) })
	started := make(chan error, 1)
	go p.run(w, started)
	if err := <-started; err != nil {
		return nil, err
	}
	go p.read()
	return p, nil
}

// run starts the process, says so, and waits for its end. The kernel kills it when
// the thread that has started it ends, so that thread is kept.
func (p *process) run(w way, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	command, cleanup, err := w.command()
	if err != nil {
		started <- err
		return
	}
	theirs, err := p.pipes(command)
	if err == nil {
		err = command.Start()
		for _, file := range theirs {
			file.Close()
		}
	}
	cleanup()
	if err != nil {
		p.closePipes()
		started <- fmt.Errorf("cannot be started: %w", err)
		return
	}
	p.kill = sync.OnceFunc(func() { w.kill(command) })
	dismiss := func() {}
	if w.keep != nil {
		if dismiss, err = w.keep(command.Process.Pid); err != nil {
			p.kill()
			command.Wait()
			p.closePipes()
			started <- err
			return
		}
	}
	close(started)
	p.status = command.Wait()
	close(p.died)
	<-p.ended
	p.kill() // what it has left behind
	dismiss()
	close(p.gone)
}

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

// pipes are the standard streams of a process; theirs are its ends.
func (p *process) pipes(command *exec.Cmd) (theirs []*os.File, err error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.input = ours
	output, out, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	p.output = output
	command.Stdin, command.Stdout, command.Stderr = in, out, &p.complaint
	command.WaitDelay = time.Second // for what holds its standard error after its end
	return []*os.File{in, out}, nil
}

func (p *process) closePipes() {
	if p.input != nil {
		p.input.Close()
	}
	if p.output != nil {
		p.output.Close()
	}
}

// read reads lines until there are no more, or one is too long.
func (p *process) read() {
	defer close(p.lines)
	r := bufio.NewReaderSize(p.output, 64<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			p.why = err
			return
		}
		select {
		case p.lines <- line:
		case <-p.ended:
			return
		}
	}
}

// readLine reads a line that is not too long.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > longestReply:
			return nil, fmt.Errorf("wrote a line of more than %d bytes", longestReply)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// ask sends a line and waits for the reply. After an error the process is of no
// more use.
func (p *process) ask(ctx context.Context, line []byte) ([]byte, error) {
	select {
	case stray, ok := <-p.lines:
		if ok {
			return nil, fmt.Errorf("wrote %s, without a request: a reply is one line, and other words go to standard error", shown(stray))
		}
		return nil, p.death()
	default:
	}
	stop := context.AfterFunc(ctx, p.drop)
	defer stop()
	_, err := p.input.Write(line)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // it has closed its input, or ended: how says more
		p.input.Close()
	}
	died := p.died
	for {
		select {
		case reply, ok := <-p.lines:
			switch {
			case ok:
				return reply, nil
			case ctx.Err() != nil:
				return nil, ctx.Err()
			}
			return nil, p.death()
		case <-died: // what it has started may hold its output: it is over soon anyway
			died = nil
			bounded, cancel := context.WithTimeout(ctx, lastWords)
			defer cancel()
			defer context.AfterFunc(bounded, p.drop)()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lastWords is how long a reply may take that was written before the process died.
const lastWords = 200 * time.Millisecond

// death says why no reply comes, after the last line.
func (p *process) death() error {
	if !errors.Is(p.why, io.EOF) && !errors.Is(p.why, os.ErrClosed) {
		return p.why
	}
	bounded, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-p.died:
		if p.status == nil || errors.Is(p.status, exec.ErrWaitDelay) {
			return errors.New("ended with exit status 0, though it was to stay up")
		}
		return fmt.Errorf("died: %w", p.status)
	case <-bounded.Done():
		return errors.New("closed its standard output")
	}
}

// drop kills the process and all that it has started.
func (p *process) drop() {
	p.giveUp()
	p.kill()
	p.closePipes()
}

// end tells the process to go by ending its input, and kills it if it does not,
// and what it leaves behind. It returns when that is done.
func (p *process) end() {
	p.giveUp()
	p.input.Close()
	bounded, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-p.died:
	case <-bounded.Done():
	}
	p.drop()
	<-p.gone
}

// complaint keeps the end of what a process writes to standard error.
type complaint struct {
	mu   sync.Mutex
	text []byte
}

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
