package imitation

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"speceval/internal/clock"
)

// Entry is a line of the log: one request for a chat or a completion. Lines
// are in order of arrival, so that a line waits until all requests before it
// have ended.
type Entry struct {
	Seconds float64 `json:"seconds"` // from the replica's start to the arrival
	Replica int     `json:"replica"`
	Seed    *int64  `json:"seed"`    // null if there was none
	ID      string  `json:"id"`      // X-Request-Id or request_id; "" if there was none
	Fault   string  `json:"fault"`   // drawn for it, see ParseFaults; "" for none
	Tokens  int     `json:"tokens"`  // generated
	Outcome string  `json:"outcome"` // "stop", "length"; "aborted" by the client; "cut", "garbage", "500", "dead" engine; "refused"
}

// journal writes entries in order of arrival.
type journal struct {
	w       io.Writer
	clock   clock.Clock
	replica int
	start   time.Time

	mu    sync.Mutex
	queue []*line
}

// line is an entry that is being written.
type line struct {
	Entry
	ended bool
}

func newJournal(s Settings) *journal {
	return &journal{w: s.Log, clock: s.Clock, replica: s.Index, start: s.Clock.Now()}
}

// open notes an arrival. Nothing is kept without a log.
func (j *journal) open() *line {
	l := &line{Entry: Entry{Seconds: j.clock.Now().Sub(j.start).Seconds(), Replica: j.replica, Outcome: "refused"}}
	if j.w != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.queue = append(j.queue, l)
	}
	return l
}

// close notes the end of a request, and writes what no earlier one holds up.
func (j *journal) close(l *line) {
	if j.w == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l.ended = true
	for len(j.queue) > 0 && j.queue[0].ended {
		text, err := json.Marshal(j.queue[0].Entry)
		if err == nil {
			_, err = j.w.Write(append(text, '\n'))
		}
		if err != nil {
			j.w, j.queue = nil, nil // a log that cannot be written is given up
			return
		}
		j.queue[0] = nil
		j.queue = j.queue[1:]
	}
}
