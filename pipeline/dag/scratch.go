package dag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"speceval/internal/atomicfile"
)

// A long unit has more than inputs and outputs: a scratch folder whose content
// survives a kill, a way to reuse finished outputs, progress reports, and a signal
// to stop early.

// Folders of an output folder that hold no outputs.
const (
	scratchDir    = "scratch"    // work of units that have not finished
	supersededDir = "superseded" // files that made room for new ones
)

// ErrDrained is what a unit returns, wrapped or not, that stopped early
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
// comes too soon after another may be dropped.
func (j *Job) Advance(p Progress) {
	if j.advance != nil {
		j.advance(p)
	}
}

// Draining is closed when the run wants to end soon: a long unit then finishes
// what it has begun, stores it, and returns ErrDrained. It is nil, and never
// closed, where no drain can be requested.
func (j *Job) Draining() <-chan struct{} { return j.drain }

// Note adds a line to the unit's manifest, which the user is shown too.
func (j *Job) Note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// Provenance says where the numbers come from, for a unit that leaves it open.
func (j *Job) Provenance(p string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.provenance = p
}

// Redo reports whether every output stands as recorded under this key: the
// unit runs only because it was asked to run again.
func (j *Job) Redo() bool { return j.fresh }

// Damaged reports whether an output that was recorded under this key is there no
// more, or has other content: what is there must not be kept, unless the unit knows
// that it has made it since.
func (j *Job) Damaged(output string) bool { return j.damaged[output] }

// Discredit says that what stands at an output is damaged: it is kept when it makes
// room, but Restore does not find it again.
func (j *Job) Discredit(output string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.discredited[output] = true
}

// takeDiscredit tells whether what stands at an output is discredited, once: what
// comes in its place is not.
func (j *Job) takeDiscredit(output string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.discredited[output]
	delete(j.discredited, output)
	return was
}

// Scratch is a folder, made here, for work that a later attempt at the same
// key continues. It is removed when the unit succeeds; while it lasts, no
// attempt at another key sees it, and no other process that is at the same unit:
// that one gets a *BusyError.
func (j *Job) Scratch() (dir string, err error) {
	dir = j.path(j.scratch())
	if err := j.makeFolder(dir); err != nil {
		return "", err
	}
	if err := j.hold(dir + heldMark); err != nil {
		return "", err
	}
	return dir, j.makeFolder(dir) // who held it before may have removed it
}

