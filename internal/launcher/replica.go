package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

	// busy is a lock: its holder may start or end processes.
	busy     chan struct{}
	restarts []time.Time // recent ones; guarded by busy

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

// What stands before the text of a line in a server's log: the process that
// wrote it, and the logger.
var prefix = regexp.MustCompile(`^(\(\w+ pid=\d+\) ?)?((ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?)?`)

// exception is the last line of a traceback, and usage what a command line that
// is not understood ends in.
var (
	exception = regexp.MustCompile(`^([A-Za-z_][\w.]*)?(Error|Exception|Exit)(: |$)`)
	usage     = regexp.MustCompile(`^\S+: error: `)
)

// hollow are errors of a server that only tell that another process of it has
// failed, or was asked to end.
var hollow = []string{
	"Engine core initialization failed", "EngineCore encountered an issue", "See stack trace", "CancelledError", "SystemExit",
}

const (
	detailLines  = 2   // at most, that explain an error
	longestLine  = 400 // bytes of a line that is quoted
	shortestTail = 3   // dots
)

// cause finds the error for which a server ended in what it wrote: the last one
// that says something, with the lines that explain it. After it come tracebacks
// of processes that it took along. nil if there is none.
func cause(log string) []string {
	var found []string
	explains := false
	for line := range strings.Lines(log) {
		text := strings.TrimRight(line[len(prefix.FindString(line)):], " \t\r\n")
		switch {
		case exception.MatchString(text) || usage.MatchString(text):
			if explains = !empty(text); explains {
				found = []string{short(text)}
			}
		case explains && strings.HasPrefix(text, " ") && len(found) <= detailLines:
			found = append(found, short(text))
		default:
			explains = false
		}
	}
	return found
}

// empty tells whether an error says nothing of its own.
func empty(text string) bool {
	for _, words := range hollow {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// short cuts a line that lists everything that a server knows.
func short(text string) string {
	if len(text) <= longestLine {
		return text
	}
	return strings.ToValidUTF8(text[:longestLine-shortestTail], "") + "..."
}

// preflight finds everything that would keep servers from starting, before one
// is started: ports in use, too little memory.
func (r Recipe) preflight(o Options) error {
	return errors.Join(r.free(), r.checkMemory(o))
}

// checkMemory compares what the replicas need with what there is.
func (r Recipe) checkMemory(o Options) error {
	if r.MemoryGiB <= 0 || o.Memory == nil {
		return nil
	}
	available, err := o.Memory()
	if err != nil {
		return fmt.Errorf("how much memory is free: %w (set the worker's memory_gib to 0 to go without this check)", err)
	}
	const gib = 1 << 30
	if need := r.MemoryGiB * float64(r.Replicas); need > float64(available)/gib {
		return fmt.Errorf("%d replicas of %g GiB need %.1f GiB of memory, and %.1f GiB are available: "+
			"stop something, set systems.replicas to %d, or correct the worker's memory_gib",
			r.Replicas, r.MemoryGiB, need, float64(available)/gib, max(1, int(float64(available)/gib/r.MemoryGiB)))
	}
	return nil
}

// free finds replicas' ports on which something listens, which could be mistaken for
// the server.
func (r Recipe) free() error {
	var faults []error
	for i := range r.Replicas {
		listener, err := net.Listen("tcp", r.address(i))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			faults = append(faults, fmt.Errorf("replica %d: %s is in use: stop what listens there, choose another port, "+
				"or name it under urls of a worker without a launch command", i, r.address(i)))
		case err != nil:
			faults = append(faults, fmt.Errorf("replica %d: cannot listen on %s: %w", i, r.address(i), err))
		default:
			listener.Close()
		}
	}
	return errors.Join(faults...)
}

// A starting server is asked after firstPause, then after twice as long each
// time, up to longestPause.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// probe asks a server whether it is healthy and serves the model.
func probe(ctx context.Context, client *vllm.Client, served string) error {
	if err := client.Health(ctx); err != nil {
		return err
	}
	models, err := client.Models(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, m := range models {
		names = append(names, m.ID)
	}
	if !slices.Contains(names, served) {
		return fmt.Errorf("%s serves %q, not %q", client.URL(), names, served)
	}
	return nil
}

// AvailableMemory reads from the text of /proc/meminfo how many bytes new
// processes can have without swapping.
func AvailableMemory(meminfo string) (int64, error) {
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "MemAvailable:" && words[2] == "kB" {
			kib, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil || kib < 0 {
				return 0, fmt.Errorf("MemAvailable of %q kB", words[1])
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no MemAvailable")
}
