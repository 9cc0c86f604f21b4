package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"speceval/internal/scoring"
	"speceval/internal/scoring/sandbox"
	"speceval/internal/scoring/sandbox/child"
)

// Settings are how a grader is run.
type Settings struct {
	Program
	Timeout     time.Duration // for a verdict, the start of the program included
	Processes   int           // that run at a time, at least 1; other responses wait
	Sandbox     bool          // behind bubblewrap
	Memory      int64         // bytes of address space of each process behind bubblewrap; 0: no bound
	Environment []string      // of a program that is not behind bubblewrap
}

// Grader is a program that grades, as one or several processes. They are started
// when they are needed, and used again. It may be used concurrently, by several
// users: each opens and closes it.
type Grader struct {
	settings Settings
	places   chan struct{} // one for each process that may run

	mu    sync.Mutex
	users int
	start func() (*child.Child, error) // nil if it is not open
	idle  []*process
}

// NewGrader is a grader that is not open yet.
func NewGrader(s Settings) *Grader {
	return &Grader{settings: s, places: make(chan struct{}, max(1, s.Processes))}
}

// Open checks that the program can be run. The error says what is missing:
// without bubblewrap nothing is run behind it. It must be closed if there is none.
func (g *Grader) Open(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.start == nil {
		start, err := g.settings.starter(ctx)
		if err != nil {
			return fmt.Errorf("the grader %s: %w", g.settings.Name(), err)
		}
		g.start = start
	}
	g.users++
	return nil
}

// Close ends the processes when the last user has closed the grader.
func (g *Grader) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users--; g.users > 0 {
		return
	}
	var wait sync.WaitGroup
	for _, p := range g.idle {
		wait.Go(p.end)
	}
	wait.Wait()
	g.idle, g.start = nil, nil
}

// Places is how many responses are graded at a time.
func (g *Grader) Places() int { return cap(g.places) }

// starter makes what starts processes.
func (s *Settings) starter(ctx context.Context) (func() (*child.Child, error), error) {
	if s.Sandbox {
		r, err := sandbox.NewResident(ctx, sandbox.Resident{Arguments: s.Arguments, Folder: s.Folder, Visible: s.paths(), Memory: s.Memory})
		if err != nil {
			return nil, fmt.Errorf("it is run behind bubblewrap or, with sandbox = false, without: %w", err)
		}
		return r.Start, nil
	}
	path, err := exec.LookPath(s.Arguments[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, err
	}
	return func() (*child.Child, error) {
		c := exec.Command(path, s.Arguments[1:]...)
		c.Dir, c.Env, c.SysProcAttr = s.Folder, s.Environment, child.OwnGroup()
		return child.Start(c, child.Options{Group: true})
	}, nil
}

// tries is how often a grader is asked about a response.
const tries = 2

// ask asks a process, and a fresh one if that gives no verdict.
func (g *Grader) ask(ctx context.Context, line []byte, graded bool) (scoring.Verdict, error) {
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-ctx.Done():
		return scoring.Verdict{}, context.Cause(ctx)
	}
	var fault error
	for try := range tries {
		v, err := g.once(ctx, line, graded, try > 0)
		if err == nil || ctx.Err() != nil {
			return v, err
		}
		fault = err
	}
	return scoring.Verdict{}, fmt.Errorf("the grader %s gave no verdict, asked twice: it %w", g.settings.Name(), fault)
}

// once asks one process, a fresh one if it must be.
func (g *Grader) once(ctx context.Context, line []byte, graded, fresh bool) (scoring.Verdict, error) {
	p, err := g.acquire(fresh)
	if err != nil {
		return scoring.Verdict{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, g.settings.Timeout)
	defer cancel()
	reply, err := p.ask(bounded, line)
	var v scoring.Verdict
	if err == nil {
		v, err = parse(reply, graded)
	}
	if err == nil {
		g.giveBack(p)
		return v, nil
	}
	p.drop()
	switch {
	case ctx.Err() != nil:
		return v, context.Cause(ctx)
	case bounded.Err() != nil:
		err = fmt.Errorf("took more than %v (a reply must end its line, and be flushed)", g.settings.Timeout)
	}
	if said := p.Complaint(); said != "" {
		err = fmt.Errorf("%w; its standard error ends in\n%s", err, said)
	}
	return v, err
}

// acquire is an idle process, or a fresh one.
func (g *Grader) acquire(fresh bool) (*process, error) {
	g.mu.Lock()
	start := g.start
	if last := len(g.idle) - 1; last >= 0 && !fresh {
		p := g.idle[last]
		g.idle = g.idle[:last]
		g.mu.Unlock()
		return p, nil
	}
	g.mu.Unlock()
	if start == nil {
		return nil, errors.New("is not open")
	}
	c, err := start()
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	p := &process{Child: c, lines: make(chan []byte), quit: sync.OnceFunc(func() { close(done) })}
	go p.read(done)
	return p, nil
}

// giveBack keeps a process for another response, if there will be one.
func (g *Grader) giveBack(p *process) {
	g.mu.Lock()
	open := g.start != nil
	if open {
		g.idle = append(g.idle, p)
	}
	g.mu.Unlock()
	if !open {
		p.end()
	}
}

// Name is the command, short enough for an error.
func (p *Program) Name() string { return scoring.Shorten(strings.Join(p.Arguments, " ")) }
