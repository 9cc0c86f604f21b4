package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/inputfile"
)

const (
	headBytes = 64 << 10 // by which a format is recognised
	maxFiles  = 200_000  // in a folder
)

// file is a file that may be a log, or a part of one.
type file struct {
	path   string
	size   int64
	head   []byte // its first bytes while it is recognised, nil otherwise
	digest string // "" until it is asked for: several logs may be in one file
}

// base is the file's name, without its folders.
func (f *file) base() string { return filepath.Base(f.path) }

// folder is the name of the n-th folder above the file, 0 the one that it is in; "" if
// the path does not name it.
func (f *file) folder(n int) string {
	dir := filepath.Dir(f.path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	for range n {
		dir = filepath.Dir(dir)
	}
	if dir = filepath.Base(dir); dir == string(filepath.Separator) {
		return ""
	}
	return dir
}

// named reports whether the file's name ends so.
func (f *file) named(suffix string) bool { return strings.HasSuffix(f.path, suffix) }

// has reports whether all of the words are among the file's first bytes, as keys or
// texts of JSON.
func (f *file) has(words ...string) bool {
	head := f.first()
	for _, word := range words {
		if !bytes.Contains(head, []byte(`"`+word+`"`)) {
			return false
		}
	}
	return true
}

// first is the file's first bytes. What cannot be read has none.
func (f *file) first() []byte {
	if f.head != nil {
		return f.head
	}
	head, _ := f.load()
	return head
}

// load reads the file's first bytes.
func (f *file) load() ([]byte, error) {
	head := make([]byte, min(headBytes, f.size))
	err := f.reader(func(r io.Reader) error {
		n, err := io.ReadFull(r, head)
		head = head[:n]
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
	return head, err
}

// sha256 is the digest of the whole file, in lower-case hex.
func (f *file) sha256() (string, error) {
	if f.digest != "" {
		return f.digest, nil
	}
	err := f.reader(func(r io.Reader) error {
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		f.digest = hex.EncodeToString(sum.Sum(nil))
		return nil
	})
	return f.digest, err
}

// starts reports whether the file is JSON that begins with a byte.
func (f *file) starts(with byte) bool {
	text := bytes.TrimLeft(f.first(), " \t\r\n")
	return len(text) > 0 && text[0] == with
}

// reader reads the file.
func (f *file) reader(read func(r io.Reader) error) error {
	disk, err := inputfile.Open(f.path, inputfile.Log)
	if err != nil {
		return err
	}
	defer disk.Close()
	return read(disk)
}

// find is the file at path, or the regular files of the folder there, by their paths.
// Links are not followed, and what begins with a dot is passed over.
func find(path string) (files []*file, folder bool, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		f, err := look(path, info)
		return []*file{f}, false, err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != path && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "."):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("%s has more than %d files: name the folders of logs in it", path, maxFiles)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !logLike(name) {
			return nil
		}
		f, err := look(name, info)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, true, err
}

// logLike reports whether a file of a folder may be a log at all.
func logLike(name string) bool {
	switch filepath.Ext(name) {
	case ".eval", ".json", ".jsonl", ".parquet":
		return true
	}
	return false
}

// look is the file at a path.
func look(path string, info fs.FileInfo) (*file, error) {
	if err := inputfile.Check(path, inputfile.Log); err != nil {
		return nil, err
	}
	return &file{path: path, size: info.Size()}, nil
}
