package evaluated

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// poll is the pause between two looks at the files of a running evaluation.
const poll = 5 * time.Millisecond

// Strike starts an evaluation, or goes on with it, and sends it SIGKILL some seconds
// after its first request. It reports whether the process was still running then.
func (p *Program) Strike(ctx context.Context, o Order, after float64) (hit bool, err error) {
	journal := filepath.Join(p.Folder(o), "requests.journal")
	before := size(journal)
	running, _, err := p.Start(o)
	if err != nil {
		return false, err
	}
	defer running.Kill()
	for begun := false; ; {
		pause := poll
		if begun {
			pause = time.Duration(after * float64(time.Second))
		}
		select {
		case <-running.Ended():
			if running.Code() != 0 {
				return false, fmt.Errorf("%s: exit code %d: %s", o.Name(), running.Code(), running.Last())
			}
			return false, nil
		case <-time.After(pause):
			if begun {
				return true, nil
			}
			begun = size(journal) > before
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// size is the length of a file, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
