package virtual

import (
	"time"

	"speceval/internal/fleet"
)

// replica takes runs of steps: as many at once as change nothing but the number
// of tokens. A request that arrives, or is to end, cuts the run under way short
// at the next end of a step.
type replica struct {
	batch       *fleet.Batch
	most        int // sequences that run at a time
	outstanding int // requests, as the router sees it

	at    time.Duration // when the run under way began, or the last one ended
	steps int           // of the run under way; 0: none is
	end   time.Duration // of the run under way; never if none is

	unstarted int // flights that wait for room
}

// idle reports whether there is nothing to do.
func (r *replica) idle() bool { return len(r.batch.Running())+len(r.batch.Waiting()) == 0 }

// next is when the run under way ends. A run that would begin before the given
// time begins.
func (r *replica) next(before time.Duration) time.Duration {
	if r.steps > 0 || r.at >= before || r.idle() {
		return r.end
	}
	r.steps = r.batch.Next()
	r.end = r.at + r.batch.Begin(r.steps)
	if waiting := len(r.batch.Waiting()); r.unstarted > waiting {
		r.unstarted = waiting
		for _, s := range r.batch.Running() {
			if f := s.Owner.(*flight); f.started < 0 {
				f.started = r.at
			}
		}
	}
	return r.end
}

// advance ends the run under way and returns the sequences that end with it.
func (r *replica) advance() []*fleet.Sequence {
	steps := r.steps
	r.at, r.steps, r.end = r.end, 0, never
	return r.batch.Advance(steps)
}

// cut ends the run under way at the first end of a step from now on.
func (r *replica) cut(now time.Duration) {
	if r.steps == 0 {
		return
	}
	steps := r.batch.Within(r.steps, now-r.at)
	if steps == 0 || r.at+r.batch.Begin(steps) < now {
		steps++
	}
	if steps < r.steps {
		r.steps, r.end = steps, r.at+r.batch.Begin(steps)
	}
}

// accept takes a flight in. It starts at once if there is room for it: with
// the step that the replica does next.
func (r *replica) accept(f *flight, now time.Duration) {
	if r.idle() {
		r.at = now
	}
	r.outstanding++
	if len(r.batch.Running())+len(r.batch.Waiting()) < r.most {
		f.started = now
		r.cut(now)
	} else {
		r.unstarted++
	}
	r.batch.Add(&f.sequence)
}

// abort has a flight leave with the end of the step under way, and reports whether it
// has left at once.
func (r *replica) abort(f *flight, now time.Duration) bool {
	f.aborted, f.seen = true, f.sequence.Generated()
	if r.batch.Withdraw(&f.sequence) {
		r.unstarted = min(r.unstarted, len(r.batch.Waiting()))
		return true
	}
	if r.steps == 0 {
		r.batch.Remove(&f.sequence)
		return true
	}
	f.seen += r.batch.Within(r.steps, now-r.at)
	r.cut(now)
	r.batch.End(&f.sequence, r.steps)
	return false
}
