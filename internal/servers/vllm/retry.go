package vllm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"speceval/internal/clock"
	"speceval/internal/seed"
)

// Retry tries something again that failed on a server's side, after waiting First, then twice as
// long each time, up to Most, less a random half of it, so that callers who failed together do
// not return together; and no sooner than the server wants.
type Retry struct {
	Attempts int                                              // in all; less than 1 counts as 1
	First    time.Duration                                    // 0: 250 ms
	Most     time.Duration                                    // 0: 30 s
	Clock    clock.Clock                                      // nil: clock.Wall
	Seed     int64                                            // of the random halves
	Report   func(attempt int, err error, wait time.Duration) // of failures that another attempt follows; may be nil
}

// Do calls f until it succeeds, fails for good, being no *Error or of a permanent kind, or has
// been tried Attempts times, and returns its last error. Nothing is tried after ctx has ended.
func (r Retry) Do(ctx context.Context, f func(context.Context) error) error {
	if r.Clock == nil {
		r.Clock = clock.Wall{}
	}
	for attempt := 1; ; attempt++ {
		err := f(ctx)
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Kind.Permanent() || ctx.Err() != nil {
			return err
		}
		if attempt >= r.Attempts {
			if attempt > 1 {
				err = fmt.Errorf("%d attempts: %w", attempt, err)
			}
			return err
		}
		wait := max(r.wait(attempt), e.Later)
		if r.Report != nil {
			r.Report(attempt, err, wait)
		}
		if ended := r.Clock.Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("%w, while waiting to try again after: %v", ended, err)
		}
	}
}

// wait is the time between an attempt, counted from 1, and the next.
func (r Retry) wait(attempt int) time.Duration {
	whole, most := cmp.Or(r.First, 250*time.Millisecond), cmp.Or(r.Most, 30*time.Second)
	for n := 1; n < attempt && whole < most; n++ {
		whole *= 2
	}
	whole = min(whole, most)
	stream := seed.Root(uint64(r.Seed)).Child("retry").Index(attempt).Stream()
	return whole - time.Duration(stream.Float64()*float64(whole)/2)
}

// longestLater bounds what a server may ask for.
const longestLater = 10 * time.Minute

// later is how long a server wants to be left alone: Retry-After in seconds or as a date, or the
// field in milliseconds that some services send next to it. 0 if the answer has neither.
func later(h http.Header, now time.Time) time.Duration {
	seconds, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64)
	if seconds /= 1000; err != nil {
		seconds, err = strconv.ParseFloat(strings.TrimSuffix(h.Get("Retry-After"), "s"), 64)
	}
	if date, notDate := http.ParseTime(h.Get("Retry-After")); err != nil && notDate == nil {
		seconds = date.Sub(now).Seconds()
	}
	if !(seconds > 0) { // NaN as well
		return 0
	}
	return time.Duration(min(seconds, longestLater.Seconds()) * float64(time.Second))
}

// OnLoss is what to do about an answer that is lost while it comes in: its replica
// dies, its connection is cut, the process that asked is killed.
type OnLoss int

// The rules. An answer of which a server has told nothing, though it would have, is
// asked for again under each.
const (
	Continue OnLoss = iota // goes on from what has been seen, and asks again where no server can
	AskAgain               // never goes on: for servers that repeat an answer by its seed
	Refuse                 // goes on, and fails where no server can
)

// ErrLost: an answer was lost while it came in, no server continues it, and the rule is Refuse.
var ErrLost = errors.New("an answer was lost under way, of which something was seen or may have been, and cannot be continued")

// ErrStopped: waiting has been ended, and the request had no server.
var ErrStopped = errors.New("waiting for a server was given up")

// onLoss are the names of the rules.
var onLoss = [...]string{Continue: "continue", AskAgain: "again", Refuse: "refuse"}

func (o OnLoss) String() string { return onLoss[o] }

// ParseOnLoss is the rule of a name.
func ParseOnLoss(name string) (OnLoss, error) {
	for o, n := range onLoss {
		if n == name {
			return OnLoss(o), nil
		}
	}
	return 0, fmt.Errorf("%q: want one of %s", name, strings.Join(onLoss[:], ", "))
}
