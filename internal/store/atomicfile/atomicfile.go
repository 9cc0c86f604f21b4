// Package atomicfile makes files appear whole or not at all. Content goes to
// a temporary file in the same folder, is synced to disk and renamed over the
// old file; a crash at any moment leaves the old file or the new one, and at
// most a leftover with a known suffix, which [Sweep] removes.
package atomicfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Suffix ends the name of every temporary file. Nothing else in an output
// folder may end in it.
const Suffix = ".partial"

// File is a file in the making. Exactly one of Commit and Discard ends it.
type File struct {
	path   string // where the file will stand
	temp   *os.File
	failed error // the first failed write, if any
}

// Create starts a file that will stand at path, making its folder if needed. Its mode is
// the umask's. Nothing is seen at path before [File.Commit].
func Create(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, Advise(path, err)
	}
	for n := 0; ; n++ { // os.CreateTemp would not leave the mode to the umask
		part := fmt.Sprintf("%s.%d%s", path, n, Suffix)
		temp, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return &File{path: path, temp: temp}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, Advise(path, err)
		}
	}
}

// Write appends to the temporary file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.temp.Write(p)
	if err != nil && f.failed == nil {
		f.failed = Advise(f.path, err)
		err = f.failed
	}
	return n, err
}

// Commit syncs the content to disk and renames it into place. It fails if any
// Write did. After an error the file that stood at the path before is
// untouched, and the temporary one is gone.
func (f *File) Commit() error {
	err := f.failed
	if err == nil {
		err = f.temp.Sync()
	}
	if closed := f.temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = Rename(f.temp.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.temp.Name())
		return Advise(f.path, err)
	}
	return nil
}

// Rename makes a file whose content is synced stand at another path of its
// folder, durably. It serves files that grew in place.
func Rename(from, path string) error {
	if err := os.Rename(from, path); err != nil {
		return Advise(path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// Discard drops what was written. The file that stood at the path stays.
func (f *File) Discard() {
	f.temp.Close()
	os.Remove(f.temp.Name())
}

// Write makes the file at path from what write writes. If write fails, or the
// disk is full, the file that stood at path before is untouched.
func Write(path string, write func(w io.Writer) error) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Discard()
		return Advise(path, err)
	}
	return f.Commit()
}

// Sweep removes the temporary files that a crash left under root, and returns
// their paths. It must not run while another process writes there, but for folders below
// root with a file of the name owned: these are left alone. A root that does not exist has
// nothing to sweep; one that is a link is followed, and no link below it is.
func Sweep(root, owned string) (removed []string, err error) {
	folder, err := os.OpenRoot(root) // through which nothing outside it can be removed
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sweep leftovers under %s: %w", root, err)
	}
	defer folder.Close()
	err = fs.WalkDir(folder.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != "." {
			if _, none := folder.Lstat(filepath.Join(path, owned)); none == nil {
				return fs.SkipDir
			}
		}
		if err != nil || !entry.Type().IsRegular() || !strings.HasSuffix(path, Suffix) {
			return err
		}
		removed = append(removed, filepath.Join(root, path))
		return folder.Remove(path)
	})
	if err != nil {
		return removed, fmt.Errorf("sweep leftovers under %s: %w", root, err)
	}
	return removed, nil
}

// syncFolder makes a rename in dir durable. File systems that cannot sync a
// folder say EINVAL or ENOTSUP, and need not.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	defer d.Close()
	err = d.Sync()
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}

// advised is an error that already names the file and what to do.
type advised struct {
	path   string
	advice string
	err    error
}

func (e *advised) Error() string {
	return fmt.Sprintf("write %s: %v%s", e.path, e.err, e.advice)
}

func (e *advised) Unwrap() error { return e.err }

// Advise names the file in err once, and tells the user what to do about
// errors that are not the program's fault. It serves files that grow in place
// too.
func Advise(path string, err error) error {
	var already *advised
	if errors.As(err, &already) {
		return err
	}
	e := &advised{path: path, err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.advice = ": the disk is full; free some space and run again, nothing that was there is lost"
	case errors.Is(err, fs.ErrPermission):
		e.advice = ": not allowed to write here; choose another output folder, or change its permissions"
	case errors.Is(err, syscall.EROFS):
		e.advice = ": the file system is read-only; choose another output folder"
	}
	return e
}

// WriteText makes the file at path of a text.
func WriteText(path, text string) error {
	return Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// WriteJSON makes the file at path of a value, as [EncodeJSON] writes it.
func WriteJSON(path string, v any) error {
	return Write(path, func(w io.Writer) error { return EncodeJSON(w, v) })
}

// EncodeJSON writes a value as manifests, setups and results are stored, and as documents are
// printed: indented JSON that escapes no HTML.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Copy copies the file at a path to another path, if there is one.
func Copy(from, to string) error {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
