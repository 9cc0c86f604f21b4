// Package wheel writes Python wheels that hold a program for one kind of machine and
// a few modules in Python: what `pip install` unpacks, without a compiler.
package wheel

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"speceval/release/bundle"
)

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
	Program   bundle.File   // what lands in bin, by its name
	Modules   []bundle.File // files of the package, by their names below it
	Licenses  []bundle.File
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
	slices.SortFunc(modules, func(a, b bundle.File) int { return strings.Compare(a.Name, b.Name) })
	files := bundle.Below(w.Name, modules)
	program := w.Program
	program.Name, program.Program = stem+".data/scripts/"+program.Name, true
	files = append(files, program)
	files = append(files, bundle.Below(info+"licenses", w.Licenses)...)
	files = append(files,
		bundle.File{Name: info + "METADATA", Content: w.metadata()},
		bundle.File{Name: info + "WHEEL", Content: w.tags()})
	files = append(files, bundle.File{Name: info + "RECORD", Content: record(files, info+"RECORD")}) // last, as the format wants
	return bundle.Zip(out, files, date)
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
func record(files []bundle.File, self string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.Content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.Content))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return []byte(b.String())
}

// Modules are the files of a Python package that a wheel takes: modules, and the mark
// that they are typed.
func Modules(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return path.Ext(name) != ".py" && path.Base(name) != "py.typed"
	})
}
