// Package clock provides the time to code that waits: servers, retries, watchdogs.
// Code below the edge takes a Clock instead of calling the operating system.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits. Its methods may be called concurrently.
type Clock interface {
	// Now is the present time, with a monotonic reading where there is one.
	Now() time.Time
	// Sleep waits for d, or until ctx is done, and returns ctx's error then.
	Sleep(ctx context.Context, d time.Duration) error
}

// Wall is the operating system's clock.
type Wall struct{}

var _ Clock = Wall{}

// Now is time.Now.
func (Wall) Now() time.Time { return time.Now() }

// Sleep waits in real time. A duration of zero or less does not wait.
func (Wall) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
