package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readOnly makes the output folder read-only, by a mount or, for who is not root,
// by permissions.
func (l *lab) readOnly(ctx context.Context, t *trial) error {
	out, err := l.copied("readonly", "report")
	if err != nil {
		return err
	}
	lift, err := forbid(out)
	if err != nil {
		return err
	}
	before, err := contents(out)
	if err != nil {
		return errors.Join(err, lift())
	}
	c, err := l.do(ctx, out, 1, "run")
	if err == nil {
		err = told(c, out, "choose another output folder")
	}
	if err == nil {
		_, err = l.do(ctx, out, 3, "status", "--check")
	}
	after, unreadable := contents(out)
	if err := errors.Join(err, unreadable, lift()); err != nil {
		return err
	}
	if before != after {
		return errors.New("something has changed in a read-only folder")
	}
	t.injured("1")
	return l.finish(ctx, t, out)
}

// told is an error unless a command failed and has said all of this, with a path in
// the output folder.
func told(c *command, out string, all ...string) error {
	if c.Code() != 1 {
		return fmt.Errorf("exit code %d, want 1:\n%s", c.Code(), c.Last())
	}
	for _, words := range append(all, out+"/") {
		if !strings.Contains(c.text(), words) {
			return fmt.Errorf("it does not say %q:\n%s", words, c.Last())
		}
	}
	return nil
}

// modes sets the permissions of all folders in a folder.
func modes(dir string, mode fs.FileMode) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return os.Chmod(path, mode)
	})
}

// contents is a digest of the names and contents of all files in a folder.
func contents(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d %x\n", path, len(text), sha256.Sum256(text))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}
