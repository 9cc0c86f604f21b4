package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/version"
	"speceval/release/bundle"
	"speceval/release/parts"
	"speceval/release/wheel"
)

// checksums is the file with the digests of all others that are downloaded.
const checksums = "checksums.txt"

// makeInto makes a release of this repository into a folder, which appears whole.
func makeInto(ctx context.Context, to string, systems []system, stderr io.Writer) error {
	if err := replaceable(to); err != nil {
		return err
	}
	s, err := readSource(ctx, ".")
	if err != nil {
		return err
	}
	if s.dirty {
		fmt.Fprintln(stderr, "release: there are uncommitted changes: what is made is no commit's, and says so")
	}
	files, err := s.release(ctx, systems, nil, stderr)
	if err != nil {
		return err
	}
	aside, err := os.MkdirTemp(filepath.Dir(filepath.Clean(to)), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	if err := os.Chmod(aside, 0o755); err != nil {
		return err
	}
	if err := write(aside, files); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(aside, to)
}

// replaceable refuses a folder that no release was made into.
func replaceable(to string) error {
	entries, err := os.ReadDir(to)
	if os.IsNotExist(err) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(to, checksums)); err != nil {
		return fmt.Errorf("%s has files and no %s, so it is no release that can be replaced: remove it, or name another folder with --to", to, checksums)
	}
	return nil
}

// write writes files below a folder.
func write(dir string, files []bundle.File) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// release is all files of a release. variables are more of the environment of builds.
func (s source) release(ctx context.Context, systems []system, variables []string, stderr io.Writer) ([]bundle.File, error) {
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	binaries, err := s.buildAll(ctx, systems, work, variables, stderr)
	if err != nil {
		return nil, err
	}
	extras, err := s.extras(ctx, binaries[host()], work)
	if err != nil {
		return nil, err
	}
	folders, err := s.moduleFolders(ctx, systems)
	if err != nil {
		return nil, err
	}
	var programs []string
	for _, to := range systems {
		programs = append(programs, binaries[to.String()])
	}
	modules, compiler, err := parts.Of(programs, folders)
	if err != nil {
		return nil, err
	}
	list, err := parts.CycloneDX(parts.Program{Name: "speceval", Version: version.Number, License: "MIT", Commit: s.commit, Compiler: compiler, Date: s.date}, modules)
	if err != nil {
		return nil, err
	}
	beside, err := s.files(false, "LICENSE", "README.md", "CHANGELOG.md", "experiments*.toml", "docs/*.md", "docs/*.svg")
	if err != nil {
		return nil, err
	}
	ours := parts.Module{Path: std, Version: compiler}
	if ours.Licenses, err = parts.Licenses(folders[std]); err != nil {
		return nil, err
	}
	notices := bundle.File{Name: "THIRD_PARTY_LICENSES", Content: parts.Notices(append([]parts.Module{ours}, modules...))}
	beside = slices.Concat(beside, extras, []bundle.File{notices})
	loaded := []bundle.File{{Name: "speceval-" + version.Number + ".cdx.json", Content: list}}
	for _, to := range systems {
		both, err := s.packed(to, binaries[to.String()], beside, notices)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", to, err)
		}
		loaded = append(loaded, both...)
	}
	for _, f := range extras { // the schema is downloaded by itself; completions and pages are in archives
		if !strings.Contains(f.Name, "/") {
			loaded = append(loaded, f)
		}
	}
	sums := bundle.File{Name: checksums, Content: bundle.Checksums(loaded)}
	for _, f := range extras {
		if strings.Contains(f.Name, "/") {
			loaded = append(loaded, f)
		}
	}
	return append(loaded, sums), nil
}

// buildAll builds the program for systems and for this machine, one after another.
func (s source) buildAll(ctx context.Context, systems []system, work string, variables []string, stderr io.Writer) (map[string]string, error) {
	binaries := map[string]string{}
	here, err := chosen("host")
	if err != nil {
		return nil, err
	}
	for _, to := range slices.Concat(systems, here) {
		if binaries[to.String()] != "" {
			continue
		}
		file := filepath.Join(work, to.os+"-"+to.arch)
		start := time.Now()
		if err := s.build(ctx, to, file, variables); err != nil {
			return nil, err
		}
		fmt.Fprintf(stderr, "release: built for %v in %v\n", to, time.Since(start).Round(100*time.Millisecond))
		binaries[to.String()] = file
	}
	return binaries, nil
}

// packed is the archive and the wheel for a system.
func (s source) packed(to system, binary string, beside []bundle.File, notices bundle.File) ([]bundle.File, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	program := bundle.File{Name: "speceval", Content: content, Program: true}
	name := fmt.Sprintf("speceval-%s-%s-%s", version.Number, to.os, to.arch)
	var archive, packed bytes.Buffer
	if err := bundle.TarGz(&archive, bundle.Below(name, append(slices.Clone(beside), program)), s.date); err != nil {
		return nil, err
	}
	w := wheel.Wheel{Platforms: to.wheel, Program: program}
	if w.Project, err = s.project(); err != nil {
		return nil, err
	}
	if w.Modules, err = s.modules(); err != nil {
		return nil, err
	}
	license, err := s.file("LICENSE", "LICENSE")
	if err != nil {
		return nil, err
	}
	w.Licenses = []bundle.File{license, notices}
	if err := w.Write(&packed, s.date); err != nil {
		return nil, err
	}
	return []bundle.File{{Name: name + ".tar.gz", Content: archive.Bytes()}, {Name: w.Filename(), Content: packed.Bytes()}}, nil
}