// makeFolder makes a scratch folder and those above it.
func (j *Job) makeFolder(dir string) (err error) {
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
func (j *Job) scratch() string {
	return path.Join(scratchDir, j.ref.Stage, j.ref.Unit, short(j.key))
}

// scratchAttempts is how often units that end at the same moment may be in the way
// of a scratch folder.
const scratchAttempts = 1000

// sweepScratch removes the unit's scratch folder and those above it that have
// become empty.
func (j *Job) sweepScratch() error {
	at := j.scratch()
	if err := os.RemoveAll(j.path(at)); err != nil {
		return fmt.Errorf("remove the scratch folder: %w", err)
	}
	if err := os.Remove(j.path(at) + heldMark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the scratch folder's lock: %w", err)
	}
	j.letGo()
	for at = path.Dir(at); at != "."; at = path.Dir(at) {
		if os.Remove(j.path(at)) != nil {
			return nil // it is not empty, or not there
		}
	}
	return nil
}

// Keep takes a declared output as it stands, made by an earlier attempt at the
// same key, instead of writing it. The caller vouches for its content.
func (j *Job) Keep(output string, rows int) error {
	if err := j.mayWrite(output); err != nil {
		return err
	}
	info, err := os.Stat(j.path(output))
	if err != nil {
		return fmt.Errorf("keep %s: %w", output, err)
	}
	sum, err := hashFile(j.path(output))
	if err != nil {
		return fmt.Errorf("keep %s: %w", output, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written[output] = File{Path: output, SHA256: sum, Bytes: info.Size(), Rows: rows}
	return nil
}

// Clear moves files out of the folders of the unit's outputs, which must be
// its own: all that keep, given a slash-separated name relative to the output
// folder and a local path, does not want there. They are kept under
// superseded/, and a note says so: what took long to make is never lost, and
// Restore finds it again.
func (j *Job) Clear(keep func(name, path string) bool) error {
	var folders []string
	for _, output := range j.unit.Outputs {
		if folder := path.Dir(output); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(j.path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look into %s: %w", folder, err)
		}
		for _, entry := range entries {
			name := path.Join(folder, entry.Name())
			if entry.IsDir() || keep(name, j.path(name)) {
				continue
			}
			if err := j.supersede(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *Job) supersede(name string) error {
	sum, err := hashFile(j.path(name))
	if err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	stem, ext := supersededName(name)
	aside := stem + short(sum) + ext
	if j.takeDiscredit(name) {
		aside = stem + damagedMark + short(sum) + ext // which Restore passes by
	}
	if err := os.MkdirAll(filepath.Dir(j.path(aside)), 0o777); err != nil {
		return fmt.Errorf("move %s aside: %w", name, err)
	}
	if err := os.Rename(j.path(name), j.path(aside)); err != nil {
		return fmt.Errorf("move %s aside: %w", name, err)
	}
	j.Note("%s makes room for another; it is kept as %s", name, aside)
	return nil
}

// damagedMark stands before the hash of a file that was discredited.
const damagedMark = "damaged-"

// supersededName is the beginning and the end of the names that a file gets
// when it makes room; the first digits of its hash stand between them.
func supersededName(name string) (stem, ext string) {
	ext = path.Ext(name)
	return path.Join(supersededDir, strings.TrimSuffix(name, ext)) + ".", ext
}

// Restore puts a file that made room for another back to where an output
// belongs, if accept, given a local path, finds one that is it. A file that is not
// what it was when it made room stays where it is. What stands there makes room in
// turn.
func (j *Job) Restore(output string, accept func(path string) bool) (restored bool, err error) {
	stem, ext := supersededName(output)
	entries, err := os.ReadDir(j.path(path.Dir(stem)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look for an earlier %s: %w", output, err)
	}
	for _, entry := range entries {
		name := path.Join(path.Dir(stem), entry.Name())
		if !strings.HasPrefix(name, stem) || !strings.HasSuffix(name, ext) || !accept(j.path(name)) {
			continue
		}
		sum, err := hashFile(j.path(name))
		if err != nil {
			return false, fmt.Errorf("look at an earlier %s: %w", output, err)
		}
		if name == stem+short(sum)+ext {
			return true, j.restore(output, name)
		}
	}
	return false, nil
}

func (j *Job) restore(output, from string) error {
	if err := j.supersede(output); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path(output)), 0o777); err != nil {
		return fmt.Errorf("restore %s: %w", output, err)
	}
	if err := os.Rename(j.path(from), j.path(output)); err != nil {
		return fmt.Errorf("restore %s: %w", output, err)
	}
	j.Note("%s is back from %s", output, from)
	return nil
}

// heldMark ends the name of the file next to a scratch folder that is locked
// while a process works there.
const heldMark = ".lock"

// BusyError says that another process works on a unit: a job that a scheduler
// believes dead, for one.
type BusyError struct{ Unit Ref }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another process is at work on unit %s: wait until it ends, or end it", e.Unit)
}

// hold takes the lock of the scratch folder, once in a job. The operating system
// gives it back however the process ends.
func (j *Job) hold(path string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.held == nil {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			return &BusyError{j.ref} // who was at it has just removed the folder
		}
		if err != nil {
			return fmt.Errorf("lock the scratch folder: %w", err)
		}
		if err := tryLock(file); err != nil {
			file.Close()
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return &BusyError{j.ref}
			}
			return fmt.Errorf("lock %s: %w (its file system may not support locks; choose another folder with --out)", path, err)
		}
		if !stands(file, path) { // its holder has ended, and removed it
			file.Close()
			continue
		}
		j.held = file
	}
	return nil
}

// stands tells whether an open file is still the one at path.
func stands(file *os.File, path string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
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
