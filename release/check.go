package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"speceval/release/bundle"
	"speceval/release/rename"
)

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
func differences(first, second []bundle.File) error {
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

// renameModule gives the module of the repository in a folder another path, in every
// file that git has.
func renameModule(ctx context.Context, root, to string, stderr io.Writer) error {
	said, err := output(ctx, root, nil, "git", "ls-files", "-z")
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, name := range strings.Split(strings.TrimSuffix(string(said), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return err
		}
		files[name] = content
	}
	changed, err := rename.Files(files, to)
	if err != nil {
		return fmt.Errorf("--module: %w", err)
	}
	for name, content := range changed {
		path := filepath.Join(root, filepath.FromSlash(name))
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, info.Mode()); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "release: %d files name packages of %s now; look at git diff, then go vet ./... and make test\n", len(changed), to)
	return nil
}
