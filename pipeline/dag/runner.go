package dag

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"speceval/internal/atomicfile"
	"speceval/internal/process"
)

// Runner carries out plans.
type Runner struct {
	Executor  Executor
	Observer  Observer
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
		if _, err := atomicfile.Sweep(s.dir); err != nil {
			return err
		}
	}
	f := &flight{
		Runner: r, snapshot: s,
		waiting: make(map[int]int), executions: make(map[Ref]int),
		tasks: make(chan Task), results: make(chan Result),
		advances: make(chan advance, 64), drain: drain,
	}
	f.queueUp(plan)

	r.Observer.Begin(plan)
	defer r.Observer.End()
	executed := make(chan struct{})
	go func() {
		defer close(executed)
		r.Executor.Execute(ctx, f.tasks, f.results)
	}()
	f.fly(ctx, drain, executed)
	close(f.tasks)
	<-executed

	f.problems.NotRun = plan.Units() - f.done - len(f.problems.Failures)
	f.problems.Interrupted = f.problems.Interrupted || ctx.Err() != nil || closed(drain)
	if f.problems.Interrupted || len(f.problems.Failures) > 0 {
		return &f.problems
	}
	if f.problems.NotRun > 0 {
		return fmt.Errorf("%s of the plan did not run: the executor gave up", count(f.problems.NotRun))
	}
	return nil
}

// flight is a run under way. Only the goroutine of Run touches it.
type flight struct {
	*Runner
	snapshot *Snapshot

	waiting    map[int]int // planned unit to its planned needs that are not done
	queue      []int       // planned units that wait for nothing
	head       Task        // the first of queue, if prepared
	prepared   bool
	executions map[Ref]int // units in flight, to their index
	tasks      chan Task
	results    chan Result
	advances   chan advance
	drain      <-chan struct{}

	stopping bool
	done     int
	problems Error
}

// advance is a unit's report of its progress.
type advance struct {
	unit     Ref
	progress Progress
}

// queueUp counts what each planned unit waits for.
func (f *flight) queueUp(plan *Plan) {
	planned := make(map[int]bool)
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			planned[u.index] = true
		}
	}
	for _, stage := range plan.Stages {
		for _, u := range stage.Run {
			for _, need := range f.snapshot.graph.nodes[u.index].needs {
				if planned[need] {
					f.waiting[u.index]++
				}
			}
			if f.waiting[u.index] == 0 {
				f.queue = append(f.queue, u.index)
			}
		}
	}
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
		if f.next() {
			start = f.tasks
		} else if len(f.executions) == 0 {
			return
		}
		select {
		case start <- f.head:
			f.executions[f.head.Ref] = f.queue[0]
			f.queue, f.prepared = f.queue[1:], false
			f.Observer.Started(f.head.Ref, f.head.Key)
		case result := <-f.results:
			f.land(ctx, result)
		case a := <-f.advances:
			f.Observer.Advanced(a.unit, a.progress)
		case <-drain:
			drain, f.stopping, f.problems.Interrupted = nil, true, true
		case <-cancelled:
			cancelled, f.stopping = nil, true
		case <-executed:
			return
		}
	}
}

// next tells whether a unit may start, and prepares the head of the queue for
// it. A unit that cannot even be prepared fails here.
func (f *flight) next() bool {
	for len(f.queue) > 0 && !f.stopping {
		if f.prepared {
			return true
		}
		i := f.queue[0]
		e, err := f.snapshot.prepare(i, f.Origin)
		if err != nil {
			f.queue = f.queue[1:]
			f.fail(f.snapshot.graph.ref(i), "", err)
			continue
		}
		e.job.drain, e.job.advance = f.drain, f.advanced(e.job.ref)
		run := func(ctx context.Context) error { return e.run(ctx, f.Now) }
		before := f.snapshot.records[i].manifest
		done := func() (bool, error) { return f.snapshot.done(e.job.ref, e.job.key, before) }
		f.head, f.prepared = Task{
			Ref: e.job.ref, Key: e.job.key, Redo: e.job.fresh, Seconds: f.snapshot.seconds(i), Run: run, Done: done, Advance: e.job.advance,
		}, true
	}
	return false
}

