package virtual

import (
	"cmp"
	"slices"
	"time"

	"speceval/internal/router"
)

// queue holds the ends of requests in the order in which the router sees them:
// by time, then replica, then request. It is short.
type queue struct{ events []router.Event }

// due is the time of the first, never if there is none.
func (q *queue) due() time.Duration {
	if len(q.events) == 0 {
		return never
	}
	return q.events[len(q.events)-1].Finished
}

// push puts an event in its place. The first is kept last.
func (q *queue) push(event router.Event) {
	i := len(q.events)
	for i > 0 && order(q.events[i-1], event) < 0 {
		i--
	}
	q.events = slices.Insert(q.events, i, event)
}

func (q *queue) pop() router.Event {
	last := len(q.events) - 1
	event := q.events[last]
	q.events = q.events[:last]
	return event
}

func order(a, b router.Event) int {
	if a.Finished != b.Finished {
		return cmp.Compare(a.Finished, b.Finished)
	}
	if a.Replica != b.Replica {
		return cmp.Compare(a.Replica, b.Replica)
	}
	return cmp.Compare(a.Request, b.Request)
}
