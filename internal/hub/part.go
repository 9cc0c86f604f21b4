package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"speceval/internal/atomicfile"
	"speceval/internal/files"
)

// What stands beside a file while it comes in.
const (
	partSuffix = ".part"      // its first bytes
	noteSuffix = ".part.json" // of what file they are
)

// note says of what file a part is.
type note struct {
	File
	content
}

// part is the first bytes of a file that is coming in. It belongs to one
// process at a time.
type part struct {
	note note
	path string // of the file that it becomes
	file *os.File
	size int64
}

// openPart goes on with the part of the file that a note describes, and starts
// over if what is there is of another.
func openPart(path string, of note) (*part, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, atomicfile.Advise(path, err)
	}
	file, err := files.OpenOwnFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, atomicfile.Advise(path+partSuffix, err)
	}
	p := &part{note: of, path: path, file: file}
	if err := p.take(); err != nil {
		file.Close()
		return nil, err
	}
	return p, nil
}

// take makes the part this process's own and finds out how much is there.
func (p *part) take() error {
	err := syscall.Flock(int(p.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	info, unknown := p.file.Stat()
	now, gone := os.Stat(p.file.Name())
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK), gone != nil, unknown == nil && !os.SameFile(info, now):
		return fmt.Errorf("another process is fetching %s: wait until it is done", p.path)
	case unknown != nil:
		return unknown
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is there and is no file: move it away", p.file.Name())
	}
	// Where files cannot be locked, what two processes write at once is found
	// wrong at the end.
	if readNote(p.path+noteSuffix) != p.note || info.Size() > p.note.Size {
		return p.reset()
	}
	p.size = info.Size()
	_, err = p.file.Seek(p.size, io.SeekStart)
	return err
}

// readNote reads a note. One that cannot be read is of no file.
func readNote(path string) note {
	var n note
	text, err := files.ReadInput(path, files.Settings)
	if err != nil || json.Unmarshal(text, &n) != nil {
		return note{}
	}
	return n
}

// reset drops what is there.
func (p *part) reset() error {
	p.size = 0
	if err := p.file.Truncate(0); err != nil {
		return atomicfile.Advise(p.file.Name(), err)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := json.MarshalIndent(p.note, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteText(p.path+noteSuffix, string(text)+"\n")
}

// restart drops what is there because of a fault, and returns that as one that
// may pass.
func (p *part) restart(fault error) error {
	if err := p.reset(); err != nil {
		return err
	}
	return &passing{err: fault}
}

// write adds bytes. Those that were written before an error count.
func (p *part) write(b []byte) error {
	n, err := p.file.Write(b)
	p.size += int64(n)
	if err != nil {
		return atomicfile.Advise(p.file.Name(), err)
	}
	return nil
}

// finish checks a part that has all bytes and makes it the file. One that has
// wrong bytes is removed.
func (p *part) finish(ctx context.Context) (Fetched, error) {
	if err := p.file.Sync(); err != nil {
		return Fetched{}, atomicfile.Advise(p.file.Name(), err)
	}
	fetched, err := p.note.verify(ctx, p.file)
	if other := (*otherBytes)(nil); errors.As(err, &other) {
		err = fmt.Errorf("what came is not the file: %w; it was removed, run again to fetch it anew", err)
		return Fetched{}, errors.Join(err, os.Remove(p.file.Name()), os.Remove(p.path+noteSuffix))
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("check %s: %w", p.file.Name(), err)
	}
	if err := atomicfile.Rename(p.file.Name(), p.path); err != nil {
		return Fetched{}, err
	}
	return fetched, os.Remove(p.path + noteSuffix)
}

// close keeps the part for a later process.
func (p *part) close() { p.file.Close() }
