package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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

// A published module has another path, such as one with a host, under which others can
// fetch it. The code below replaces the path in go.mod, in imports, and wherever else a
// package of the module is named by its path.

// hosted is a module path that begins with a host.
var hosted = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$`)

// moduleLine is that of go.mod.
var moduleLine = regexp.MustCompile(`(?m)^module +(\S+)$`)

// texts are the endings of files, besides Go's, that name packages.
var texts = []string{".md", ".sh", ".toml", ".py", "Makefile", "run"}

// modulePath is the path of a module, by its go.mod.
func modulePath(goMod []byte) (string, error) {
	match := moduleLine.FindSubmatch(goMod)
	if match == nil {
		return "", fmt.Errorf("go.mod has no line with a module")
	}
	return string(match[1]), nil
}

// Files are those of a repository, by their slash-separated names, that are others once
// the module is called to, with their new content. The name must begin with a host.
func Renamed(files map[string][]byte, to string) (map[string][]byte, error) {
	if !hosted.MatchString(to) {
		return nil, fmt.Errorf("%q is no path that others could fetch a module by: want a host and more, as in example.org/you/speceval", to)
	}
	from, err := modulePath(files["go.mod"])
	if err != nil {
		return nil, err
	}
	named := packages(files, from)
	changed := map[string][]byte{}
	for name, content := range files {
		var after []byte
		switch {
		case name == "go.mod":
			after = moduleLine.ReplaceAllLiteral(content, []byte("module "+to))
		case path.Ext(name) == ".go":
			after = named.ReplaceAll(content, []byte("${1}"+to+"${2}"))
			if string(after) == string(content) {
				continue
			}
			if after, err = format.Source(after); err != nil { // widths of aligned columns change
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		case slices.ContainsFunc(texts, func(ending string) bool { return strings.HasSuffix(name, ending) }):
			after = named.ReplaceAll(content, []byte("${1}"+to+"${2}"))
		default:
			continue
		}
		if string(after) != string(content) {
			changed[name] = after
		}
	}
	return changed, nil
}

// packages finds paths of packages of a module: its path and one of its folders with
// Go files. What goes on from another name, as in bin/speceval, is none.
func packages(files map[string][]byte, module string) *regexp.Regexp {
	var tops []string
	for name := range files {
		if top, _, below := strings.Cut(name, "/"); below && path.Ext(name) == ".go" && !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	slices.Sort(tops)
	for i := range tops {
		tops[i] = regexp.QuoteMeta(tops[i])
	}
	return regexp.MustCompile(`(?m)(^|[^A-Za-z0-9_./-])` + regexp.QuoteMeta(module) + `(/(?:` + strings.Join(tops, "|") + `)\b)`)
}
