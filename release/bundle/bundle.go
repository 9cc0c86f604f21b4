// Package bundle writes archives whose bytes follow from their files and a date
// alone: no owners, no times of files, modes that are one of two.
package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// File is a file of an archive.
type File struct {
	Name    string // slash-separated, below the top of the archive
	Content []byte
	Program bool // whether it may be executed
}

// mode is that of the file in archives.
func (f File) mode() fs.FileMode {
	if f.Program {
		return 0o755
	}
	return 0o644
}

// sound finds names that no archive should have, and such as are there twice.
func sound(files []File) error {
	seen := map[string]bool{}
	for _, f := range files {
		if !fs.ValidPath(f.Name) || f.Name == "." {
			return fmt.Errorf("an archive cannot have a file named %q", f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("an archive would have the file %s twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// TarGz writes files, sorted by their names, as a compressed tar archive. All of them
// are of the date.
func TarGz(w io.Writer, files []File, date time.Time) error {
	if err := sound(files); err != nil {
		return err
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Name: f.Name, Size: int64(len(f.Content)), Mode: int64(f.mode()), ModTime: date.UTC(), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := t.Write(f.Content); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// Zip writes files in their order as a zip archive. All of them are of the date.
func Zip(w io.Writer, files []File, date time.Time) error {
	if err := sound(files); err != nil {
		return err
	}
	z := zip.NewWriter(w)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: date.UTC()}
		header.SetMode(f.mode())
		to, err := z.CreateHeader(header)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := to.Write(f.Content); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return z.Close()
}

// Checksums is the SHA-256 of files in the form of sha256sum, sorted by their names.
func Checksums(files []File) []byte {
	var b bytes.Buffer
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.Content), f.Name)
	}
	return b.Bytes()
}

// Below is files with a folder before their names.
func Below(folder string, files []File) []File {
	below := slices.Clone(files)
	for i := range below {
		below[i].Name = path.Join(folder, below[i].Name)
	}
	return below
}
