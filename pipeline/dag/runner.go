package dag

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"speceval/internal/terminal/display"
)

// Runner carries out plans.
type Runner struct {
	Executor  Executor
	Observe   func(Event)      // called from one goroutine; may be nil
	Origin    Origin           // recorded in every manifest
	Now       func() time.Time // the clock of the start and wall times
	KeepGoing bool             // after a failure, run what does not depend on it
	Shared    bool             // other processes write outputs in the folder, too
}

// Run runs exactly the units of the plan, each after those that it needs, and
// keeps the snapshot of the plan up to date.
//
// When drain is closed no further unit starts and those in flight finish;
// when ctx is cancelled those in flight are cancelled. Either way the error
// is an *Error that says so: a run that was asked to stop never succeeds.
// A unit that fails makes the run fail with an *Error too, after the units in
// flight, or with KeepGoing all that do not depend on it, have finished.
//
// The caller holds the output folder's lock.
func (r *Runner) Run(ctx context.Context, drain <-chan struct{}, plan *Plan) error {
	s := plan.snapshot
	if !r.Shared { // or their half-written files would go
		if err := Sweep(s.dir); err != nil {
			return err
		}
	}
	f := &flight{
		Runner: r, plan: plan, snapshot: s,
		waiting: make(map[int]int),
		tasks:   make(chan Task), results: make(chan Result),
		advances: make(chan Event, 64), drain: drain,
	}
	for i, planned := range plan.planned {
		if !planned {
			continue
		}
		for _, need := range s.graph.nodes[i].needs {
			if plan.planned[need] {
				f.waiting[i]++
			}
		}
		if f.waiting[i] == 0 {
			f.enqueue(i)
		}
	}
	executed := make(chan struct{})
	go func() {
		defer close(executed)
		r.Executor.Execute(ctx, f.tasks, f.results)
	}()
	f.fly(ctx, drain, executed)
	close(f.tasks)
	<-executed

	f.problems.NotRun = plan.Units() - f.done - len(f.problems.Failures)
	f.problems.Interrupted = ctx.Err() != nil || closed(drain)
	if f.problems.Interrupted || len(f.problems.Failures) > 0 {
		return &f.problems
	}
	if f.problems.NotRun > 0 {
		return fmt.Errorf("%s of the plan did not run: the executor gave up", display.Units(f.problems.NotRun))
	}
	return nil
}

// flight is a run under way. Only the goroutine of Run touches it.
type flight struct {
	*Runner
	plan     *Plan
	snapshot *Snapshot

	waiting  map[int]int // planned unit to its planned needs that are not done
	queue    []Task      // of planned units that wait for nothing
	running  int         // units in flight
	tasks    chan Task
	results  chan Result
	advances chan Event // with progress
	drain    <-chan struct{}

	stopping bool
	done     int
	problems Error
}

// fly starts units and takes results until nothing is in flight and nothing
// more may start, or the executor has left.
func (f *flight) fly(ctx context.Context, drain, executed <-chan struct{}) {
	cancelled := ctx.Done()
	for {
		if ctx.Err() != nil || closed(drain) {
			f.stopping = true
		}
		var start chan<- Task // nil: nothing to start
		var head Task
		if len(f.queue) > 0 && !f.stopping {
			start, head = f.tasks, f.queue[0]
		} else if f.running == 0 {
			return
		}
		select {
		case start <- head:
			f.queue[0] = Task{} // for its job to be forgotten
			f.queue = f.queue[1:]
			f.running++
			f.observe(Event{Unit: head.Ref, Key: head.Key})
		case result := <-f.results:
			f.land(ctx, result)
		case e := <-f.advances:
			f.observe(e)
		case <-drain:
			drain, f.stopping = nil, true
		case <-cancelled:
			cancelled, f.stopping = nil, true
		case <-executed:
			return
		}
	}
}

