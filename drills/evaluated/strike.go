package evaluated

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Strike starts an evaluation, or goes on with it, and sends it SIGKILL some seconds
// after its first answer. It reports whether the process was still running then.
func (p *Program) Strike(ctx context.Context, o Order, after float64) (hit bool, err error) {
	journal := filepath.Join(p.Folder(o), "requests.journal")
	before := size(journal)
	running, _, err := p.Start(o)
	if err != nil {
		return false, err
	}
	defer running.Kill()
	err = running.Until(ctx, func() (bool, error) { return size(journal) > before, nil })
	if err == nil {
		hit, err = running.KillAfter(ctx, time.Duration(after*float64(time.Second)))
	}
	switch {
	case hit || running.Gone() && (running.Code() == 0 || running.Code() == paused && p.Pauses > 0):
		return hit, nil
	case err == nil:
		err = fmt.Errorf("exit code %d: %s", running.Code(), running.Last())
	}
	return false, fmt.Errorf("%s: %w", o.Name(), err)
}

// size is the length of a file, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
