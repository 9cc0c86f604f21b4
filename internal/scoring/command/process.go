package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"speceval/internal/scoring/sandbox/child"
)

// longestReply bounds a line that a process writes, in bytes.
const longestReply = 1 << 20

// patience is for a process whose input has ended, before it is killed.
const patience = 2 * time.Second

// process is a running grader.
type process struct {
	*child.Child
	lines chan []byte // replies; closed when no other can come, and why is set
	why   error       // why no other reply can come
	quit  func()      // no more are wanted
}

// read reads lines until there are no more, or one is too long.
func (p *process) read(done chan struct{}) {
	defer close(p.lines)
	r := bufio.NewReaderSize(p.Output, 64<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			p.why = err
			return
		}
		select {
		case p.lines <- line:
		case <-done:
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
	defer context.AfterFunc(ctx, p.drop)()
	_, err := p.Input.Write(line)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil { // it has closed its input, or ended: how says more
		p.Input.Close()
	}
	died := p.Died
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
	switch {
	case !errors.Is(p.why, io.EOF) && !errors.Is(p.why, os.ErrClosed):
		return p.why
	case !p.DiesWithin(patience):
		return errors.New("closed its standard output")
	case p.Status == nil || errors.Is(p.Status, exec.ErrWaitDelay):
		return errors.New("ended with exit status 0, though it was to stay up")
	}
	return fmt.Errorf("died: %w", p.Status)
}

// drop kills the process and all that it has started.
func (p *process) drop() {
	p.quit()
	p.Drop()
}

// end lets the process end, and kills it if it does not, and what it leaves behind.
func (p *process) end() {
	p.quit()
	p.Stop(patience)
}
