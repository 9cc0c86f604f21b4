package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// far are times that no run can have: of the past and of the future.
var far = []time.Time{
	time.Date(1971, 1, 2, 3, 4, 5, 6, time.UTC),
	time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC),
}

// times sets the times of all files, which must make nothing stale, and goes on to
// do so during a run.
func (l *lab) times(ctx context.Context, t *trial) error {
	defer l.date(time.Now(), l.experiment.Inputs()) // as if nothing had happened
	out, err := l.copied("times")
	if err != nil {
		return err
	}
	for _, when := range far {
		if err := errors.Join(l.date(when, []string{out}), l.date(when, l.experiment.Inputs())); err != nil {
			return err
		}
		if _, err := l.do(ctx, out, 0, "status", "--check"); err != nil {
			return fmt.Errorf("all files of %v: %w", when, err)
		}
	}
	if err := l.finish(ctx, t, out); err != nil {
		return err
	}
	if out, err = l.copied("times-during", "generate"); err != nil {
		return err
	}
	c, err := l.start(out, "run")
	if err != nil {
		return err
	}
	defer c.Kill()
	rounds := 0
	err = c.Until(ctx, func() (bool, error) {
		if c.Gone() {
			return true, nil
		}
		when := far[rounds%len(far)]
		rounds++
		return false, errors.Join(l.date(when, []string{out}), l.date(when, l.experiment.Inputs()))
	})
	if err == nil {
		err = c.Succeed(ctx)
	}
	if err != nil {
		return err
	}
	t.injured("all files %d times", rounds+len(far))
	return l.finish(ctx, t, out)
}

// date sets the times of files, and of all in folders.
func (l *lab) date(when time.Time, roots []string) error {
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Chtimes(path, when, when)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it was just renamed or removed
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
