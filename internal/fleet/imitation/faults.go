package imitation

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"speceval/internal/clock"
	"speceval/internal/seed"
)

// Faults are the probabilities, 0 to 1, that a request meets a fault. At most
// one fault meets a request, so they add up to 1 at most.
type Faults struct {
	Crash   float64 // the engine dies while it runs, and the server with it
	Hang    float64 // the engine stops while it runs, and /health says nothing of it
	Error   float64 // it ends as an internal error, 500 or an event in the stream
	Cut     float64 // its connection is closed in the middle of the answer
	Garbage float64 // its answer is no JSON, no UTF-8, or has no or a senseless usage
	Slow    float64 // while it runs, all steps of the replica take longer
}

// faultKind names a fault; "" is none.
type faultKind string

const (
	crash   faultKind = "crash"
	hang    faultKind = "hang"
	broken  faultKind = "500"
	cut     faultKind = "cut"
	garbage faultKind = "garbage"
	slow    faultKind = "slow"
)

// kinds lists the faults in the order in which they are drawn.
var kinds = [...]faultKind{crash, hang, broken, cut, garbage, slow}

// rate is the place of a fault's probability.
func (f *Faults) rate(k faultKind) *float64 {
	switch k {
	case crash:
		return &f.Crash
	case hang:
		return &f.Hang
	case broken:
		return &f.Error
	case cut:
		return &f.Cut
	case garbage:
		return &f.Garbage
	}
	return &f.Slow
}

// ParseFaults reads "kind=rate,kind=rate", with the kinds crash, hang, 500, cut,
// garbage and slow; an empty text is no fault.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	total := 0.0
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		known := false
		for _, k := range kinds {
			known = known || string(k) == name
		}
		if !known {
			return f, fmt.Errorf("fault %q is none of %s", name, strings.Trim(fmt.Sprint(kinds), "[]"))
		}
		rate, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return f, fmt.Errorf("fault %s: rate %q is not a number from 0 to 1", name, value)
		}
		*f.rate(faultKind(name)) = rate
	}
	for _, k := range kinds {
		total += *f.rate(k)
	}
	if total > 1 {
		return f, fmt.Errorf("the rates of all faults add up to %v, more than 1", total)
	}
	return f, nil
}

// mishap is the fault drawn for one request.
type mishap struct {
	kind    faultKind
	part    float64 // 0 to 1: how much of the answer comes before it
	variant int     // of garbage
}

// draw is the mishap of a request, from a stream of its own.
func (f *Faults) draw(s seed.Stream) mishap {
	u := s.Float64()
	m := mishap{part: s.Float64(), variant: int(s.Float64() * garbles)}
	for _, k := range kinds {
		if u -= *f.rate(k); u < 0 {
			m.kind = k
			break
		}
	}
	return m
}

// after is the number of tokens, of so many, after which the mishap happens: at
// least one, and fewer than all where there are two.
func (m mishap) after(tokens int) int {
	return min(1+int(m.part*float64(tokens-1)), max(1, tokens-1))
}

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
