// Package files opens the files that a user or a configuration names (input.go): regular
// files only, and no longer than files of their kind are. A named pipe would block,
// a device may have no end, and both can stand behind a link. It records their bytes, by which
// a later change is noticed (digest.go).
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Kind is the kind of a file to read.
type Kind struct {
	Name     string // of one such file, for errors: "a task file"
	MaxBytes int64  // how long it may be
}

// The kinds of files, each with a bound far above any honest one.
var (
	Configuration = Kind{"a configuration", 1 << 20}
	Prompt        = Kind{"a prompt", 1 << 20}
	Settings      = Kind{"a file of settings in JSON", 64 << 20} // a model's config.json
	Cases         = Kind{"a file of cases", 64 << 20}
	Profiles      = Kind{"a file of profiles", 128 << 20}
	Tasks         = Kind{"a task file", 256 << 20}
	Tests         = Kind{"a file of tests", 1 << 30}
	Rows          = Kind{"a Parquet file", 64 << 30}          // read a row group at a time, or within a bound of memory
	Upstream      = Kind{"a file of a benchmark", 64 << 30}   // read row by row
	Log           = Kind{"a log", 64 << 30}                   // read as a stream
	Content       = Kind{"a file that is hashed", 1024 << 30} // weights of models, files of graders
)

// nonblocking keeps a pipe from blocking, and a terminal from becoming the process's own.
const nonblocking = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// OpenInput opens the file at path, or the one that a link there leads to. The error
// names the path, and is fs.ErrNotExist where nothing is there.
func OpenInput(path string, kind Kind) (*os.File, error) {
	file, err := os.OpenFile(path, nonblocking, 0)
	return checked(file, err, path, kind)
}

// OpenInputIn is OpenInput of a file in a folder. No link may lead out of the folder.
func OpenInputIn(folder *os.Root, name string, kind Kind) (*os.File, error) {
	file, err := folder.OpenFile(name, nonblocking, 0)
	return checked(file, err, name, kind)
}

// checked is a file that has been opened, if it can be of a kind.
func checked(file *os.File, err error, name string, kind Kind) (*os.File, error) {
	if errors.Is(err, syscall.ENXIO) { // a socket cannot be opened
		return nil, kind.wanted(name, fs.ModeSocket)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = kind.wanted(name, info.Mode())
	case info.Size() > kind.MaxBytes:
		err = kind.long(name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// ReadInput reads the whole file at path, as OpenInput opens it.
func ReadInput(path string, kind Kind) ([]byte, error) {
	file, err := OpenInput(path, kind)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadAll(file, path, kind)
}

// ReadAll reads the rest of an open file or a stream; name is its name in errors. It is an
// error if that is more than the kind may have, whatever size a file claims.
func ReadAll(r io.Reader, name string, kind Kind) ([]byte, error) {
	var text bytes.Buffer
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			text.Grow(int(min(info.Size(), 1<<20)) + bytes.MinRead) // a manifest needs no more
		}
	}
	if _, err := text.ReadFrom(io.LimitReader(r, kind.MaxBytes+1)); err != nil {
		return nil, err
	}
	if int64(text.Len()) > kind.MaxBytes {
		return nil, kind.long(name)
	}
	return text.Bytes(), nil
}

// wanted says what there is in the place of a file.
func (k Kind) wanted(name string, mode fs.FileMode) error {
	advice := ""
	if mode&(fs.ModeNamedPipe|fs.ModeDevice) != 0 {
		advice = ", a regular file: write what comes from it into one, and name that"
	}
	return fmt.Errorf("%s is %s, and %s is wanted%s", name, Described(mode), k.Name, advice)
}

func (k Kind) long(name string) error {
	return fmt.Errorf("%s is longer than %d MiB, which is more than %s may have", name, k.MaxBytes>>20, k.Name)
}

// Described names the kind of a file that is not regular: "a pipe".
func Described(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}

// InputFolder is the folder at a path, of whose files all are of one kind.
func InputFolder(path string, kind Kind) fs.FS { return folder{os.DirFS(path), path, kind} }

type folder struct {
	fs.FS
	path string
	kind Kind
}

// Open opens a file of the folder, or a folder in it.
func (f folder) Open(name string) (fs.File, error) {
	info, err := fs.Stat(f.FS, name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return f.FS.Open(name)
	}
	file, err := OpenInput(path.Join(f.path, name), f.kind)
	if err != nil {
		return nil, err // no nil *os.File
	}
	return file, nil
}
