package imitation

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"speceval/internal/fleet"
)

// States of a job.
const (
	working = iota
	done    // all tokens are there
	lost    // the engine died
)

// progress is how far a job is.
type progress struct{ tokens, state int }

// job is one request in the engine.
type job struct {
	sequence fleet.Sequence
	answer   fleet.Answer
	mishap   mishap
	at       int  // tokens after which the mishap happens
	stream   bool // progress is wanted before the end

	noticed int           // tokens that the handler knows of
	notice  chan progress // the latest that the handler has not seen; holds one
}

// tell sends the job's progress to its handler, in the place of older news.
func (j *job) tell(state int) {
	select {
	case <-j.notice:
	default:
	}
	j.noticed = j.sequence.Generated()
	j.notice <- progress{j.noticed, state}
}

// engine is the part of a server process that computes: its run steps the batch in
// scaled time, until it is killed or kills itself.
type engine struct {
	Settings
	end  context.Context // done when it has to die
	kill context.CancelFunc
	bell chan struct{} // rung when something arrives; holds one
	due  time.Time     // when the step under way ends
	hung bool          // it computes no more

	mu    sync.Mutex
	batch *fleet.Batch

	// Tokens and requests that /metrics counts. As in vLLM, an aborted request counts
	// with its tokens, but not as a success.
	prompts, generated, successes int
}

func newEngine(server context.Context, s Settings) *engine {
	e := &engine{Settings: s, bell: make(chan struct{}, 1), batch: fleet.NewBatch(s.Timing, s.MaxSequences)}
	e.end, e.kill = context.WithCancel(server)
	return e
}

// submit hands a job to the engine; a dead one refuses.
func (e *engine) submit(j *job) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end.Err() != nil {
		return false
	}
	j.notice = make(chan progress, 1)
	j.sequence.Owner = j
	e.batch.Add(&j.sequence)
	select {
	case e.bell <- struct{}{}:
	default:
	}
	return true
}

// leave takes a job out if it has not ended, and returns its number of tokens. It has
// no part in the step under way.
func (e *engine) leave(j *job) (tokens int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch.Remove(&j.sequence)
	return j.sequence.Generated()
}

// run computes until the engine dies.
func (e *engine) run() {
	defer e.bury()
	for idle := true; e.end.Err() == nil; {
		e.mu.Lock()
		steps, took := e.begin()
		e.mu.Unlock()
		if steps == 0 {
			select {
			case <-e.bell:
			case <-e.end.Done():
			}
			idle = true
			continue
		}
		if now := wall.Now(); idle && e.due.Before(now) {
			e.due = now
		}
		idle = false
		if !e.pause(took) {
			return
		}
		e.mu.Lock()
		e.advance(steps)
		e.mu.Unlock()
	}
}

// begin begins steps and returns their duration: one step where time passes or
// somebody watches, otherwise all until something ends.
func (e *engine) begin() (steps int, took time.Duration) {
	steps = e.batch.Next()
	factor := 1
	for _, s := range e.batch.Running() {
		j := s.Owner.(*job)
		if e.Speed > 0 || j.stream || j.mishap.kind == crash || j.mishap.kind == hang {
			steps = 1
		}
		if j.mishap.kind == slow {
			factor = 10
		}
		if s.Generated() == 0 {
			e.prompts += s.Prompt
		}
	}
	return steps, e.batch.Begin(steps) * time.Duration(factor)
}

// grain is how far the simulation may run ahead of the clock, so that it need not wait
// for every short step; lag is how far behind it may still catch up. On a busier machine
// the replica is slower, as a real one would be.
const (
	grain = time.Millisecond
	lag   = 10 * time.Millisecond
)

// pause lets the time of a step pass; it is false when the engine has to die. One that
// has hung dies when it would be restarted.
func (e *engine) pause(took time.Duration) bool {
	if e.hung {
		_ = wall.Sleep(e.end, cmp.Or(e.Restart, math.MaxInt64))
		return false
	}
	if e.Speed > 0 {
		e.due = e.due.Add(time.Duration(float64(took) / e.Speed))
		switch ahead := e.due.Sub(wall.Now()); {
		case ahead >= grain:
			return wall.Sleep(e.end, ahead) == nil
		case ahead < -lag:
			e.due = e.due.Add(-lag - ahead)
		}
	}
	return e.end.Err() == nil
}

// advance ends steps and tells the handlers what they have brought.
func (e *engine) advance(steps int) {
	e.generated += steps * len(e.batch.Running())
	ended := e.batch.Advance(steps)
	for _, s := range e.batch.Running() {
		j := s.Owner.(*job)
		if j.stream && (j.noticed == 0 || s.Generated()-j.noticed >= e.StreamInterval) {
			j.tell(working)
		}
		e.strike(j)
	}
	for _, s := range ended {
		j := s.Owner.(*job)
		if e.strike(j); e.end.Err() != nil {
			j.tell(lost)
			continue
		}
		if j.mishap.kind != broken && j.mishap.kind != cut {
			e.successes++
		}
		j.tell(done)
	}
}

// strike lets the engine die or hang if the job's time for it has come.
func (e *engine) strike(j *job) {
	if j.sequence.Generated() < j.at {
		return
	}
	switch j.mishap.kind {
	case crash:
		e.kill()
	case hang:
		e.hung = true
	}
}

// bury ends what the engine still had.
func (e *engine) bury() {
	e.kill()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range slices.Concat(e.batch.Running(), e.batch.Waiting()) {
		s.Owner.(*job).tell(lost)
	}
}
