package imitation

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"speceval/internal/fleet"
)

// States of a job.
const (
	working int64 = iota
	done          // all tokens are there
	lost          // the engine died
)

// job is one request in the engine. The engine writes its counts, the handler
// waits for notices and reads them.
type job struct {
	sequence fleet.Sequence
	answer   fleet.Answer
	mishap   mishap
	at       int  // tokens after which the mishap happens
	stream   bool // notices are wanted before the end

	prefilled bool // it has been in a step
	noticed   int  // tokens at the last notice
	struck    bool // the mishap has happened

	progress atomic.Int64  // tokens and state, in one so that they agree
	notice   chan struct{} // holds one
}

// states fit below the tokens in a job's progress.
const stateBits = 2

// read is how far the job is.
func (j *job) read() (tokens int, state int64) {
	p := j.progress.Load()
	return int(p >> stateBits), p & (1<<stateBits - 1)
}

// tell publishes how far the job is.
func (j *job) tell(state int64) {
	j.noticed = j.sequence.Generated
	j.progress.Store(int64(j.noticed)<<stateBits | state)
	select {
	case j.notice <- struct{}{}:
	default:
	}
}

// engine is the part of a server process that computes: one goroutine steps
// the batch in scaled time. It lives until it is killed or kills itself.
type engine struct {
	Settings
	meter *meter
	end   context.Context // done when it has to die
	kill  context.CancelFunc
	died  chan struct{}        // closed when it is dead
	stuck chan context.Context // gets every hang, a context that ends with it; holds one

	mu       sync.Mutex
	arrivals []*job
	leaving  []*job
	dead     bool
	hang     context.Context // while it hangs; nil otherwise
	resume   context.CancelFunc
	bell     chan struct{} // rung when something arrives or leaves; holds one

	batch *fleet.Batch
	slow  int       // jobs in the batch that slow it
	due   time.Time // when the step under way ends
}

func newEngine(s Settings) *engine {
	end, kill := context.WithCancel(context.Background())
	return &engine{
		Settings: s, meter: &meter{finished: map[string]int{}}, end: end, kill: kill,
		died: make(chan struct{}), stuck: make(chan context.Context, 1), bell: make(chan struct{}, 1),
		batch: fleet.NewBatch(s.Timing, s.MaxSequences),
	}
}

func (e *engine) ring() {
	select {
	case e.bell <- struct{}{}:
	default:
	}
}

// submit hands a job to the engine; a dead one refuses.
func (e *engine) submit(j *job) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dead {
		return false
	}
	j.notice = make(chan struct{}, 1)
	j.sequence.Owner = j
	e.arrivals = append(e.arrivals, j)
	e.ring()
	return true
}

// abort takes a job out at the end of the step under way.
func (e *engine) abort(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaving = append(e.leaving, j)
	e.ring()
}

// hold makes the engine hang until release.
func (e *engine) hold() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hang != nil || e.dead {
		return
	}
	e.hang, e.resume = context.WithCancel(e.end)
	select {
	case e.stuck <- e.hang:
	default: // the supervisor has not looked at the last one yet, which is over
	}
}

// release ends a hang.
func (e *engine) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hang != nil {
		e.resume()
		e.hang = nil
	}
}

// run is the engine's goroutine.
func (e *engine) run() {
	defer e.bury()
	for e.end.Err() == nil {
		e.receive()
		steps := e.steps()
		took := e.batch.Begin(steps)
		e.meter.load(e.batch)
		if steps == 0 {
			select {
			case <-e.bell:
			case <-e.end.Done():
			}
			continue
		}
		if !e.pause(took) {
			return
		}
		e.dismiss()
		e.publish(steps, e.batch.Advance(steps))
	}
}

// steps is how many steps to take at once: one while anything is watched as it
// goes, all until something ends where no time passes anyway.
func (e *engine) steps() int {
	next := e.batch.Next()
	if next > 0 && (e.Speed > 0 || e.watched()) {
		return 1
	}
	return next
}

func (e *engine) watched() (any bool) {
	e.batch.Each(func(s *fleet.Sequence) {
		j := s.Owner.(*job)
		any = any || j.stream || j.mishap.kind == crash || j.mishap.kind == hang
	})
	return any
}

