// Package drill is what drills share: how they begin, how they end, and how they
// say what came of it.
package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Run does a drill until it ends, until its time is over or until it is
// interrupted. The last line that it prints says whether the drill has passed,
// and so does the exit code that it returns.
func Run(name string, limit time.Duration, stdout io.Writer, do func(ctx context.Context) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %v", limit))
	defer cancel()
	start := time.Now()
	if err := do(ctx); err != nil {
		fmt.Fprintf(stdout, "%v\n%s: failed\n", errors.Join(context.Cause(ctx), err), name)
		return 1
	}
	fmt.Fprintf(stdout, "it took %v\n%s: passed\n", time.Since(start).Round(time.Second), name)
	return 0
}

// InFolder does what needs a folder of its own: a new one, dir, or with "" a
// temporary one, which is kept only after a failure.
func InFolder(dir string, stdout io.Writer, do func(dir string) error) (err error) {
	if dir != "" {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		return do(dir)
	}
	if dir, err = os.MkdirTemp("", "speceval-drill-"); err != nil {
		return err
	}
	if err := do(dir); err != nil {
		fmt.Fprintf(stdout, "the files are in %s\n", dir)
		return err
	}
	return os.RemoveAll(dir)
}
