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

	"speceval/internal/ownfile"
	"speceval/pipeline/dag/indexfile"
)

// Snapshot is what an output folder held when it was read: every manifest,
// and the content hash of every output that a manifest speaks of. A run keeps
// it up to date with what it makes, and nobody else may use it meanwhile.
type Snapshot struct {
	graph   *Graph
	dir     string
	records []record // by index into graph.nodes
	index   *index   // while scanning
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

// Scan reads the manifests and hashes the outputs in dir, several at a time.
// Files that an earlier scan has read and that have not changed since are not
// read again, see package indexfile. A folder that does not exist is an empty one. What is
// odd about a manifest is kept as a reason to run its unit; an output that cannot
// be read is an error.
func (g *Graph) Scan(ctx context.Context, dir string) (*Snapshot, error) {
	return g.scan(ctx, dir, openIndex(g, dir, indexfile.Settle))
}

func (g *Graph) scan(ctx context.Context, dir string, x *index) (*Snapshot, error) {
	s := &Snapshot{graph: g, dir: filepath.Clean(dir), records: make([]record, len(g.nodes)), index: x}
	defer x.Close()
	errs := make([]error, len(g.nodes))
	spread(len(g.nodes), 2*runtime.GOMAXPROCS(0), func(next func() (int, bool)) {
		buffer := make([]byte, hashBuffer)
		for i, more := next(); more && ctx.Err() == nil; i, more = next() {
			errs[i] = s.read(i, buffer)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	x.Write()
	s.index = nil
	return s, nil
}

// read fills the record of unit i from disk.
func (s *Snapshot) read(i int, buffer []byte) error {
	unit, entry := s.graph.nodes[i].unit, s.index.Entry(i)
	r := record{have: make([]string, len(unit.Outputs))}
	m, err := s.readManifest(i, &entry)
	switch {
	case err == nil:
		r.manifest = m
		for k, output := range unit.Outputs {
			sum, err := s.sum(m, output, &entry, buffer)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("read output %s of %s: %w", output, s.graph.ref(i), err)
			}
			r.have[k] = sum
		}
		entry.Keep(m)
	case !errors.Is(err, fs.ErrNotExist):
		r.problem = err
	}
	s.records[i] = r
	return nil
}

// readManifest is the manifest of unit i, from the index if it is known there.
func (s *Snapshot) readManifest(i int, entry *indexfile.Entry[Manifest]) (*Manifest, error) {
	ref := s.graph.ref(i)
	known, data, err := entry.Manifest(s.path(manifestPath(ref)))
	switch {
	case err != nil:
		return nil, unreadable(ref, err)
	case known != nil:
		return known, nil
	}
	return checkManifest(data, ref)
}

// sum is the hash of an output. A large one that looks as its manifest says is
// not read, nor is one that the index knows.
func (s *Snapshot) sum(m *Manifest, output string, entry *indexfile.Entry[Manifest], buffer []byte) (string, error) {
	path := s.path(output)
	if recorded, _ := m.output(output); recorded.Modified != 0 {
		info, err := os.Stat(path)
		if err == nil && info.Size() == recorded.Bytes && info.ModTime().UnixNano() == recorded.Modified {
			return recorded.SHA256, nil
		}
	}
	return entry.Sum(path, output, func(file *os.File) (string, error) { return hashOf(file, buffer) })
}

// path is the local path of a file of the output folder.
func (s *Snapshot) path(output string) string {
	return s.dir + string(filepath.Separator) + filepath.FromSlash(output)
}

// hashBuffer is the size of the buffer that files are hashed through.
const hashBuffer = 1 << 16

// key is the key of unit i with the inputs that are there now, and the needed
// units without usable outputs: the key is empty if there are any.
func (s *Snapshot) key(i int) (key string, blocked []int) {
	n := &s.graph.nodes[i]
	c := newCanonical()
	defer c.free()
	for k, need := range n.needs {
		r := &s.records[need]
		if !r.usable() {
			if k < n.wanted {
				blocked = append(blocked, need)
			}
			continue
		}
		for k, output := range s.graph.nodes[need].unit.Outputs {
			c.inputs.add(output, r.have[k])
		}
	}
	if len(blocked) > 0 {
		return "", blocked
	}
	c.unit(n.unit)
	stage := s.graph.stageOf(i)
	return c.key(&Parts{Format: keyFormat, Stage: stage.Name, Version: stage.Version, Unit: n.unit.ID, Seed: n.unit.Seed}), nil
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

// hashFile is the SHA-256 of a file's content in hex, read through buffer.
func hashFile(path string, buffer []byte) (string, error) {
	f, err := ownfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashOf(f, buffer)
}

// hashOf is the SHA-256 of what is left of a file.
func hashOf(f *os.File, buffer []byte) (string, error) {
	h := sha256.New()
	onlyReader := struct{ io.Reader }{f} // else the file would copy with a buffer of its own
	if _, err := io.CopyBuffer(h, onlyReader, buffer); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
