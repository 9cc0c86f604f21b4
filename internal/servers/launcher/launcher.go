// Package launcher starts the vLLM servers of one worker, a process for every replica, and
// stops them. A server's arguments depend on the recipe and the model alone.
package launcher

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/machine/clock"
	"speceval/internal/servers/vllm"
)

// Options says how servers are started.
type Options struct {
	Logs        string        // folder for replica-<i>.log, appended to
	Start       time.Duration // how long a server may take until it is healthy
	Clock       clock.Clock
	Environment []string     // of this process, as KEY=VALUE; servers inherit it
	Key         vllm.Key     // that clients must send; "" none
	Report      func(string) // takes one line for people, from any goroutine; may be nil
}

const (
	// grace is how long a server may take to end after SIGTERM.
	grace = 15 * time.Second
	// A replica that needs more restarts within restartSpan has a fault that none mends.
	mostRestarts = 3
	restartSpan  = 30 * time.Minute
	// startPoll is the pause between polls of a starting server.
	startPoll = 100 * time.Millisecond
)

// Servers are the replicas of one worker.
type Servers struct{ replicas []*replica }

// replica is one server, over all the runs of its process.
type replica struct {
	Options
	number           int
	url, log         string
	words, variables []string

	run      atomic.Pointer[process] // the latest, nil before the first
	restarts []time.Time             // recent ones
}

// Start starts all replicas side by side and returns when each is healthy. If one
// cannot start, all are stopped, and the error names its log and quotes its own error
// from there. A done ctx stops the start; later it does not matter, and Stop must be
// called.
func Start(ctx context.Context, r Recipe, m Model, o Options) (*Servers, error) {
	if r.GPUs != nil && len(r.GPUs) < r.Replicas {
		return nil, fmt.Errorf("CUDA_VISIBLE_DEVICES leaves %d GPUs for %d replicas: ask for more, or start fewer (systems.replicas)", len(r.GPUs), r.Replicas)
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	s := new(Servers)
	for i := range r.Replicas {
		words, err := r.words(m, i)
		if err != nil {
			return nil, err
		}
		log := filepath.Join(o.Logs, "replica-"+strconv.Itoa(i)+".log")
		s.replicas = append(s.replicas, &replica{Options: o, number: i, url: r.url(i), log: log, words: words, variables: r.variables(m, i, string(o.Key))})
	}
	starting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	s.each(func(p *replica) {
		if err := p.start(starting); err != nil {
			giveUp(fmt.Errorf("replica %d: %w", p.number, err)) // the first one counts
		}
	})
	if err := context.Cause(starting); err != nil {
		_ = s.Stop(context.WithoutCancel(ctx)) // no error, since it has no end
		return nil, err
	}
	return s, nil
}

// each does something with all replicas at once.
func (s *Servers) each(do func(p *replica)) {
	var all sync.WaitGroup
	for _, p := range s.replicas {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// URLs lists where the replicas listen, in order.
func (s *Servers) URLs() (urls []string) {
	for _, p := range s.replicas {
		urls = append(urls, p.url)
	}
	return urls
}

// Process is the id of a replica's process, also of its process group; 0 when it is not running.
func (s *Servers) Process(i int) int {
	if run := s.replicas[i].run.Load(); run != nil && run.running() {
		return run.cmd.Process.Pid
	}
	return 0
}

// Stop ends all replicas: politely, and by force after a grace or when ctx is done.
// It returns when they are gone. No replica may be restarted meanwhile or later.
func (s *Servers) Stop(ctx context.Context) error {
	s.each(func(p *replica) {
		if run := p.run.Load(); run != nil {
			run.stop(ctx)
		}
	})
	return ctx.Err()
}

// Restart ends a replica, unless it has ended by itself, starts it again, and returns
// when it is healthy. It fails when the replica was restarted too often lately. Others may
// be restarted meanwhile.
func (s *Servers) Restart(ctx context.Context, i int) error {
	p := s.replicas[i]
	run := p.run.Load()
	if !run.running() {
		p.Report(fmt.Sprintf("replica %d died (%s); see %s", i, run.cmd.ProcessState, p.log))
	}
	now := p.Clock.Now()
	p.restarts = slices.DeleteFunc(p.restarts, func(t time.Time) bool { return now.Sub(t) >= restartSpan })
	if len(p.restarts) >= mostRestarts {
		return fmt.Errorf("replica %d was restarted too often (%d times in %s) and stays down; see %s", i, mostRestarts, restartSpan, p.log)
	}
	p.restarts = append(p.restarts, now)
	run.stop(ctx)
	if err := p.start(ctx); err != nil {
		return fmt.Errorf("replica %d: %w", i, err)
	}
	return nil
}

// start runs the server's command and waits until it is healthy. If it is gone before, or its
// time is over, it is ended.
func (p *replica) start(ctx context.Context) error {
	client, err := vllm.New(p.url, vllm.Options{Key: p.Key, Clock: p.Clock})
	if err != nil {
		return err
	}
	defer client.Close()
	if client.Health(ctx) == nil { // it would be mistaken for ours
		return fmt.Errorf("a server answers at %s already: stop it, choose another port, or name it under urls of a worker without a launch command", p.url)
	}
	run, err := launch(p.words, p.Environment, p.variables, p.log, p.Clock.Now(), grace)
	if err != nil {
		return err
	}
	p.run.Store(run)
	for end := p.Clock.Now().Add(p.Start); ; _ = p.Clock.Sleep(ctx, startPoll) { // whose end the next round sees
		err := client.Health(ctx)
		switch {
		case !run.running():
			err = fmt.Errorf("the server ended before it was healthy (%s); its log %s says\n%s", run.cmd.ProcessState, p.log, run.words())
		case err == nil:
			p.Report(fmt.Sprintf("replica %d is healthy at %s", p.number, p.url))
			return nil
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case !p.Clock.Now().Before(end):
			err = fmt.Errorf("not healthy after %s: %w; its log %s says\n%s", p.Start, err, p.log, run.words())
		default:
			continue
		}
		run.stop(context.WithoutCancel(ctx))
		return err
	}
}
