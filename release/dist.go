package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"speceval/internal/version"
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
func write(dir string, files []ArchiveFile) error {
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
func (s source) release(ctx context.Context, systems []system, variables []string, stderr io.Writer) ([]ArchiveFile, error) {
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
	modules, compiler, err := ModulesOf(programs, folders)
	if err != nil {
		return nil, err
	}
	list, err := CycloneDX(Program{Name: "speceval", Version: version.Number, License: "MIT", Commit: s.commit, Compiler: compiler, Date: s.date}, modules)
	if err != nil {
		return nil, err
	}
	companions, err := s.files(false, "LICENSE", "README.md", "CHANGELOG.md", "experiments*.toml", "docs/*.md", "docs/*.svg")
	if err != nil {
		return nil, err
	}
	ours := GoModule{Path: std, Version: compiler}
	if ours.Licenses, err = Licenses(folders[std]); err != nil {
		return nil, err
	}
	notices := ArchiveFile{Name: "THIRD_PARTY_LICENSES", Content: Notices(append([]GoModule{ours}, modules...))}
	companions = slices.Concat(companions, extras, []ArchiveFile{notices})
	loaded := []ArchiveFile{{Name: "speceval-" + version.Number + ".cdx.json", Content: list}}
	for _, to := range systems {
		both, err := s.packed(to, binaries[to.String()], companions, notices)
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
	sums := ArchiveFile{Name: checksums, Content: Checksums(loaded)}
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
func (s source) packed(to system, binary string, companions []ArchiveFile, notices ArchiveFile) ([]ArchiveFile, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	program := ArchiveFile{Name: "speceval", Content: content, Program: true}
	name := fmt.Sprintf("speceval-%s-%s-%s", version.Number, to.os, to.arch)
	var archive, packed bytes.Buffer
	if err := TarGz(&archive, FilesBelow(name, append(slices.Clone(companions), program)), s.date); err != nil {
		return nil, err
	}
	w := Wheel{Platforms: to.wheel, Program: program}
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
	w.Licenses = []ArchiveFile{license, notices}
	if err := w.Write(&packed, s.date); err != nil {
		return nil, err
	}
	return []ArchiveFile{{Name: name + ".tar.gz", Content: archive.Bytes()}, {Name: w.Filename(), Content: packed.Bytes()}}, nil
}

// build builds the program for a system into a file. variables are more of the
// environment.
func (s source) build(ctx context.Context, to system, file string, variables []string) error {
	flags := fmt.Sprintf("-s -w -X main.linkedCommit=%s -X main.linkedDirty=%t -X main.linkedDate=%s", s.commit, s.dirty, s.date.Format("2006-01-02"))
	_, err := output(ctx, s.root, append(to.environment(), variables...), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, "./pipeline")
	return err
}

// environment makes the Go tool build for a system, with nothing of this machine: no
// settings of its user, no C.
func (to system) environment() []string {
	return []string{"CGO_ENABLED=0", "GOOS=" + to.os, "GOARCH=" + to.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off"}
}

// extras are the schema of the configuration, and what the program itself writes:
// completions and manual pages. binary is one that runs here.
func (s source) extras(ctx context.Context, binary, work string) ([]ArchiveFile, error) {
	files, err := s.files(true, "experiments.schema.json")
	if err != nil {
		return nil, err
	}
	for _, e := range []struct {
		name  string
		words []string
	}{
		{"completions/speceval.bash", []string{"completion", "bash"}},
		{"completions/_speceval", []string{"completion", "zsh"}},
		{"completions/speceval.fish", []string{"completion", "fish"}},
	} {
		text, err := output(ctx, s.root, nil, append([]string{binary}, e.words...)...)
		if err != nil {
			return nil, err
		}
		files = append(files, ArchiveFile{Name: e.name, Content: text})
	}
	man := filepath.Join(work, "man1")
	if _, err := output(ctx, s.root, nil, binary, "man", man); err != nil {
		return nil, err
	}
	pages, err := fs.Glob(os.DirFS(man), "*.1")
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		content, err := os.ReadFile(filepath.Join(man, page))
		if err != nil {
			return nil, err
		}
		files = append(files, ArchiveFile{Name: "man/man1/" + page, Content: content})
	}
	return files, nil
}

// std is what Go's own library is called among modules.
const std = "std"

// moduleFolders are where the sources of the modules are that the program has on some
// systems, and of std, by their paths.
func (s source) moduleFolders(ctx context.Context, systems []system) (map[string]string, error) {
	root, err := output(ctx, s.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{std: strings.TrimSpace(string(root))}
	for _, to := range systems {
		said, err := output(ctx, s.root, to.environment(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}", "./pipeline")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(said)) {
			if name, folder, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); found {
				folders[name] = folder
			}
		}
	}
	return folders, nil
}

// checkTwice makes a release from here, and once more from a copy of the commit in
// another folder with nothing that the Go tool has kept, and compares all files.
func checkTwice(ctx context.Context, systems []system, stderr io.Writer) error {
	s, err := readSource(ctx, ".")
	if err != nil {
		return err
	}
	if s.dirty {
		return errors.New("--check compares with the commit, and there are uncommitted changes")
	}
	dir, err := os.MkdirTemp("", "release-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	copied, cache := s, filepath.Join(dir, "cache")
	copied.root = filepath.Join(dir, "somewhere", "else")
	if err := os.MkdirAll(copied.root, 0o777); err != nil {
		return err
	}
	archive := filepath.Join(dir, "commit.tar")
	if _, err := output(ctx, s.root, nil, "git", "archive", "--format=tar", "--output="+archive, s.commit); err != nil {
		return err
	}
	if _, err := output(ctx, copied.root, nil, "tar", "xf", archive); err != nil {
		return err
	}
	start := time.Now()
	first, err := s.release(ctx, systems, nil, stderr)
	if err != nil {
		return err
	}
	second, err := copied.release(ctx, systems, []string{"GOCACHE=" + cache}, stderr)
	if err != nil {
		return err
	}
	if err := differences(first, second); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "release: %d files are the same bytes from two folders, in %v\n", len(first), time.Since(start).Round(time.Second))
	return nil
}

// differences tells which files are others.
func differences(first, second []ArchiveFile) error {
	content := map[string][]byte{}
	for _, f := range first {
		content[f.Name] = f.Content
	}
	var faults []error
	for _, f := range second {
		if before, there := content[f.Name]; !there || !bytes.Equal(before, f.Content) {
			faults = append(faults, fmt.Errorf("%s is not the same when it is made again", f.Name))
		}
		delete(content, f.Name)
	}
	for name := range content {
		faults = append(faults, fmt.Errorf("%s is not made again", name))
	}
	return errors.Join(faults...)
}
