package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// arrivals follows the request log of a fleet: a JSON object a line for every
// request, in order of arrival at each replica, written when the request and
// all before it have ended. A seed tells which rollout is asked for.
type arrivals struct {
	path   string
	offset int64
	rest   []byte  // of a line that is not whole yet
	seeds  []int64 // of all requests with one, in order
	others int     // requests without a seed
}

// read takes in what was written since the last time. It waits for nothing.
func (a *arrivals) read() error {
	file, err := os.Open(a.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing has been asked yet
	}
	if err != nil {
		return err
	}
	defer file.Close()
	fresh, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<40))
	if err != nil {
		return err
	}
	a.offset += int64(len(fresh))
	a.rest = append(a.rest, fresh...)
	for {
		line, rest, whole := bytes.Cut(a.rest, []byte("\n"))
		if !whole {
			return nil
		}
		a.rest = rest
		var request struct {
			Seed *int64 `json:"seed"`
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("%s: %w", a.path, err)
		}
		if request.Seed == nil {
			a.others++
			continue
		}
		a.seeds = append(a.seeds, *request.Seed)
	}
}

// quiet is for how long a log must not grow until all requests of a killed
// process count as written. They end when its connections do, at once.
const quiet = 500 * time.Millisecond

// settle waits until the log has been quiet, after the process that asks was
// killed: what is written later was asked later.
func (a *arrivals) settle(ctx context.Context) error {
	for {
		before := a.offset
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quiet):
		}
		if err := a.read(); err != nil || a.offset == before {
			return err
		}
	}
}
