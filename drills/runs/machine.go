package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// locks leaves the text of a lock that no process holds, and then lets a stopped run
// hold one until it is killed.
func (s *site) locks(ctx context.Context, t *trial) error {
	out, err := s.copied("locks", "report")
	if err != nil {
		return err
	}
	lock := filepath.Join(out, ".lock")
	if err := os.WriteFile(lock, []byte("pid 1 on elsewhere, 2026-01-01T00:00:00Z: speceval run\n"), 0o666); err != nil {
		return err
	}
	if _, err := s.do(ctx, out, 0, "run"); err != nil {
		return fmt.Errorf("with a stale lock: %w", err)
	}
	holder, err := s.start(out, "run", "replay", "--force")
	if err != nil {
		return err
	}
	defer holder.Kill()
	pid := ""
	err = holder.Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(lock)
		pid, _, _ = strings.Cut(strings.TrimPrefix(string(text), "pid "), " ")
		return len(text) > 0, err
	})
	if err == nil {
		err = holder.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		return err
	}
	p, err := s.do(ctx, out, 1, "run")
	if err == nil {
		err = says(p, 1, "another run is writing in "+out, "pid "+pid+" on ", "run replay --force", "wait until it ends")
	}
	if err == nil && holder.Gone() {
		err = errors.New("the stopped run has ended")
	}
	if err != nil {
		return fmt.Errorf("while another run holds the lock: %w", err)
	}
	holder.Kill()
	t.injured("stale 1, held 1")
	return s.finish(ctx, t, out)
}

// far are times that no run can have: of the past and of the future.
var far = []time.Time{
	time.Date(1971, 1, 2, 3, 4, 5, 6, time.UTC),
	time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC),
}

// times sets the times of all files, which must make nothing stale, and then sets them
// during a run.
func (s *site) times(ctx context.Context, t *trial) error {
	defer date(time.Now(), s.experiment.Inputs()...)
	out, err := s.copied("times")
	if err != nil {
		return err
	}
	for _, when := range far {
		if err := date(when, append(s.experiment.Inputs(), out)...); err != nil {
			return err
		}
		if _, err := s.do(ctx, out, 0, "status", "--check"); err != nil {
			return fmt.Errorf("all files of %v: %w", when, err)
		}
	}
	if err := s.finish(ctx, t, out); err != nil {
		return err
	}
	if out, err = s.copied("times-during", "generate"); err != nil {
		return err
	}
	rounds, err := s.during(ctx, out, 5*time.Millisecond, func(round int) error {
		return date(far[round%len(far)], append(s.experiment.Inputs(), out)...)
	})
	if err != nil {
		return err
	}
	t.injured("all files %d times", rounds+len(far))
	return s.finish(ctx, t, out)
}

// during does something over and over during a run, which must end well, and counts
// how often it was done.
func (s *site) during(ctx context.Context, out string, every time.Duration, do func(round int) error) (rounds int, err error) {
	p, err := s.start(out, "run")
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	for ; !p.Gone(); rounds++ {
		if err := do(rounds); err != nil {
			return rounds, err
		}
		select {
		case <-p.Ended():
		case <-time.After(every):
		case <-ctx.Done():
			return rounds, ctx.Err()
		}
	}
	return rounds, p.Succeed(ctx)
}

// date sets the times of files, and of all files in folders.
func date(when time.Time, roots ...string) error {
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

// edit replaces words in a file.
type edit struct{ path, old, new string }

// edits edits what a run reads while it is under way. The run counts with what it has
// read: the configuration and the tasks, which it reads at its beginning, and tests,
// which it reads when their task is scored and which must not have changed since its
// beginning.
func (s *site) edits(ctx context.Context, t *trial) error {
	e := s.experiment
	early := []edit{
		{e.Config, "seed = 42", "seed = 43"},
		{e.Config, "resamples = 16", "resamples = 17"},
		{e.Sums, ",20,math", ",21,math"},
		{e.Sums, "How much is", "What is"},
		{e.Mixed, `"answer":"99242"`, `"answer":"1"`},
	}
	out, err := s.edited(ctx, "edited", early, 0, "")
	if err == nil { // nothing is stale, and nothing is to be run
		err = s.compare(ctx, t, out)
	}
	if err != nil {
		return err
	}
	late := []edit{{e.Tests, `"output":"`, `"output":"1`}}
	if out, err = s.edited(ctx, "edited-tests", late, 1, "was changed while this ran: run again"); err != nil {
		return err
	}
	t.injured("configuration 2, tasks 3, tests 1")
	return s.finish(ctx, t, out)
}

// edited edits files during a run, which must end with this exit code and print these
// words. With the new files results are stale; in the end the files are the old ones.
func (s *site) edited(ctx context.Context, name string, all []edit, code int, words string) (out string, err error) {
	if out, err = s.copied(name, "generate"); err != nil {
		return "", err
	}
	p, err := s.start(out, "run")
	if err != nil {
		return "", err
	}
	defer p.Kill()
	err = p.Until(ctx, func() (bool, error) {
		journal, err := findJournal(filepath.Join(out, "scratch", "generate"), 1)
		return journal != "", err
	})
	if err != nil {
		return "", err
	}
	restore, err := editAll(all)
	if err == nil {
		err = p.Wait(ctx)
	}
	if err == nil {
		err = says(p, code, words)
	}
	if err == nil {
		_, err = s.do(ctx, out, 3, "status", "--check")
	}
	return out, errors.Join(err, restore())
}

// editAll edits files; restore takes the edits back.
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

// readOnly makes the output folder read-only: by a mount as root, and by permissions
// otherwise.
func (s *site) readOnly(ctx context.Context, t *trial) error {
	out, err := s.copied("readonly", "report")
	if err != nil {
		return err
	}
	lift, err := forbid(out)
	if err != nil {
		return err
	}
	before, err := contents(out)
	if err != nil {
		return errors.Join(err, lift())
	}
	p, err := s.do(ctx, out, 1, "run")
	if err == nil {
		err = says(p, 1, "choose another output folder", out+"/")
	}
	if err == nil {
		_, err = s.do(ctx, out, 3, "status", "--check")
	}
	after, unreadable := contents(out)
	if err := errors.Join(err, unreadable, lift()); err != nil {
		return err
	}
	if before != after {
		return errors.New("something has changed in a read-only folder")
	}
	t.injured("1")
	return s.finish(ctx, t, out)
}

// forbidByMode makes a folder read-only, by permissions, until lift is called.
func forbidByMode(dir string) (lift func() error, err error) {
	set := func(mode fs.FileMode) error {
		return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			return os.Chmod(path, mode)
		})
	}
	return func() error { return set(0o755) }, set(0o555)
}

// contents is a digest of the names and contents of all files in a folder.
func contents(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d %x\n", path, len(text), sha256.Sum256(text))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