// advanced gives a unit the means to report its progress, from any goroutine.
func (f *flight) advanced(unit Ref) func(Progress) {
	return func(p Progress) {
		select {
		case f.advances <- advance{unit, p}:
		default: // many reports wait already
		}
	}
}

// tell passes on the reports that wait.
func (f *flight) tell() {
	for {
		select {
		case a := <-f.advances:
			f.Observer.Advanced(a.unit, a.progress)
		default:
			return
		}
	}
}

// land books a result, and queues the units that waited for it.
func (f *flight) land(ctx context.Context, result Result) {
	f.tell()
	ref, err := result.Task.Ref, result.Err
	i := f.executions[ref]
	delete(f.executions, ref)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return // it was cancelled: interrupted, not failed
	}
	if errors.Is(err, ErrDrained) && f.stopping {
		return
	}
	if err == nil {
		err = f.accept(i, result.Task.Key)
	}
	if err != nil {
		f.fail(ref, result.Task.Key, err)
		return
	}
	f.done++
	f.Observer.Finished(Outcome{Unit: ref, Key: result.Task.Key, Manifest: f.snapshot.records[i].manifest})
	for _, d := range f.snapshot.graph.nodes[i].dependents {
		if f.waiting[d] > 0 {
			f.waiting[d]--
			if f.waiting[d] == 0 {
				f.queue = append(f.queue, d)
			}
		}
	}
}

// accept takes the manifest of a unit that says it is done, wherever it ran.
func (f *flight) accept(i int, key string) error {
	m, err := readManifest(f.snapshot.dir, f.snapshot.graph.ref(i))
	if err != nil {
		return fmt.Errorf("it left no manifest: %w", err)
	}
	if m.Key != key {
		return fmt.Errorf("its manifest has key %s, not %s: did another process run it?", short(m.Key), short(key))
	}
	r := record{manifest: m, have: make([]string, len(f.snapshot.graph.nodes[i].unit.Outputs))}
	for k, output := range f.snapshot.graph.nodes[i].unit.Outputs {
		made, _ := m.output(output)
		r.have[k] = made.SHA256
	}
	f.snapshot.records[i] = r
	return nil
}

