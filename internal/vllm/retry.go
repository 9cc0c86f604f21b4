package vllm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"speceval/internal/clock"
	"speceval/internal/seed"
)

// Retry tries something again that failed on a server's side, after waiting
// First, then twice as long each time, up to Most; of each wait a random half
// is left out, so that callers who failed together do not return together. A
// server that says how long it wants to be left alone is left alone so long.
type Retry struct {
	Attempts int           // in all; less than 1 counts as 1
	First    time.Duration // 0: 250 ms
	Most     time.Duration // 0: 30 s
	Clock    clock.Clock   // nil: clock.Wall
	Seed     int64         // of the random halves
	// Report hears of every failure that is followed by another attempt; it may
	// be nil.
	Report func(attempt int, err error, wait time.Duration)
}

// Do calls f until it succeeds, fails for good, or has been tried Attempts
// times, and returns its last error. An error fails for good if it is no *Error
// or its kind is permanent. Nothing is tried after ctx has ended.
func (r Retry) Do(ctx context.Context, f func(context.Context) error) error {
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
		if ended := r.clock().Sleep(ctx, wait); ended != nil {
			return fmt.Errorf("%w, while waiting to try again after: %v", ended, err)
		}
	}
}

// longestLater bounds what a server may ask for.
const longestLater = 10 * time.Minute

// later is how long a server wants to be left alone, by the header of an answer:
// Retry-After in seconds or as a date, or the field in milliseconds that some
// services have beside it. 0 if it does not say.
func later(h http.Header, now time.Time) time.Duration {
	var wait time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		wait = time.Duration(min(s, 1e6) * float64(time.Second))
	} else if date, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), longestLater)
}

func (r Retry) clock() clock.Clock {
	if r.Clock == nil {
		return clock.Wall{}
	}
	return r.Clock
}

// wait is the time between an attempt, counted from 1, and the next.
func (r Retry) wait(attempt int) time.Duration {
	first, most := r.First, r.Most
	if first == 0 {
		first = 250 * time.Millisecond
	}
	if most == 0 {
		most = 30 * time.Second
	}
	whole := min(first, most)
	for range attempt - 1 {
		if whole > most/2 {
			whole = most
			break
		}
		whole *= 2
	}
	stream := seed.Root(uint64(r.Seed)).Child("retry").Index(attempt).Stream()
	return whole - time.Duration(stream.Float64()*float64(whole)/2)
}