// receive moves arrivals into the batch and those that leave out of it.
func (e *engine) receive() {
	e.mu.Lock()
	arrivals := e.arrivals
	e.arrivals = nil
	e.mu.Unlock()
	if now := e.Clock.Now(); len(arrivals) > 0 && e.batch.Running()+e.batch.Waiting() == 0 && e.due.Before(now) {
		e.due = now // it was idle
	}
	for _, j := range arrivals {
		e.batch.Add(&j.sequence)
		if j.mishap.kind == slow {
			e.slow++
		}
	}
	e.dismiss()
}

// dismiss takes out of the batch what has left.
func (e *engine) dismiss() {
	e.mu.Lock()
	leaving := e.leaving
	e.leaving = nil
	leaving = slices.DeleteFunc(leaving, func(j *job) bool { // not even begun
		i := slices.Index(e.arrivals, j)
		if i >= 0 {
			e.arrivals = slices.Delete(e.arrivals, i, i+1)
		}
		return i >= 0
	})
	e.mu.Unlock()
	for _, j := range leaving {
		if e.batch.Remove(&j.sequence) && j.mishap.kind == slow {
			e.slow--
		}
	}
	if len(leaving) > 0 {
		e.meter.load(e.batch)
	}
}

// grain is how far the simulation may run ahead of the clock, so that it need
// not wait for every short step; lag is how far it may be behind it and still
// catch up: on a machine that is busier than that, the replica is slower, as a
// real one would be.
const (
	grain = time.Millisecond
	lag   = 10 * time.Millisecond
)

// pause lets the time of a step pass, and that of a hang; it is false when the
// engine has to die.
func (e *engine) pause(took time.Duration) bool {
	if e.Speed > 0 {
		if e.slow > 0 {
			took = time.Duration(float64(took) * e.Slow)
		}
		e.due = e.due.Add(time.Duration(float64(took) / e.Speed))
		switch ahead := e.due.Sub(e.Clock.Now()); {
		case ahead >= grain && e.Clock.Sleep(e.end, ahead) != nil:
			return false
		case ahead < -lag:
			e.due = e.due.Add(-lag - ahead)
		}
	}
	e.mu.Lock()
	hang := e.hang
	e.mu.Unlock()
	if hang != nil {
		<-hang.Done()
		e.due = e.Clock.Now()
	}
	return e.end.Err() == nil
}

// publish tells the handlers what steps steps have brought.
func (e *engine) publish(steps int, ended []*fleet.Sequence) {
	e.meter.step(e, steps, ended)
	e.meter.load(e.batch) // before the end is reported, so that a client that asks then sees it
	e.batch.Each(func(s *fleet.Sequence) {
		j := s.Owner.(*job)
		if j.stream && (j.noticed == 0 || s.Generated-j.noticed >= e.StreamInterval) {
			j.tell(working)
		}
		e.strike(j)
	})
	for _, s := range ended {
		j := s.Owner.(*job)
		if j.mishap.kind == slow {
			e.slow--
		}
		e.strike(j)
		if e.end.Err() == nil {
			j.tell(done)
		} else {
			j.tell(lost)
		}
	}
}

// strike lets the engine die or hang if the job's time for it has come.
func (e *engine) strike(j *job) {
	if j.struck || j.sequence.Generated < j.at {
		return
	}
	j.struck = true
	switch j.mishap.kind {
	case crash:
		e.kill()
	case hang:
		e.hold()
	}
}

// bury ends what the engine still had.
func (e *engine) bury() {
	e.kill()
	e.release()
	e.mu.Lock()
	e.dead = true
	orphans := e.arrivals
	e.arrivals, e.leaving = nil, nil
	e.mu.Unlock()
	e.batch.Each(func(s *fleet.Sequence) { orphans = append(orphans, s.Owner.(*job)) })
	for _, j := range append(orphans, e.queued()...) {
		j.tell(lost)
	}
	close(e.died)
}

// queued are the jobs that wait in the batch.
func (e *engine) queued() (jobs []*job) {
	e.batch.EachWaiting(func(s *fleet.Sequence) { jobs = append(jobs, s.Owner.(*job)) })
	return jobs
}
