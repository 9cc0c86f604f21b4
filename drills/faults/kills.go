package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	undisturbed "speceval/drills/lab"
)

// kills kills runs with SIGKILL at random moments of every stage, and lets the last
// one end.
func (l *lab) kills(ctx context.Context, t *trial) error {
	out, moments := l.path("killed"), undisturbed.NewMoments(l.seed, "kills")
	for _, stage := range undisturbed.Stages {
		wanted, met := l.often(2, 6), 0
		for tries := 0; met < wanted; tries++ {
			if tries == 10*wanted {
				return fmt.Errorf("%d tries, and %s was met by %d kills, want %d", tries, stage, met, wanted)
			}
			hit, err := l.strike(ctx, out, stage, moments)
			if err != nil {
				return fmt.Errorf("%s: %w", stage, err)
			}
			if hit {
				met++
			}
		}
		t.injured("%s %d", stage, met)
	}
	return l.finish(ctx, t, out)
}

// strike runs all up to a stage and kills that in its midst; if it had been done,
// it is made anew. It tells whether it was still under way.
func (l *lab) strike(ctx context.Context, out, stage string, moments *undisturbed.Moments) (hit bool, err error) {
	left, err := l.left(out, stage)
	if err != nil {
		return false, err
	}
	if left == 0 {
		if err := undisturbed.Forget(out, stage); err != nil {
			return false, err
		}
	}
	c, err := l.start(out, "run", "--until", stage)
	if err != nil {
		return false, err
	}
	defer c.Kill()
	if err := c.Until(ctx, func() (bool, error) { return l.begun(c, out, stage) }); err != nil {
		return false, err
	}
	span, err := l.span(out, stage)
	if err != nil {
		return false, err
	}
	select {
	case <-c.Ended():
	case <-time.After(moments.Within(span)):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	c.Kill()
	if c.Code() > 0 {
		return false, fmt.Errorf("exit code %d: %s", c.Code(), c.Last())
	}
	if left, err = l.left(out, stage); err != nil {
		return false, err
	}
	return c.Code() < 0 && left > 0, whole(out)
}

// left is how many units of a stage have no manifest.
func (l *lab) left(out, stage string) (int, error) {
	all, err := undisturbed.Units(l.undisturbed(), stage)
	if err != nil {
		return 0, err
	}
	made, err := undisturbed.Units(out, stage)
	return len(all) - len(made), err
}

// begun tells whether a run up to a stage has nothing more to do before that.
func (l *lab) begun(c *command, out, stage string) (bool, error) {
	if !strings.Contains(c.text(), "\n"+stage+": ") && !strings.HasPrefix(c.text(), stage+": ") {
		return false, nil // it says so right before the first unit
	}
	for _, earlier := range undisturbed.Stages {
		if earlier == stage {
			break
		}
		if left, err := l.left(out, earlier); err != nil || left > 0 {
			return false, err
		}
	}
	return true, nil
}

// span is about how long the units of a stage take that are left.
func (l *lab) span(out, stage string) (time.Duration, error) {
	all, err := undisturbed.Units(l.undisturbed(), stage)
	if err != nil {
		return 0, err
	}
	seconds := 0.0
	for _, m := range all {
		seconds += m.WallSeconds
	}
	left, err := l.left(out, stage)
	return time.Duration(seconds / 2 * float64(left) / float64(len(all)) * float64(time.Second)), err // two units at a time
}
