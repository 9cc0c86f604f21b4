package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"speceval/internal/rollout"
)

// progress follows how many rollouts a run has stored, from the lines that its
// journals get. It tells when to kill, and need not be exact: what is stored is
// then read by rollout.Stored.
type progress struct {
	folder   string
	offsets  map[string]int64 // of what was counted, by journal
	rollouts int
}

func newProgress(folder string) *progress {
	return &progress{folder: folder, offsets: map[string]int64{}}
}

// look counts the lines that came since the last time.
func (p *progress) look() error {
	return filepath.WalkDir(p.folder, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing there yet, or just removed
		}
		if err != nil || filepath.Ext(path) != rollout.JournalSuffix {
			return err
		}
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer file.Close()
		fresh, err := io.ReadAll(io.NewSectionReader(file, p.offsets[path], 1<<40))
		p.offsets[path] += int64(len(fresh))
		p.rollouts += bytes.Count(fresh, []byte("\n"))
		return err
	})
}
