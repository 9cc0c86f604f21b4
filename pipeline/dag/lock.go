package dag

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"speceval/internal/atomicfile"
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

// LockedError says who holds the lock of an output folder.
type LockedError struct {
	Dir    string
	Holder string // what the holder said about itself: process, host, command
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("another run is writing in %s (%s): wait until it ends, or choose another folder with --out", e.Dir, e.Holder)
}

// Acquire takes the lock of an output folder, making the folder if needed.
// holder says who asks, for the message that others get: process, host and
// command. Its error is a *LockedError if another process has the lock.
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
			return nil, &LockedError{Dir: dir, Holder: readHolder(file)}
		}
		return nil, fmt.Errorf("lock %s: %w (its file system may not support locks; choose another folder with --out)", path, err)
	}
	// The text only serves messages: that it cannot be written is no reason
	// not to run.
	if file.Truncate(0) == nil {
		file.WriteAt([]byte(holder+"\n"), 0)
	}
	return &Lock{file}, nil
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

func tryLock(file *os.File) error {
	var err error
	for range lockTries {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		time.Sleep(lockPause)
	}
	return err
}

func readHolder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, 1<<12))
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "it has not said who it is"
}

// Snapshot is what an output folder held when it was read: every manifest,
// and the content hash of every output that a manifest speaks of. A run keeps
// it up to date with what it makes, and nothing else may use it meanwhile.
type Snapshot struct {
	graph   *Graph
	dir     string
	records []record // by index into graph.nodes
}

// record is what stands on disk for one unit.
type record struct {
	manifest *Manifest // nil if there is none, or none that can be used
	problem  error     // why the manifest there cannot be used
	have     []string  // SHA-256 of each declared output, "" where missing
}

// usable tells whether the unit's outputs can serve as inputs: a manifest
// vouches that they were made, and they are still there.
func (r *record) usable() bool {
	if r.manifest == nil {
		return false
	}
	for _, sum := range r.have {
		if sum == "" {
			return false
		}
	}
	return true
}

// Scan reads the manifests and hashes the outputs in dir, several at a time. A large
// output of the recorded size and modification time counts as unchanged and is not
// read. A folder that does not exist is an empty one. A fault of a manifest is kept
// as a reason to run its unit; an output that cannot be read is an error.
func (g *Graph) Scan(ctx context.Context, dir string) (*Snapshot, error) {
	s := &Snapshot{graph: g, dir: filepath.Clean(dir), records: make([]record, len(g.nodes))}
	errs := make([]error, len(g.nodes))
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range 2 * runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(taken.Add(1)) - 1; i < len(g.nodes) && ctx.Err() == nil; i = int(taken.Add(1)) - 1 {
				errs[i] = s.read(i)
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// read fills the record of unit i from disk.
func (s *Snapshot) read(i int) error {
	unit, ref := s.graph.nodes[i].unit, s.graph.ref(i)
	r := record{have: make([]string, len(unit.Outputs))}
	m, err := readManifest(s.dir, ref)
	switch {
	case err == nil:
		r.manifest = m
		for k, output := range unit.Outputs {
			sum, err := s.sum(m, output)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("read output %s of %s: %w", output, ref, err)
			}
			r.have[k] = sum
		}
	case !errors.Is(err, fs.ErrNotExist):
		r.problem = err
	}
	s.records[i] = r
	return nil
}

// sum is the SHA-256 of an output. A large one of the recorded size and modification
// time is not read.
func (s *Snapshot) sum(m *Manifest, output string) (string, error) {
	file, err := os.Open(s.path(output)) // a shared file system has the times of an open file
	if err != nil {
		return "", err
	}
	defer file.Close()
	if recorded, _ := m.output(output); recorded.Modified != 0 {
		info, err := file.Stat()
		if err == nil && info.Size() == recorded.Bytes && info.ModTime().UnixNano() == recorded.Modified {
			return recorded.SHA256, nil
		}
	}
	return hashOf(file)
}

// path is the local path of a file of the output folder.
func (s *Snapshot) path(output string) string {
	return filepath.Join(s.dir, filepath.FromSlash(output))
}

// partsOf gathers all parts of unit i from what is on disk now. blocked lists
// the needed units whose outputs cannot be used; their part is missing then, as
// is that of wanted units that are not there.
func (s *Snapshot) partsOf(i int) (parts Parts, blocked []int) {
	n := &s.graph.nodes[i]
	parts = partsOf(s.graph.stageOf(i), n.unit)
	for k, need := range n.needs {
		r := &s.records[need]
		if !r.usable() {
			if k < n.wanted {
				blocked = append(blocked, need)
			}
			continue
		}
		for k, output := range s.graph.nodes[need].unit.Outputs {
			parts.Inputs[output] = r.have[k]
		}
	}
	return parts, blocked
}

// hashFile is the SHA-256 of a file's content in hex.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashOf(f)
}

// hashOf is the SHA-256 of what is left of a file, in hex.
func hashOf(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
