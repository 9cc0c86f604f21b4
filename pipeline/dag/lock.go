package dag

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"speceval/internal/store/atomicfile"
)

// lockName is the file in the output folder that is locked while a run writes
// there. It stays when the lock is gone: only the lock counts, not the file.
const lockName = ".lock"

// Shared file systems may refuse a lock for a moment; try a few times.
const (
	lockTries = 4
	lockPause = 50 * time.Millisecond
)

// Lock is the right to write in an output folder. The operating system holds
// it for the process, and takes it back however the process ends.
type Lock struct{ file *os.File }

// Acquire takes the lock of an output folder, making the folder if needed.
// holder says who asks, for the message that others get: process, host and
// command.
func Acquire(dir, holder string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make the output folder: %w", atomicfile.Advise(dir, err))
	}
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock the output folder: %w", atomicfile.Advise(path, err))
	}
	if err := tryLock(file); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another run is writing in %s (%s): wait until it ends, or choose another folder with --out", dir, readHolder(file))
		}
		return nil, err
	}
	// The text only serves messages: that it cannot be written is no reason
	// not to run.
	if file.Truncate(0) == nil {
		file.WriteAt([]byte(holder+"\n"), 0)
	}
	return &Lock{file}, nil
}

// Sweep removes the temporary files that a crash left in the folder of a lock, for its holder.
// Folders below it with a lock of their own are left alone: others may write there.
func Sweep(dir string) error {
	_, err := atomicfile.Sweep(dir, lockName)
	return err
}

// Holder returns what the holder of an output folder's lock has written about itself;
// empty if the lock is free as far as this machine can see. It does not block, and does
// not take the lock from an [Acquire].
func Holder(dir string) string {
	file, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return ""
	}
	defer file.Close() // and with it the lock, where it was free
	if info, err := file.Stat(); err != nil || info.Size() == 0 {
		return "" // released, or not yet said
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return "" // it was left by a process that was killed
	}
	return readHolder(file)
}

// Release gives the lock back.
func (l *Lock) Release() error {
	l.file.Truncate(0)
	return l.file.Close() // closing unlocks
}

// tryLock locks a file. The error is syscall.EWOULDBLOCK where another process holds the lock.
func tryLock(file *os.File) (err error) {
	for range lockTries {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(lockPause)
	}
	return fmt.Errorf("lock %s: %w (its file system may not support locks; choose another folder with --out)", file.Name(), err)
}

func readHolder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 1<<12))
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "it has not said who it is"
}
