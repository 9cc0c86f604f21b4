package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"speceval/internal/version"
)

// source is what a release is made of.
type source struct {
	root   string
	commit string
	dirty  bool
	date   time.Time // of the commit, in UTC
}

// host is the system of this machine.
func host() string { return runtime.GOOS + "/" + runtime.GOARCH }

// output runs a command in a folder and returns what it prints. Variables come after
// those of this process.
func output(ctx context.Context, dir string, variables []string, words ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), variables...)
	var said bytes.Buffer
	c.Stderr = &said
	printed, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, said.Bytes())
	}
	return printed, nil
}

// readSource asks git of the repository in a folder.
func readSource(ctx context.Context, root string) (source, error) {
	s := source{root: root}
	said, err := output(ctx, root, nil, "git", "show", "-s", "--format=%H %ct", "HEAD")
	if err != nil {
		return s, fmt.Errorf("a release is of a commit: %w", err)
	}
	var seconds int64
	if _, err := fmt.Sscanf(string(said), "%s %d", &s.commit, &seconds); err != nil {
		return s, fmt.Errorf("git tells of the commit %q: %w", said, err)
	}
	s.date = time.Unix(seconds, 0).UTC()
	status, err := output(ctx, root, nil, "git", "status", "--porcelain")
	s.dirty = len(status) > 0
	return s, err
}

// file is a file of the repository under another name.
func (s source) file(name, as string) (ArchiveFile, error) {
	content, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	return ArchiveFile{Name: as, Content: content}, err
}

// files are those that patterns find, under their names in the repository, without a
// folder before them if flat.
func (s source) files(flat bool, patterns ...string) (all []ArchiveFile, err error) {
	for _, pattern := range patterns {
		names, err := fs.Glob(os.DirFS(s.root), pattern)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("the repository has no %s", pattern)
		}
		for _, name := range names {
			as := name
			if flat {
				as = filepath.Base(name)
			}
			f, err := s.file(name, as)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return all, nil
}

// project is what wheels say of themselves, by python/pyproject.toml.
func (s source) project() (Project, error) {
	var file struct {
		Project struct {
			Name, Description, License string
			RequiresPython             string `toml:"requires-python"`
			Classifiers                []string
		}
	}
	if _, err := toml.DecodeFile(filepath.Join(s.root, "python", "pyproject.toml"), &file); err != nil {
		return Project{}, fmt.Errorf("python/pyproject.toml: %w", err)
	}
	readme, err := s.file("README.md", "README.md")
	p := file.Project
	return Project{
		Name: p.Name, Version: version.Number, Summary: p.Description, License: p.License,
		RequiresPython: p.RequiresPython, Classifiers: p.Classifiers, Description: readme.Content,
	}, err
}

// versionModule is the module of the Python package that has the version.
const versionModule = "_version.py"

// modules are the files of the Python package, with one more that has the version.
func (s source) modules() ([]ArchiveFile, error) {
	files, err := s.files(true, "python/speceval/*.py", "python/speceval/py.typed")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name == versionModule {
			return nil, errors.New("python/speceval/" + versionModule + " is made by a release, remove it")
		}
	}
	return append(files, ArchiveFile{Name: versionModule, Content: fmt.Appendf(nil, "__version__ = %q\n", version.Number)}), nil
}
