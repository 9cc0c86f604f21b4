package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"speceval/drills/lab"
	"speceval/internal/rollout"
)

// tail reads the lines of a file that grows.
type tail struct {
	path   string
	offset int64
	rest   []byte // of a line that is not whole yet
}

// lines returns the whole lines that were written since the last call.
func (t *tail) lines() ([][]byte, error) {
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // not there yet, or just removed
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fresh, err := io.ReadAll(io.NewSectionReader(file, t.offset, 1<<40))
	t.offset += int64(len(fresh))
	lines := bytes.Split(append(t.rest, fresh...), []byte("\n"))
	t.rest = lines[len(lines)-1]
	return lines[:len(lines)-1], err
}

// arrivals follows the request log of a fleet: a JSON object a line for every request,
// in order of arrival at each replica, written when the request and all before it have
// ended. The seed of a request identifies the rollout.
type arrivals struct {
	log    tail
	seeds  []int64 // of all requests with one, in order
	others int     // requests without a seed
}

// read reads what was written since the last call.
func (a *arrivals) read() error {
	lines, err := a.log.lines()
	for _, line := range lines {
		var request struct {
			Seed *int64 `json:"seed"`
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("%s: %w", a.log.path, err)
		}
		if request.Seed == nil {
			a.others++
			continue
		}
		a.seeds = append(a.seeds, *request.Seed)
	}
	return err
}

// quiet is for how long a log must not grow until all requests of a killed process count
// as written. They end when its connections do, at once.
const quiet = 500 * time.Millisecond

// settle waits until the log has been quiet, after the process that requests was killed:
// later lines are later requests.
func (a *arrivals) settle(ctx context.Context) error {
	for {
		before := a.log.offset
		if err := lab.Wait(ctx, quiet); err != nil {
			return err
		}
		if err := a.read(); err != nil || a.log.offset == before {
			return err
		}
	}
}

// progress counts the rollouts that a run has stored, by the lines of its journals. It
// decides when to kill, and need not be exact: rollout.Stored then reads what is stored.
type progress struct {
	folder   string
	journals map[string]*tail
	rollouts int
}

// poll counts the lines that were written since the last call.
func (p *progress) poll() error {
	if p.journals == nil {
		p.journals = make(map[string]*tail)
	}
	return filepath.WalkDir(p.folder, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing there yet, or just removed
		}
		if err != nil || filepath.Ext(path) != rollout.JournalSuffix {
			return err
		}
		if p.journals[path] == nil {
			p.journals[path] = &tail{path: path}
		}
		lines, err := p.journals[path].lines()
		p.rollouts += len(lines)
		return err
	})
}
