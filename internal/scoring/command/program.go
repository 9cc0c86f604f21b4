package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"speceval/internal/store/files"
)

// Program is the program of a grader, with its files.
type Program struct {
	Arguments []string // the program and its arguments, at least one
	Files     []string // further files and folders that it reads
	Folder    string   // absolute: where it runs, and what relative paths start from
	Version   string   // what its user calls it; "" for nothing
}

// paths returns the files and folders of the program as absolute paths: the arguments that
// are files, and the listed ones.
func (p *Program) paths() (all []string) {
	for i, argument := range p.Arguments {
		if i == 0 && !strings.ContainsRune(argument, filepath.Separator) {
			continue // found by its name, among the programs of the machine
		}
		path := p.absolute(argument)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			all = append(all, path)
		}
	}
	for _, file := range p.Files {
		all = append(all, p.absolute(file))
	}
	return all
}

func (p *Program) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Folder, path)
}

// caches are folders that interpreters write: they make no other program.
const caches = "__pycache__"

// Digest tells one program from another: by its arguments, the content of files among them,
// of listed files and of all files in listed folders, and its version. It has 16 hexadecimal
// digits. The error names a listed file that cannot be read.
func (p *Program) Digest() (string, error) {
	h := sha256.New()
	text(h, p.Version)
	for _, argument := range p.Arguments {
		text(h, argument)
	}
	for _, path := range p.paths() {
		err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == caches:
				return filepath.SkipDir
			case entry.IsDir():
				return nil
			}
			inside, err := filepath.Rel(path, at)
			if err != nil {
				return err
			}
			info, err := os.Stat(at)
			if err != nil || !info.Mode().IsRegular() {
				return err // sockets and the like have no content
			}
			content, err := files.DigestOf("", at)
			text(h, filepath.ToSlash(inside))
			text(h, content.SHA256)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("the grader's files: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// text adds a text to a digest.
func text(h hash.Hash, text string) { fmt.Fprintf(h, "%d %s\n", len(text), text) }