// enqueue queues unit i, which waits for nothing. A unit that cannot even be prepared fails
// here.
func (f *flight) enqueue(i int) {
	j, err := f.snapshot.prepare(i, f.Origin)
	if err != nil {
		f.fail(f.snapshot.graph.nodes[i].ref, "", err)
		return
	}
	j.drain = f.drain
	j.advance = func(p Progress) { // from any goroutine
		select {
		case f.advances <- Event{Unit: j.ref, Progress: &p}:
		default: // many reports wait already
		}
	}
	f.queue = append(f.queue, Task{
		Ref: j.ref, Key: j.Key(), Redo: j.Redo(), Seconds: max(0, f.plan.records[i].Seconds), Advance: j.advance, Done: j.done,
		Run: func(ctx context.Context) error { return j.run(ctx, f.Now) },
	})
}

// observe passes an event on.
func (f *flight) observe(e Event) {
	if f.Observe != nil {
		f.Observe(e)
	}
}

// land books a result, and queues the units that waited for it.
func (f *flight) land(ctx context.Context, result Result) {
	for len(f.advances) > 0 {
		f.observe(<-f.advances)
	}
	ref, err := result.Task.Ref, result.Err
	i := f.snapshot.graph.index[ref]
	f.running--
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) || f.stopping && errors.Is(err, ErrDrained) {
		return // interrupted, not failed
	}
	if err == nil {
		err = f.accept(i, result.Task.Key)
	}
	if err != nil {
		f.fail(ref, result.Task.Key, err)
		return
	}
	f.done++
	f.observe(Event{Unit: ref, Key: result.Task.Key, Manifest: f.snapshot.records[i].Last})
	for _, d := range f.snapshot.graph.nodes[i].dependents {
		if f.waiting[d] > 0 {
			f.waiting[d]--
			if f.waiting[d] == 0 {
				f.enqueue(d)
			}
		}
	}
}

// accept takes the manifest of a unit that says it is done, wherever it ran.
func (f *flight) accept(i int, key string) error {
	m, err := readManifest(f.snapshot.dir, f.snapshot.graph.nodes[i].ref)
	if err != nil {
		return fmt.Errorf("it left no manifest: %w", err)
	}
	if m.Key != key {
		return fmt.Errorf("its manifest has key %s, not %s: did another process run it?", short(m.Key), short(key))
	}
	r := &f.snapshot.records[i]
	r.Last, r.problem = m, nil
	for k, output := range r.Declared.Outputs {
		made, _ := m.output(output)
		r.have[k] = made.SHA256
	}
	return nil
}

func (f *flight) fail(ref Ref, key string, err error) {
	failed := Event{Unit: ref, Key: key, Err: err}
	f.problems.Failures = append(f.problems.Failures, failed)
	f.stopping = f.stopping || !f.KeepGoing
	f.observe(failed)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Error says how a run fell short of its plan. What did run is kept; running
// again goes on from there.
type Error struct {
	Failures    []Event // of units that failed, in the order in which they did
	Interrupted bool    // it was asked to stop
	NotRun      int     // planned units that have no result: never started, or cut short
}

// Error lists the first failed units and their causes.
func (e *Error) Error() string {
	const fewFailures = 20 // the log of the run has all
	var b strings.Builder
	switch {
	case e.Interrupted && e.NotRun > 0:
		fmt.Fprintf(&b, "interrupted: %s not run", display.Units(e.NotRun))
	case e.Interrupted:
		b.WriteString("interrupted, when every unit had run")
	}
	if len(e.Failures) > 0 {
		if e.Interrupted {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s failed", display.Units(len(e.Failures)))
		if e.NotRun > 0 && !e.Interrupted {
			fmt.Fprintf(&b, ", %d not run", e.NotRun)
		}
		for _, f := range e.Failures[:min(len(e.Failures), fewFailures)] {
			fmt.Fprintf(&b, "\n  %s: %s", f.Unit, strings.ReplaceAll(strings.TrimSpace(f.Err.Error()), "\n", "\n    "))
		}
		if more := len(e.Failures) - fewFailures; more > 0 {
			fmt.Fprintf(&b, "\n  and %d more: `speceval status --json` has all", more)
		}
	}
	return b.String()
}

// Unwrap gives the causes of the failures.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}
