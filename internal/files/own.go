// OpenOwn opens the files that this program itself makes, in folders where
// others may write as well. A name that is expected may be a link to another file, a pipe
// without a writer, or a device without an end: none of them is opened, and no link is
// followed below the folder that the user has named.

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// AlienError says that what stands at a path is nothing that this program made.
type AlienError struct {
	Path string
	Is   string // what it is: "a symbolic link"
}

func (e *AlienError) Error() string {
	return fmt.Sprintf("%s is %s, which speceval has not made and does not use: remove it, or choose another folder", e.Path, e.Is)
}

// safely has an open follow no link in the last part of a path, wait for no other end
// of a pipe, and take no terminal.
const safely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY

// OpenOwn opens a regular file for reading. It is an *AlienError if it is anything else.
func OpenOwn(path string) (*os.File, error) { return openOwn(path, os.O_RDONLY, 0) }

// OpenFile opens a regular file as os.OpenFile does, with a flag for writing. It is an
// *AlienError if something else stands there, or the file has another name elsewhere,
// under which it would be written, too. The flag must not be os.O_TRUNC: what is there
// is looked at first.
func OpenOwnFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_TRUNC != 0 {
		return nil, fmt.Errorf("open %s: it would be emptied before it is looked at", path)
	}
	file, err := openOwn(path, flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	if at, ok := info.Sys().(*syscall.Stat_t); ok && at.Nlink > 1 {
		file.Close()
		return nil, &AlienError{path, fmt.Sprintf("a file with %d hard links", at.Nlink)}
	}
	return file, nil
}

// openOwn opens what is a regular file, before and after it is opened.
func openOwn(path string, flag int, perm fs.FileMode) (*os.File, error) {
	switch info, err := os.Lstat(path); { // to open a device may do something
	case err == nil && !info.Mode().IsRegular():
		return nil, alien(path, info.Mode())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	file, err := os.OpenFile(path, flag|safely, perm)
	if errors.Is(err, syscall.ELOOP) {
		return nil, alien(path, fs.ModeSymlink)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = alien(path, info.Mode())
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func alien(path string, mode fs.FileMode) error {
	return &AlienError{path, Described(mode)}
}

// ReadFile reads a regular file of so many bytes at most.
func ReadOwn(path string, most int64) ([]byte, error) {
	file, err := OpenOwn(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %d MiB: speceval makes no such file", path, most>>20)
	}
	return text, nil
}

// MakeFolder makes a folder and those above it up to root, which may be a link and is
// made, too. It is an *AlienError if one below root is no folder but a link to one.
func MakeOwnFolder(root, folder string) error {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return err
	}
	below, err := filepath.Rel(root, folder)
	if err != nil || !filepath.IsLocal(below) {
		return fmt.Errorf("the folder %s is not below %s", folder, root)
	}
	at := root
	for part := range strings.SplitSeq(below, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if part == "." {
			continue
		}
		if err := os.Mkdir(at, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := CheckOwnFolder(at); err != nil {
			return err
		}
	}
	return nil
}

// CheckFolder is an *AlienError if what stands at a path is no folder, but a link to one
// for instance. Nothing may stand there.
func CheckOwnFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.IsDir():
		return alien(path, info.Mode())
	}
	return err
}
