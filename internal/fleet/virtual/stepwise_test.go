package virtual_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"speceval/internal/fleet"
	"speceval/internal/fleet/virtual"
	"speceval/internal/servers/router"
	"speceval/method/controller"
)

// stepwise is the same worker as virtual.Engine, done the long way: one step
// after the other, every sequence by itself.
type stepwise struct {
	settings virtual.Settings
	now      time.Duration
	replicas []server
	requests []*request
	ended    []router.Event
	computed time.Duration
}

type server struct {
	running, waiting []*request
	outstanding      int
	at               time.Duration // the end of the last step
	stepping         bool
	end              time.Duration // of the step under way
}

type request struct {
	number, replica, prompt, tokens, generated int
	started                                    time.Duration
	aborted, over                              bool
	seen                                       int
}

func newStepwise(s virtual.Settings) *stepwise {
	if s.MaxSequences == 0 {
		s.MaxSequences = 1 << 30
	}
	return &stepwise{settings: s, replicas: make([]server, s.Replicas), computed: -1}
}

func (e *stepwise) Slots() int         { return e.settings.Replicas * e.settings.Window }
func (e *stepwise) Now() time.Duration { return e.now }
func (e *stepwise) Compute(func())     { e.computed = e.now + e.settings.Computation }

func (e *stepwise) Submit(number int, id controller.ID) {
	target := 0
	for i := range e.replicas {
		if e.replicas[i].outstanding < e.replicas[target].outstanding {
			target = i
		}
	}
	e.until(e.now)
	r := &e.replicas[target]
	q := &request{number: number, replica: target, started: -1}
	q.prompt, q.tokens = e.settings.Lengths(id)
	if len(r.running)+len(r.waiting) == 0 {
		r.at = e.now
	}
	if len(r.running)+len(r.waiting) < e.settings.MaxSequences {
		q.started = e.now
	}
	r.outstanding++
	r.waiting = append(r.waiting, q)
	e.requests = append(e.requests, q)
}

func (e *stepwise) Abort(number int) {
	e.until(e.now)
	q := e.requests[number]
	if q.over || q.aborted {
		return
	}
	q.aborted, q.seen = true, q.generated
	r := &e.replicas[q.replica]
	if !r.stepping || slices.Contains(r.waiting, q) {
		e.leave(q, e.now)
	}
}

func (e *stepwise) leave(q *request, at time.Duration) {
	r := &e.replicas[q.replica]
	r.running = slices.DeleteFunc(r.running, func(o *request) bool { return o == q })
	r.waiting = slices.DeleteFunc(r.waiting, func(o *request) bool { return o == q })
	q.over = true
	event := router.Event{Request: q.number, Replica: q.replica, Started: q.started, Finished: at + e.settings.Latency, Prompt: q.prompt, Generated: q.generated}
	if q.aborted {
		event.Kind, event.Generated = router.Aborted, q.seen
		if q.seen == 0 {
			event.Prompt = 0
		}
	}
	e.ended = append(e.ended, event)
}

// until does every step that ends by a time.
func (e *stepwise) until(to time.Duration) {
	for i := range e.replicas {
		for e.step(i, to) {
		}
	}
}

// step does one step of a replica, if it begins before a time and ends by it.
func (e *stepwise) step(i int, to time.Duration) bool {
	r := &e.replicas[i]
	if !r.stepping {
		if r.at >= to || len(r.running)+len(r.waiting) == 0 {
			return false
		}
		prompts := 0
		var load fleet.Load
		for len(r.waiting) > 0 && len(r.running) < e.settings.MaxSequences {
			q := r.waiting[0]
			if q.started < 0 {
				q.started = r.at
			}
			prompts += q.prompt
			r.running, r.waiting = append(r.running, q), r.waiting[1:]
		}
		for _, q := range r.running {
			load.Sequences++
			load.Context += q.prompt + q.generated
			if after := e.settings.Timing.After; after > 0 && q.generated >= after {
				load.Late++
				load.Answers += q.generated
			}
		}
		r.stepping = true
		r.end = r.at + e.settings.Timing.Steps(load, 1) + e.settings.Timing.Prefill(prompts)
	}
	if r.end > to {
		return false
	}
	r.stepping, r.at = false, r.end
	for _, q := range slices.Clone(r.running) {
		q.generated++
		if q.aborted || q.generated == q.tokens {
			e.leave(q, r.at)
		}
	}
	return true
}

func (e *stepwise) Next(context.Context) (router.Event, error) {
	for tick := e.now; ; {
		e.until(tick)
		first := -1
		for i, event := range e.ended {
			if event.Finished <= tick && (first < 0 || slices.Compare(place(event), place(e.ended[first])) < 0) {
				first = i
			}
		}
		if e.computed >= 0 && e.computed <= tick && (first < 0 || e.computed <= e.ended[first].Finished) {
			event := router.Event{Kind: router.Computed, Request: -1, Replica: -1, Started: -1, Finished: e.computed}
			e.now, e.computed = max(e.now, e.computed), -1
			return event, nil
		}
		if first >= 0 {
			event := e.ended[first]
			e.ended = slices.Delete(e.ended, first, first+1)
			e.replicas[event.Replica].outstanding--
			e.now = max(e.now, event.Finished)
			if event.Kind == router.Completed {
				e.now += e.settings.Handling
			}
			return event, nil
		}
		if tick = e.later(tick); tick < 0 {
			return router.Event{}, errors.New("nothing is outstanding")
		}
	}
}

// later is when the next step ends, or the computation, or an end is reported.
func (e *stepwise) later(tick time.Duration) time.Duration {
	next := e.computed
	for _, event := range e.ended {
		if next < 0 || event.Finished < next {
			next = event.Finished
		}
	}
	for i := range e.replicas {
		r := &e.replicas[i]
		e.step(i, tick) // begins one
		at := time.Duration(-1)
		switch {
		case r.stepping:
			at = r.end
		case len(r.running)+len(r.waiting) > 0:
			at = tick + 1 // it begins a step then
		}
		if at >= 0 && (next < 0 || at < next) {
			next = at
		}
	}
	return next
}

// place orders events: by time, replica and request.
func place(e router.Event) []int { return []int{int(e.Finished), e.Replica, e.Request} }
