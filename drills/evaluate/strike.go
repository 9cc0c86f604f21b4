package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"speceval/drills/evaluated"
)

// look is the pause between two looks at what a running evaluation has kept.
const look = 5 * time.Millisecond

// strike starts an evaluation, or goes on with it, and kills it some seconds after
// its first request. It tells whether it was still running.
func strike(ctx context.Context, program *evaluated.Program, order evaluated.Order, after float64) (hit bool, err error) {
	journal := filepath.Join(program.Folder(order), "requests.journal")
	before := size(journal)
	p, _, err := program.Start(order)
	if err != nil {
		return false, err
	}
	defer p.Kill()
	wait := time.Duration(after * float64(time.Second))
	for begun := false; ; {
		pause := look
		if begun {
			pause = wait
		}
		select {
		case <-p.Ended():
			if p.Code() != 0 {
				return false, fmt.Errorf("%s: exit code %d: %s", order.Name(), p.Code(), p.Last())
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

// size is that of a file, 0 if it is not there.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