func (f *flight) fail(ref Ref, key string, err error) {
	f.problems.Failures = append(f.problems.Failures, Failure{ref, err})
	f.stopping = f.stopping || !f.KeepGoing
	f.Observer.Finished(Outcome{Unit: ref, Key: key, Err: err})
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// prepare makes the job of unit i from what is on disk now.
func (s *Snapshot) prepare(i int, origin Origin) (*execution, error) {
	g := s.graph
	parts, blocked := s.partsOf(i)
	if len(blocked) > 0 {
		return nil, fmt.Errorf("unit %s needs outputs of %s, which are not there", g.ref(i), g.ref(blocked[0]))
	}
	unit := g.nodes[i].unit
	e := &execution{parts: parts, inputs: []File{}}
	e.job = &Job{
		dir: s.dir, ref: g.ref(i), unit: unit, key: parts.Key(), origin: origin,
		inputs:   make(map[string]string),
		absent:   make(map[string]string),
		recorded: make(map[string]string),
		damaged:  make(map[string]bool), discredited: make(map[string]bool),
		written: make(map[string]File),
	}
	if m := s.records[i].manifest; m != nil {
		for _, f := range m.Outputs {
			e.job.recorded[f.Path] = f.SHA256
		}
		e.job.fresh = m.Key == e.job.key
		for k, output := range unit.Outputs {
			same := s.records[i].have[k] == e.job.recorded[output]
			e.job.fresh = e.job.fresh && same
			e.job.damaged[output] = m.Key == e.job.key && e.job.recorded[output] != "" && !same
		}
	}
	for _, need := range g.nodes[i].needs {
		r := &s.records[need]
		if !r.usable() {
			e.job.lacks(g.stageOf(need).Name, g.nodes[need].unit.Outputs)
			continue
		}
		for k, output := range g.nodes[need].unit.Outputs {
			if e.job.inputs[output] != "" {
				continue // the same unit is needed twice
			}
			e.job.inputs[output] = r.have[k]
			input, recorded := r.manifest.output(output)
			if recorded && input.SHA256 != r.have[k] {
				e.job.altered = append(e.job.altered, output)
				e.job.Note("it is made from %s, which was not as recorded: damaged, or edited", output)
			}
			input.Path, input.SHA256 = output, r.have[k]
			e.inputs = append(e.inputs, input)
		}
	}
	return e, nil
}

// execution is one unit about to run.
type execution struct {
	job    *Job
	parts  Parts
	inputs []File
}

// run computes the unit and writes its manifest. A panic of the unit becomes
// an error. It may be called on any goroutine.
func (e *execution) run(ctx context.Context, now func() time.Time) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil && len(e.job.notes) > 0 {
			err = fmt.Errorf("%w (%s)", err, strings.Join(e.job.notes, "; "))
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	defer e.job.letGo()
	runtime.LockOSThread() // so that the thread's CPU time is the unit's
	defer runtime.UnlockOSThread()
	start, cpu := now(), process.ThreadSeconds()
	if err := e.job.unit.Run(ctx, e.job); err != nil {
		return err
	}
	m := &Manifest{
		Format: manifestFormat, Key: e.job.key, Parts: e.parts, Provenance: cmp.Or(e.job.unit.Provenance, e.job.provenance),
		Inputs: e.inputs, Notes: e.job.notes, Origin: e.job.origin, Start: start.UTC(),
		WallSeconds: microseconds(elapsed(start, now())),
		CPUSeconds:  microseconds(process.ThreadSeconds() - cpu),
		PeakBytes:   process.Used().PeakBytes,
		Seeds:       []string{},
	}
	if e.job.unit.Seed != "" {
		m.Seeds = append(m.Seeds, e.job.unit.Seed)
	}
	if m.Outputs, err = e.job.outputs(); err != nil {
		return err
	}
	if err := writeManifest(e.job.dir, e.job.ref, m); err != nil {
		return err
	}
	return e.job.sweepScratch()
}

// elapsed is the time from start to end in seconds; none where the clock was set
// back in between.
func elapsed(start, end time.Time) float64 { return max(0, end.Sub(start).Seconds()) }

// microseconds rounds seconds to what clocks can tell.
func microseconds(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }

// Task is a unit that is ready to run: all that it needs is there.
type Task struct {
	Ref     Ref
	Key     string
	Redo    bool    // it is fresh, and runs because it was asked to
	Seconds float64 // that it will take, roughly; 0 if unknown

	// Run runs the unit in this process, up to and with its manifest. An
	// executor that runs units elsewhere does not call it: there, the command
	// `speceval unit STAGE KEY` does the same.
	Run func(ctx context.Context) error

	// Done tells whether the unit has run since the task was made, wherever it
	// did: whether a new manifest of this very key is there. It may be called on
	// any goroutine.
	Done func() (bool, error)

	// Advance passes on how far the unit is, where it runs elsewhere. It never
	// waits, and may be called on any goroutine.
	Advance func(Progress)
}

// Result is how a task ended.
type Result struct {
	Task Task
	Err  error
}

// Executor decides where units run, and how many at a time.
type Executor interface {
	// Execute runs the tasks that arrive on ready, in any order and several
	// at a time, and sends the result of each. It takes a task from ready
	// only when it can start it. It returns when ready is closed and every
	// result is sent. Once ctx is cancelled it ends what is running.
	Execute(ctx context.Context, ready <-chan Task, results chan<- Result)
}
