package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// locks leaves the text of a lock that nobody holds, and then lets a run that is
// stopped hold one until it is killed.
func (l *lab) locks(ctx context.Context, t *trial) error {
	out, err := l.copied("locks", "report")
	if err != nil {
		return err
	}
	lock := filepath.Join(out, ".lock")
	if err := os.WriteFile(lock, []byte("pid 1 on elsewhere, 2026-01-01T00:00:00Z: speceval run\n"), 0o666); err != nil {
		return err
	}
	if _, err := l.do(ctx, out, 0, "run"); err != nil {
		return fmt.Errorf("with a stale lock: %w", err)
	}
	holder, err := l.start(out, "run", "replay", "--force")
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
	c, err := l.do(ctx, out, 1, "run")
	if err != nil {
		return fmt.Errorf("beside a run: %w", err)
	}
	for _, words := range []string{"another run is writing in " + out, "pid " + pid + " on ", "run replay --force", "wait until it ends"} {
		if !strings.Contains(c.text(), words) {
			return fmt.Errorf("beside a run it does not say %q: %s", words, c.Last())
		}
	}
	if holder.Gone() {
		return errors.New("the run that was stopped has ended")
	}
	holder.Kill()
	t.injured("stale 1, held 1")
	return l.finish(ctx, t, out)
}
