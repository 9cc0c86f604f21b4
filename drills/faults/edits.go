package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// edit replaces words in a file.
type edit struct{ path, old, new string }

// edits edits what a run reads while it is under way. What was read is what counts:
// the configuration and the tasks, which are read at its beginning, and tests,
// which are read when their task is scored and must then be those that were there
// at the beginning.
func (l *lab) edits(ctx context.Context, t *trial) error {
	e := l.experiment
	early := []edit{
		{e.Configuration(), "seed = 42", "seed = 43"},
		{e.Configuration(), "resamples = 16", "resamples = 17"},
		{e.Sums(), ",20,math", ",21,math"},
		{e.Sums(), "How much is", "What is"},
		{e.Mixed(), `"answer":"99242"`, `"answer":"1"`},
	}
	if err := l.edited(ctx, t, "edited", early, 0, ""); err != nil {
		return err
	}
	late := []edit{{e.Tests(), `"output":"`, `"output":"1`}}
	if err := l.edited(ctx, t, "edited-tests", late, 1, "was changed while this ran: run again"); err != nil {
		return err
	}
	t.injured("configuration 2, tasks 3, tests 1")
	return nil
}

// edited edits files during a run, which must end with this exit code and say that.
// With the new files results are stale; with the old ones they are not, or become
// what they were.
func (l *lab) edited(ctx context.Context, t *trial, name string, all []edit, code int, says string) error {
	out, err := l.copied(name, "generate")
	if err != nil {
		return err
	}
	c, err := l.start(out, "run")
	if err != nil {
		return err
	}
	defer c.Kill()
	err = c.Until(ctx, func() (bool, error) {
		journal, err := findJournal(filepath.Join(out, "scratch", "generate"), 1)
		return journal != "", err
	})
	if err != nil {
		return err
	}
	restore, err := editAll(all)
	if err != nil {
		return errors.Join(err, restore())
	}
	err = c.Wait(ctx)
	if err == nil && (c.Code() != code || !strings.Contains(c.text(), says)) {
		err = fmt.Errorf("exit code %d, want %d and %q:\n%s", c.Code(), code, says, c.Last())
	}
	if err == nil {
		_, err = l.do(ctx, out, 3, "status", "--check")
	}
	if err := errors.Join(err, restore()); err != nil {
		return err
	}
	if code == 0 { // nothing is stale, and nothing is to be run
		return l.compare(ctx, t, out)
	}
	return l.finish(ctx, t, out)
}

// editAll edits files; restore makes them what they were.
func editAll(all []edit) (restore func() error, err error) {
	before := make(map[string][]byte)
	restore = func() error {
		var errs []error
		for path, text := range before {
			errs = append(errs, os.WriteFile(path, text, 0o666))
		}
		return errors.Join(errs...)
	}
	for _, e := range all {
		text, err := os.ReadFile(e.path)
		if err != nil {
			return restore, err
		}
		if before[e.path] == nil {
			before[e.path] = text
		}
		edited := bytes.ReplaceAll(text, []byte(e.old), []byte(e.new))
		if bytes.Equal(edited, text) {
			return restore, fmt.Errorf("%s has no %q", e.path, e.old)
		}
		if err := os.WriteFile(e.path, edited, 0o666); err != nil {
			return restore, err
		}
	}
	return restore, nil
}
