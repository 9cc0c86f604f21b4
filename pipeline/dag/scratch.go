package dag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"speceval/internal/store/atomicfile"
)

// A long unit has more than inputs and outputs: a scratch folder whose content
// survives a kill, a way to reuse finished outputs, progress reports, and a signal
// to stop early.

// ErrDrained is the error, wrapped or not, of a unit that stopped early
// because the run is draining. It counts as interrupted, not as failed.
var ErrDrained = errors.New("stopped early, to go on later")

// Progress is how far a unit is.
type Progress struct {
	Done   int    `json:"done"`
	Total  int    `json:"total"`
	Stored int    `json:"stored"` // of Done, what an earlier attempt had left
	What   string `json:"what"`   // what is counted: "rollouts"
	Detail string `json:"detail"` // anything more, for the log: "1.2 M tokens"
}

// Advance tells observers how far the unit is. It never waits: a report that
// comes too soon after another may be dropped. Next to a scratch folder's content it is noted
// for plans.
func (j *Job) Advance(p Progress) {
	if j.advance != nil {
		j.advance(p)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if text, err := json.Marshal(p); err == nil && j.held != nil {
		os.WriteFile(j.Path(path.Join(j.scratch(), progressFile)), text, 0o666) // without it plans count the whole unit
	}
}

// progressFile has the last Progress of a unit, in its scratch folder.
const progressFile = "progress.json"

// left is the share of a unit's work that attempts at its key have not done.
func (s *Snapshot) left(r *Record) float64 {
	var of Progress
	text, _ := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(scratchOf(r.Unit, r.Key)), progressFile))
	if json.Unmarshal(text, &of) != nil || of.Total <= 0 {
		return 1
	}
	return max(0, 1-float64(of.Done)/float64(of.Total))
}

// Draining is closed when the run wants to end soon: a long unit then finishes
// what it has begun, stores it, and returns ErrDrained. It is nil, and never
// closed, where no drain can be requested.
func (j *Job) Draining() <-chan struct{} { return j.drain }

// Note adds a line to the unit's manifest, which the user is shown too.
func (j *Job) Note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.made.Notes = append(j.made.Notes, fmt.Sprintf(format, args...))
}

// Provenance says where the numbers come from, for a unit that leaves it open.
func (j *Job) Provenance(p string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.made.Provenance = p
}

// Scratch is a folder, made here, for work that a later attempt at the same
// key continues. It is removed when the unit succeeds; while it lasts, no
// attempt at another key sees it, and no other process that is at the same unit, such
// as a job that a scheduler believes dead: that one gets an error.
func (j *Job) Scratch() (dir string, err error) {
	dir = j.Path(j.scratch())
	if err := j.makeFolder(dir); err != nil {
		return "", err
	}
	if err := j.lockScratch(dir + heldMark); err != nil {
		return "", err
	}
	return dir, j.makeFolder(dir) // who held it before may have removed it
}

// makeFolder makes a scratch folder and those above it.
func (j *Job) makeFolder(dir string) (err error) {
	const scratchAttempts = 1000 // times units that end at the same moment may be in the way
	for range scratchAttempts {
		if err = os.MkdirAll(dir, 0o777); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break // otherwise a unit that ended has just removed a folder above
		}
	}
	if err != nil {
		return fmt.Errorf("make the scratch folder: %w", atomicfile.Advise(dir, err))
	}
	return nil
}

// scratch is the scratch folder, slash-separated and relative to the output
// folder.
func (j *Job) scratch() string { return scratchOf(j.ref, j.made.Key) }

func scratchOf(unit Ref, key string) string {
	return path.Join(scratchDir, unit.Stage, unit.Unit, short(key))
}

// sweepScratch removes the unit's scratch folder and those above it that have
// become empty.
func (j *Job) sweepScratch() error {
	at := j.scratch()
	if err := os.RemoveAll(j.Path(at)); err != nil {
		return fmt.Errorf("remove the scratch folder: %w", err)
	}
	if err := os.Remove(j.Path(at) + heldMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the scratch folder's lock: %w", err)
	}
	j.letGo()
	for at = path.Dir(at); at != "."; at = path.Dir(at) {
		if os.Remove(j.Path(at)) != nil {
			return nil // it is not empty, or not there
		}
	}
	return nil
}

// heldMark ends the name of the file next to a scratch folder that is locked
// while a process works there.
const heldMark = ".lock"

// lockScratch takes the lock of the scratch folder, once in a job. The operating system
// gives it back however the process ends.
func (j *Job) lockScratch(path string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	busy := fmt.Errorf("another process is at work on unit %s: wait until it ends, or end it", j.ref)
	for j.held == nil {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			return busy // it at it has just removed the folder
		}
		if err != nil {
			return fmt.Errorf("lock the scratch folder: %w", err)
		}
		if err := tryLock(file); err != nil {
			file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return busy
			}
			return err
		}
		open, fault := file.Stat()
		there, gone := os.Stat(path)
		if fault != nil || gone != nil || !os.SameFile(open, there) { // its holder has ended, and removed it
			file.Close()
			continue
		}
		j.held = file
	}
	return nil
}

// letGo gives the lock of the scratch folder back.
func (j *Job) letGo() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held != nil {
		j.held.Close() // closing unlocks
		j.held = nil
	}
}
