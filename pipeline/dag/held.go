package dag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"speceval/internal/ownfile"
)

// heldMark ends the name of the file beside a scratch folder that is locked
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
		file, err := ownfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
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
		if !stands(file, path) { // whoever had it has ended, and removed it
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
