package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"speceval/release/bundle"
)

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

// extras are what the program itself writes: completions, manual pages, the schema.
// binary is one that runs here.
func (s source) extras(ctx context.Context, binary, work string) ([]bundle.File, error) {
	var files []bundle.File
	for _, e := range []struct {
		name  string
		words []string
	}{
		{"completions/speceval.bash", []string{"completion", "bash"}},
		{"completions/_speceval", []string{"completion", "zsh"}},
		{"completions/speceval.fish", []string{"completion", "fish"}},
		{"experiments.schema.json", []string{"schema"}},
	} {
		text, err := output(ctx, s.root, nil, append([]string{binary}, e.words...)...)
		if err != nil {
			return nil, err
		}
		files = append(files, bundle.File{Name: e.name, Content: text})
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
		files = append(files, bundle.File{Name: "man/man1/" + page, Content: content})
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
