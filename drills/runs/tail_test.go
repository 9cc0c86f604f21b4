//go:build drill

package runs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"speceval/drills/drill"
	"speceval/internal/rollout"
)

// tail reads the lines of a file that grows.
type tail struct {
	path   string
	offset int64
	rest   []byte // of a line that is not whole yet
}

// lines returns the whole lines that were written since the last call.
func (t *tail) lines(l *drill.Lab) [][]byte {
	file, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not there yet, or just removed
	}
	l.OK(err)
	defer file.Close()
	fresh, err := io.ReadAll(io.NewSectionReader(file, t.offset, 1<<40))
	l.OK(err)
	t.offset += int64(len(fresh))
	lines := bytes.Split(append(t.rest, fresh...), []byte("\n"))
	t.rest = lines[len(lines)-1]
	return lines[:len(lines)-1]
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
func (a *arrivals) read(l *drill.Lab) {
	for _, line := range a.log.lines(l) {
		var request struct {
			Seed *int64 `json:"seed"`
		}
		l.OK(json.Unmarshal(line, &request))
		if request.Seed == nil {
			a.others++
			continue
		}
		a.seeds = append(a.seeds, *request.Seed)
	}
}

// quiet is for how long a log must not grow until all requests of a killed process count
// as written. They end when its connections do, at once.
const quiet = 500 * time.Millisecond

// settle waits until the log has been quiet, after the process that requests was killed:
// later lines are later requests.
func (a *arrivals) settle(l *drill.Lab) {
	for before := int64(-1); a.log.offset != before; {
		before = a.log.offset
		l.Wait(quiet)
		a.read(l)
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
func (p *progress) poll(l *drill.Lab) {
	if p.journals == nil {
		p.journals = make(map[string]*tail)
	}
	for _, path := range l.Walk(p.folder) {
		if filepath.Ext(path) != rollout.JournalSuffix {
			continue
		}
		if p.journals[path] == nil {
			p.journals[path] = &tail{path: path}
		}
		p.rollouts += len(p.journals[path].lines(l))
	}
}
