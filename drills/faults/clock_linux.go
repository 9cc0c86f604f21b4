package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// clockSet sets the clock of this machine back and forth by minutes during a run,
// and to what it would have been at the end.
func (l *lab) clockSet(ctx context.Context, t *trial) (err error) {
	if os.Getuid() != 0 {
		return skipped("the clock is for root to set")
	}
	out, err := l.copied("clock", "generate")
	if err != nil {
		return err
	}
	start := time.Now() // with the monotonic clock, which nobody sets
	set := func(ahead time.Duration) error {
		now := syscall.NsecToTimeval(start.UnixNano() + int64(time.Since(start)+ahead))
		return syscall.Settimeofday(&now)
	}
	defer func() { err = errors.Join(err, set(0)) }()
	c, err := l.start(out, "run")
	if err != nil {
		return err
	}
	defer c.Kill()
	jumps := []time.Duration{-5 * time.Minute, 7 * time.Minute, 0, -time.Hour}
	n := 0
	for !c.Gone() {
		if err := set(jumps[n%len(jumps)]); err != nil {
			return err
		}
		n++
		select {
		case <-c.Ended():
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := errors.Join(set(0), c.Succeed(ctx)); err != nil {
		return err
	}
	t.injured("%d jumps", n)
	return l.finish(ctx, t, out)
}
