// A Digest records a file as it was made, by its SHA-256, and later reports a change. The
// manifests of units and of evaluations consist of digests. Without a secret a digest
// detects damage and edits, but not that file and record were both rewritten.

package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Digest is a file as it was when it was made.
type Digest struct {
	Path   string `json:"path"` // relative to the folder of the manifest, slash-separated
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rows   int    `json:"rows"` // -1 when not tabular, or not counted

	// Modified is the modification time of a large output, in nanoseconds since
	// 1970; 0 of any other. While it and the size stay, the content counts as
	// unchanged and is not read again: a corpus has many gigabytes.
	Modified int64 `json:"modified,omitempty"`
}

// bufferSize is the size, in bytes, of the buffers that files are hashed through.
const bufferSize = 1 << 16

// buffers are kept: a plan hashes thousands of files.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// DigestWriter passes on what is written to it, and knows its digest.
type DigestWriter struct {
	to    io.Writer
	sum   hash.Hash
	bytes int64
}

// NewDigestWriter makes a DigestWriter that passes on to another writer.
func NewDigestWriter(to io.Writer) *DigestWriter { return &DigestWriter{to: to, sum: sha256.New()} }

func (w *DigestWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.sum.Write(p[:n])
	w.bytes += int64(n)
	return n, err
}

// File is the record of what was written, as a file of this path.
func (w *DigestWriter) File(path string) Digest {
	return Digest{Path: path, SHA256: hex.EncodeToString(w.sum.Sum(nil)), Bytes: w.bytes, Rows: -1}
}

// DigestOf is the record of a file in a folder as it is now.
func DigestOf(folder, path string) (Digest, error) {
	file, err := OpenInput(filepath.Join(folder, filepath.FromSlash(path)), Content)
	if err != nil {
		return Digest{}, err
	}
	defer file.Close()
	w, buffer := NewDigestWriter(io.Discard), buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	if _, err := io.CopyBuffer(w, struct{ io.Reader }{file}, buffer[:]); err != nil {
		return Digest{}, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return w.File(path), nil
}

// Fault says what is no longer as recorded of a file in a folder; "" if nothing is. It
// continues a sentence that begins with the file's name. A file of another size is not
// read.
func (f Digest) Fault(folder string) string {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return "is recorded outside its folder"
	}
	path := filepath.Join(folder, filepath.FromSlash(f.Path))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing"
	case err != nil:
		return fmt.Sprintf("cannot be read (%v)", err)
	case !info.Mode().IsRegular():
		return "is now " + Described(info.Mode())
	case info.Size() != f.Bytes:
		return fmt.Sprintf("is not as recorded: damaged, or edited (%d bytes, recorded %d)", info.Size(), f.Bytes)
	}
	now, err := DigestOf(folder, f.Path)
	switch {
	case err != nil:
		return fmt.Sprintf("cannot be read (%v)", err)
	case now.SHA256 != f.SHA256:
		return fmt.Sprintf("is not as recorded: damaged, or edited (sha256 %.8s…, recorded %.8s…)", now.SHA256, f.SHA256)
	}
	return ""
}
