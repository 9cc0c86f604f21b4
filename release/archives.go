package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Archives are reproducible: their bytes follow from their files and a date alone. There
// are no owners, no times of files, modes that are one of two.

// ArchiveFile is a file of an archive.
type ArchiveFile struct {
	Name    string // slash-separated, below the top of the archive
	Content []byte
	Program bool // whether it may be executed
}

// mode is that of the file in archives.
func (f ArchiveFile) mode() fs.FileMode {
	if f.Program {
		return 0o755
	}
	return 0o644
}

// sound finds names that no archive should have, and such as are there twice.
func sound(files []ArchiveFile) error {
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
func TarGz(w io.Writer, files []ArchiveFile, date time.Time) error {
	if err := sound(files); err != nil {
		return err
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b ArchiveFile) int { return strings.Compare(a.Name, b.Name) })
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
func Zip(w io.Writer, files []ArchiveFile, date time.Time) error {
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
func Checksums(files []ArchiveFile) []byte {
	var b bytes.Buffer
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b ArchiveFile) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.Content), f.Name)
	}
	return b.Bytes()
}

// FilesBelow is files with a folder before their names.
func FilesBelow(folder string, files []ArchiveFile) []ArchiveFile {
	below := slices.Clone(files)
	for i := range below {
		below[i].Name = path.Join(folder, below[i].Name)
	}
	return below
}

// A Python wheel holds a program for one platform and a few modules in Python: `pip
// install` unpacks it, without a compiler.

// Project is what metadata says of a distribution.
type Project struct {
	Name           string // of the distribution and of its package: "speceval"
	Version        string
	Summary        string // one line
	License        string // an SPDX expression
	RequiresPython string // ">=3.10"
	Classifiers    []string
	Description    []byte // in Markdown
}

// Wheel is one wheel.
type Wheel struct {
	Project
	Platforms []string      // tags of the machines that it is for: "manylinux2014_x86_64"
	Program   ArchiveFile   // what lands in bin, by its name
	Modules   []ArchiveFile // files of the package, by their names below it
	Licenses  []ArchiveFile
}

// Filename is the name that installers read tags from.
func (w Wheel) Filename() string {
	return fmt.Sprintf("%s-%s-py3-none-%s.whl", w.Name, w.Version, strings.Join(w.Platforms, "."))
}

var plain = regexp.MustCompile(`^[a-z0-9_]+$`)

// Write writes the wheel, with all files of the date. Its bytes follow from w and the
// date alone.
//
// A wheel has one folder of modules, its root, which goes to the platform's
// site-packages or to the one for pure Python. This one goes to the platform's
// (Root-Is-Purelib: false), as its tag says that the whole is for one kind of machine;
// the modules have no ABI, so that the tag of Python is py3 and that of the ABI none.
func (w Wheel) Write(out io.Writer, date time.Time) error {
	if !plain.MatchString(w.Name) || len(w.Platforms) == 0 || strings.ContainsAny(w.Version, "-_ ") {
		return fmt.Errorf("no wheel can be named %s: want a name of small letters, a version without hyphens, and platforms", w.Filename())
	}
	stem := w.Name + "-" + w.Version
	info := stem + ".dist-info/"
	modules := slices.Clone(w.Modules)
	slices.SortFunc(modules, func(a, b ArchiveFile) int { return strings.Compare(a.Name, b.Name) })
	files := FilesBelow(w.Name, modules)
	program := w.Program
	program.Name, program.Program = stem+".data/scripts/"+program.Name, true
	files = append(files, program)
	files = append(files, FilesBelow(info+"licenses", w.Licenses)...)
	files = append(files,
		ArchiveFile{Name: info + "METADATA", Content: w.metadata()},
		ArchiveFile{Name: info + "WHEEL", Content: w.tags()})
	files = append(files, ArchiveFile{Name: info + "RECORD", Content: record(files, info+"RECORD")}) // last, as the format wants
	return Zip(out, files, date)
}

// metadata is the file METADATA, version 2.4.
func (w Wheel) metadata() []byte {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(strings.Fields(value), " "))
		}
	}
	field("Metadata-Version", "2.4")
	field("Name", w.Name)
	field("Version", w.Version)
	field("Summary", w.Summary)
	field("License-Expression", w.License)
	for _, f := range w.Licenses {
		field("License-File", f.Name)
	}
	for _, c := range w.Classifiers {
		field("Classifier", c)
	}
	field("Requires-Python", w.RequiresPython)
	field("Description-Content-Type", "text/markdown; charset=UTF-8")
	b.WriteString("\n")
	b.Write(w.Description)
	return []byte(b.String())
}

// tags is the file WHEEL: a line for each of the tags that the name of the wheel has.
func (w Wheel) tags() []byte {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: speceval\nRoot-Is-Purelib: false\n")
	for _, platform := range w.Platforms {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", platform)
	}
	return []byte(b.String())
}

// record is the file RECORD: every file with its hash and size, itself without.
func record(files []ArchiveFile, self string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.Content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.Content))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return []byte(b.String())
}

// pythonModules are the files of a Python package that a wheel takes: modules, and the mark
// that they are typed.
func pythonModules(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return path.Ext(name) != ".py" && path.Base(name) != "py.typed"
	})
}
