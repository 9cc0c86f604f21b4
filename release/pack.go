package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"speceval/internal/machine/version"
)

// file is a file of a release, or of an archive of it.
type file struct {
	name    string // slash-separated
	content []byte
	mode    fs.FileMode // 0o755 of programs, else 0o644, whatever it is on this machine
}

// below is files with a folder before their names, sorted.
func below(folder string, files []file) []file {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = path.Join(folder, files[i].name)
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return files
}

// tarGz is files as a compressed tar archive, all of a date and without owners.
func tarGz(files []file, date time.Time) []byte {
	var b bytes.Buffer
	z := must(gzip.NewWriterLevel(&b, gzip.BestCompression))
	t := tar.NewWriter(z)
	for _, f := range files {
		header := tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: int64(f.mode), ModTime: date, Format: tar.FormatUSTAR}
		must(0, t.WriteHeader(&header))
		must(t.Write(f.content))
	}
	must(0, t.Close())
	must(0, z.Close())
	return b.Bytes()
}

// wheel is a Python wheel, a zip archive: a program for a system and the modules of the
// package, by what pyproject.toml says. Its root goes to the site-packages of the
// platform; the modules have no ABI.
func wheel(s system, program file, modules, licenses []file, pyproject, readme []byte, date time.Time) file {
	var about struct {
		Project struct {
			Name, Description, License string
			RequiresPython             string `toml:"requires-python"`
			Classifiers                []string
			EntryPoints                map[string]map[string]string `toml:"entry-points"`
		}
	}
	must(0, toml.Unmarshal(pyproject, &about))
	p := about.Project
	stem := p.Name + "-" + version.Number
	info := stem + ".dist-info/"
	var meta, record strings.Builder
	fmt.Fprintf(&meta, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: %s\n", p.Name, version.Number, p.Description, p.License)
	for _, f := range licenses {
		fmt.Fprintf(&meta, "License-File: %s\n", f.name)
	}
	fmt.Fprintf(&meta, "Classifier: %s\n", strings.Join(p.Classifiers, "\nClassifier: "))
	fmt.Fprintf(&meta, "Requires-Python: %s\nDescription-Content-Type: text/markdown; charset=UTF-8\n\n%s", p.RequiresPython, readme)
	var points strings.Builder
	for _, group := range slices.Sorted(maps.Keys(p.EntryPoints)) {
		fmt.Fprintf(&points, "[%s]\n", group)
		for _, name := range slices.Sorted(maps.Keys(p.EntryPoints[group])) {
			fmt.Fprintf(&points, "%s = %s\n", name, p.EntryPoints[group][name])
		}
	}
	tags := "Wheel-Version: 1.0\nGenerator: speceval\nRoot-Is-Purelib: false\nTag: py3-none-" + strings.Join(s.wheel, "\nTag: py3-none-") + "\n"
	files := slices.Concat(below(p.Name, modules), below(stem+".data/scripts", []file{program}), below(info+"licenses", licenses),
		[]file{{info + "METADATA", []byte(meta.String()), 0o644}, {info + "WHEEL", []byte(tags), 0o644}, {info + "entry_points.txt", []byte(points.String()), 0o644}})
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range append(files, file{info + "RECORD", []byte(record.String()), 0o644}) { // last, as the format wants
		header := zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		header.SetMode(f.mode)
		must(must(z.CreateHeader(&header)).Write(f.content))
	}
	must(0, z.Close())
	return file{fmt.Sprintf("%s-py3-none-%s.whl", stem, strings.Join(s.wheel, ".")), b.Bytes(), 0o644}
}
