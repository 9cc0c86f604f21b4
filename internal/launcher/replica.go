package launcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"speceval/internal/vllm"
)

const (
	// A replica may be restarted mostRestarts times within restartSpan. One that
	// needs more has a fault that no restart mends.
	mostRestarts = 3
	restartSpan  = 30 * time.Minute
)

var (
	// errStopped says that there will be no run any more.
	errStopped = errors.New("the servers are stopped")
	// errTooOften says that a replica will not be restarted for now.
	errTooOften = errors.New("restarted too often")
)

// replica is one server, over all the runs of its process.
type replica struct {
	number    int
	url       string
	served    string
	words     []string
	variables []string
	log       string
	options   Options

	// busy is held by whoever starts or ends processes.
	busy     chan struct{}
	restarts []time.Time // those of late; for who holds busy

	mu      sync.Mutex
	run     *process // the latest, nil before the first
	stopped bool     // for good
}

func (p *replica) current() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// start runs the server's command and waits until it is healthy. If it does not
// get there, it is ended.
func (p *replica) start(ctx context.Context) error {
	run, err := p.launch()
	if err != nil {
		return fmt.Errorf("replica %d: %w", p.number, err)
	}
	if err := p.healthy(ctx, run); err != nil {
		run.stop(context.WithoutCancel(ctx), p.options.Clock)
		return fmt.Errorf("replica %d: %w", p.number, err)
	}
	p.options.Report(fmt.Sprintf("replica %d is healthy at %s", p.number, p.url))
	return nil
}

func (p *replica) launch() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, errStopped
	}
	run, err := launch(p.words, p.options.Environment, p.variables, p.log, p.options.Clock.Now())
	if err == nil {
		p.run = run
	}
	return run, err
}

// end ends the replica for good.
func (p *replica) end(ctx context.Context) {
	p.mu.Lock()
	p.stopped = true
	run := p.run
	p.mu.Unlock()
	if run != nil {
		run.stop(ctx, p.options.Clock)
	}
}

// healthy waits until the server answers for its model, or is gone, or its time
// is over.
func (p *replica) healthy(ctx context.Context, run *process) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-run.exited:
			cancel(fmt.Errorf("the server ended before it was healthy (%s)", run.state))
		case <-ctx.Done():
		}
	}()
	c := p.options.Clock
	client, err := vllm.New(p.url, vllm.Options{Key: p.options.Key, Clock: c})
	if err != nil {
		return err
	}
	defer client.Close()
	end := c.Now().Add(p.options.Start)
	err = probe(ctx, client, p.served)
	for pause := firstPause; err != nil; pause = min(2*pause, longestPause) {
		if !c.Now().Before(end) {
			return fmt.Errorf("not healthy after %s: %w; its log %s says\n%s", p.options.Start, err, p.log, run.words())
		}
		if c.Sleep(ctx, pause) != nil {
			break
		}
		err = probe(ctx, client, p.served)
	}
	if cause := context.Cause(ctx); cause != nil && !run.running() {
		return fmt.Errorf("%w; its log %s says\n%s", cause, p.log, run.words())
	}
	return context.Cause(ctx)
}

// watch restarts the server whenever it ends, until life is over.
func (p *replica) watch(life context.Context) {
	for {
		run := p.current()
		select {
		case <-life.Done():
			return
		case <-run.exited:
		}
		if !run.asked.Load() {
			p.options.Report(fmt.Sprintf("replica %d died (%s); see %s", p.number, run.state, p.log))
		}
		for err := p.replace(life, run); err != nil && life.Err() == nil; err = p.replace(life, run) {
			p.options.Report(err.Error())
			if errors.Is(err, errTooOften) {
				_ = p.options.Clock.Sleep(life, restartSpan) // the end of life ends the loop, too
			}
		}
	}
}

// replace ends the given run and starts another, unless that has been done.
func (p *replica) replace(ctx context.Context, run *process) error {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if latest := p.current(); latest != run && latest.running() {
		return nil
	}
	if err := p.allow(p.options.Clock.Now()); err != nil {
		return err
	}
	run.stop(ctx, p.options.Clock)
	return p.start(ctx)
}

// allow counts a restart, unless there were too many of late.
func (p *replica) allow(now time.Time) error {
	for len(p.restarts) > 0 && now.Sub(p.restarts[0]) >= restartSpan {
		p.restarts = p.restarts[1:]
	}
	if len(p.restarts) >= mostRestarts {
		return fmt.Errorf("replica %d: %w (%d times in %s) and stays down; see %s", p.number, errTooOften, mostRestarts, restartSpan, p.log)
	}
	p.restarts = append(p.restarts, now)
	return nil
}
